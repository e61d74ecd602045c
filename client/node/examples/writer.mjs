// A writer that is paused beyond its lock and is refused by its fence.
//
//     node writer.mjs /tmp/motd        asks for a text: press ^Z, and wait for ten seconds
//     node writer.mjs /tmp/motd        in another terminal: type a text, Enter: "written"
//     fg, a text, Enter                in the first: "refused"
//
// Each holder's fence is higher than the fences of all holders before. The resource keeps the highest fence, and refuses a
// lower fence. (Here the resource is a file. To compare and to write is one step only within a process, since nothing is
// awaited in between; a database does it by UPDATE ... WHERE fence <= $1.) Exit status: 0 written, 1 no lock, 3 refused.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import readline from 'node:readline/promises';
import { Client } from 'redlockd';

function write(file, fence, text) {
  let seen = 0;
  try {
    seen = JSON.parse(readFileSync(file, 'utf8')).fence;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (fence < seen) return false;
  writeFileSync(`${file}.${fence}`, JSON.stringify({ fence, text }));
  renameSync(`${file}.${fence}`, file);
  return true;
}

const file = process.argv[2];
const client = new Client();
const terminal = readline.createInterface({ input: process.stdin });
try {
  const lock = await client.lock(`doc/${file}`, { hold: 'lease', ttl: Number(process.argv[3] ?? 10_000), wait: 60_000 });
  const { fence } = lock;
  console.log(`fence ${fence}, held for ${lock.valid()} ms; the new text?`);
  const text = await new Promise((resolve) => terminal.once('line', resolve)); // the program may stand still here
  const written = write(file, fence, text);
  console.log(written ? 'written' : 'refused: somebody has had the lock since');
  process.exitCode = written ? 0 : 3;
  await lock.release().catch(() => {}); // the fence has decided
} catch (error) {
  console.error(`no lock: ${error.message}`);
  process.exitCode = 1;
} finally {
  terminal.close();
  await client.close();
}
