// A cache entry that one process rebuilds while the others wait, instead of all processes rebuilding it when it runs out.
//
//     node cache.mjs /tmp/weather 60 'sleep 3; date'      in ten terminals at once: one date
//
// Processes that had to wait look again, and find the entry. Such a lock only saves work, and the result is right without
// it: without redlockd every process builds for itself. When the lock is lost, the command is ended and nothing is kept.
import { exec } from 'node:child_process';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Client, LostError, RedlockdError } from 'redlockd';

const [file, seconds, command] = process.argv.slice(2);

async function cached() {
  const there = await stat(file).catch(() => undefined);
  return there && Date.now() - there.mtimeMs < seconds * 1000 ? readFile(file, 'utf8') : undefined;
}

async function build(signal) {
  const { stdout } = await promisify(exec)(command, { signal });
  return stdout;
}

const client = new Client();
let value = await cached();
try {
  value ??= await client.using(`cache/${file}`, { ttl: 10_000, max: 60_000, wait: 120_000 }, async (signal, lock) => {
    const again = await cached();
    if (again !== undefined) return again;
    const built = await build(signal);
    lock.assertHeld();
    await writeFile(`${file}.${lock.fence}`, built);
    await rename(`${file}.${lock.fence}`, file);
    return built;
  });
} catch (error) {
  if (!(error instanceof RedlockdError) || error instanceof LostError) throw error;
  console.error(`without a lock: ${error.message}`);
  value = await build();
} finally {
  await client.close();
}
process.stdout.write(value);
