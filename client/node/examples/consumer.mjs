// A message queue's consumer that handles each message once.
//
//     redis-cli XADD bills '*' customer ann amount 12       (as often as you like)
//     node consumer.mjs localhost:6379 bills c1             and c2, c3 in other terminals
//     redis-cli HGETALL bills:balances
//
// A queue delivers at least once: a Redis stream lets another consumer claim a message that was not acknowledged for a
// while, since nothing tells a dead consumer from a slow consumer. So there is a lock named after the message, which keeps
// two consumers from working on it at a time; a consumer that finds the message locked leaves it alone. And there is a
// mark, set in one step with the effect: a message has no effect twice, even if a consumer was paused beyond its lock in
// the middle of its work. The mark is the fence of this resource: here the first consumer counts, not the later.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BusyError, Client, LostError, RedlockdError } from 'redlockd';
import { openRedis } from './resource.mjs';

const [STEPS, STEP_MS, PAUSE_MS] = [5, 10, 100];

// KEYS: the stream, its balances, the mark of the message; ARGV: message, who did it, customer, amount. A mark lives for
// a day: a consumer that stands still for longer just before this step would count twice.
const SETTLE = "local first = redis.call('SET', KEYS[3], ARGV[2], 'NX', 'EX', 86400) "
  + "if first then redis.call('HINCRBY', KEYS[2], ARGV[3], ARGV[4]) end "
  + "redis.call('XACK', KEYS[1], 'billing', ARGV[1]) "
  + 'return first and 1 or 0';

const { values: { leaves }, positionals: [address, stream, name, idleMs = 2000, ttlMs = 10_000] } =
  parseArgs({ options: { leaves: { type: 'boolean', short: 'x' } }, allowPositionals: true });
const client = new Client();
const redis = await openRedis(address);

/** Stands for writing a bill: one step is one page. */
async function work(lock, id) {
  console.log(`${name}: works on ${id}`);
  for (let step = 0; step < STEPS; step++) {
    lock.assertHeld();
    await sleep(STEP_MS);
  }
}

async function handleLocked(lock, id, [, customer, , amount]) {
  const mark = `${stream}:done:${id}`;
  if (!await redis('EXISTS', mark)) await work(lock, id);
  const first = await redis('EVAL', SETTLE, 3, stream, `${stream}:balances`, mark, id, `${name}-${lock.fence}`, customer, amount);
  console.log(`${name}: ${first ? 'handled' : 'was handled before:'} ${id}`);
}

async function handle([id, fields]) {
  const ttl = Number(ttlMs);
  try {
    // max: a consumer that stands still keeps its message for no longer than this and one ttl.
    await client.using(`${stream}/${id}`, { ttl, max: 3 * ttl, wait: 0 }, (signal, lock) => handleLocked(lock, id, fields));
  } catch (error) {
    if (error instanceof BusyError) return;
    if (error instanceof LostError) return void console.log(`${name}: lost ${id}`);
    if (!(error instanceof RedlockdError)) throw error;
    console.error(`${name}: no lock: ${error.message}`); // the message stays in the queue
    await sleep(PAUSE_MS);
  }
}

/** A message that a consumer has had for too long, or else a new one; undefined: there is none. */
async function nextMessage() {
  const [, claimed] = await redis('XAUTOCLAIM', stream, 'billing', name, idleMs, 0, 'COUNT', 1);
  if (claimed.length) return claimed[0];
  const streams = await redis('XREADGROUP', 'GROUP', 'billing', name, 'COUNT', 1, 'STREAMS', stream, '>');
  return streams?.[0][1][0];
}

let ended = false;
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { ended = true; });
await redis('XGROUP', 'CREATE', stream, 'billing', 0, 'MKSTREAM').catch((error) => {
  if (!error.message.startsWith('BUSYGROUP')) throw error; // else the group is there already
});
try {
  while (!ended) {
    const message = await nextMessage();
    if (message) await handle(message);
    else if (leaves && (await redis('XPENDING', stream, 'billing'))[0] === 0) break; // all delivered messages are acknowledged
    else await sleep(PAUSE_MS);
  }
} finally {
  await client.close();
}
