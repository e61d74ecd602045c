// A nightly job on ten hosts that runs once. In the crontab of all ten:
//
//     0 3 * * *  node nightly.mjs report make-report --all
//
// "Once" is ensured by a lease for the job and this night, which nobody gives back: a host whose clock is late asks when
// the first host has finished. The job is not run again if it failed or its host died, since it may have been half done. A
// person has to look, and may then run: NIGHT=2030-01-31-again node nightly.mjs report make-report --all
//
// "Not two at a time" is ensured by the lock under which the job runs. It is renewed for as long as the job takes, and when
// it is lost, the command is ended. (A job that is a command is better off with `redlock run`, which also ends what the
// command has started, see client/examples/nightly.sh; this program shows the way for a job that is JavaScript.)
// KEEP: how long the lease lives (60s, or 5m), which is longer than the clocks of the hosts are apart.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client, LockTimeoutError } from 'redlockd';

const [job, command, ...args] = process.argv.slice(2);
const [, keep, unit] = (process.env.KEEP ?? '60s').match(/^(\d+)([sm])$/);
const night = process.env.NIGHT ?? new Date().toISOString().slice(0, 10);

async function run(signal) {
  const child = spawn(command, args, { signal, killSignal: 'SIGKILL', stdio: 'inherit' });
  const [status] = await once(child, 'exit');
  return status ?? 1;
}

const client = new Client();
try {
  // The later hosts wait for a moment: if the first host does not get the lease after all, another one does.
  await client.lock(`${job}/${night}`, { hold: 'lease', ttl: keep * (unit === 'm' ? 60_000 : 1000), wait: 2000 });
  process.exitCode = await client.using(job, { wait: 12 * 3600_000 }, run);
} catch (error) {
  if (!(error instanceof LockTimeoutError)) throw error; // else another host has it
} finally {
  await client.close();
}
