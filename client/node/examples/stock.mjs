// Stock that must not be oversold: 200 workers want one item each, and there are 50.
//
//     redis-cli HSET stock:lamp left 50        (your own Redis, none of redlockd's masters)
//     node stock.mjs localhost:6379 lamp 200   "50 sold, 150 came too late"
//
// Each worker, an asynchronous function here, reads how many items are left, decides, and writes how many are left then.
// The lock lets one worker of all hosts at a time do so. The fence keeps the number right if a worker stands still after it
// has read, for longer than it may hold the lock, and then tries to write an old number. Try it: with -a a worker asks
// before it buys: press ^Z, run the line above in another terminal, then fg, Enter: "refused", and the worker reads again.
//
// The workers show the fence for reading too. If they showed it for writing only, a late worker could still write after
// the next worker has read and before the next worker has written.
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, LostError } from 'redlockd';
import { openRedis } from './resource.mjs';

// A fenced resource keeps the highest fence that it was shown, and refuses a lower fence.
const FENCED = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return -1 end "
  + "redis.call('HSET', KEYS[1], 'fence', ARGV[1]) ";
const READ = `${FENCED}return tonumber(redis.call('HGET', KEYS[1], 'left') or 0)`;
const WRITE = `${FENCED}redis.call('HSET', KEYS[1], 'left', ARGV[2]) return redis.call('RPUSH', KEYS[2], ARGV[3])`;

const { values: { asks }, positionals: [address, item, workers] } =
  parseArgs({ options: { asks: { type: 'boolean', short: 'a' } }, allowPositionals: true });
const client = new Client();
const redis = await openRedis(address);
const terminal = asks ? readline.createInterface({ input: process.stdin }) : undefined;
const lines = terminal?.[Symbol.asyncIterator]();

async function buyLocked(worker, fence) {
  const left = await redis('EVAL', READ, 1, `stock:${item}`, fence);
  if (left <= 0) return left === 0 ? 'too late' : 'refused';
  if (asks) { // these lines stand for the steps between reading and writing
    console.log(`worker ${worker}: ${left} left; Enter buys`);
    await lines.next();
  } else {
    await sleep(1);
  }
  const orders = await redis('EVAL', WRITE, 2, `stock:${item}`, `orders:${item}`, fence, left - 1, `worker-${worker}`);
  return orders > 0 ? 'sold' : 'refused';
}

async function tryToBuy(worker) {
  let outcome;
  try {
    // max: a worker that stands still holds up the others for no longer than this and one ttl.
    await client.using(`stock:${item}`, { ttl: 2000, max: 4000, wait: 60_000 }, async (signal, lock) => {
      outcome = await buyLocked(worker, lock.fence); // one fence for both steps of the same hold
    });
  } catch (error) {
    if (!(error instanceof LostError)) throw error; // else the fence has decided
  }
  return outcome;
}

async function buy(worker) {
  for (;;) {
    const outcome = await tryToBuy(worker);
    if (outcome !== 'refused') return outcome;
    console.log(`worker ${worker}: refused, a later lock was here; again`);
  }
}

try {
  const outcomes = await Promise.all(Array.from({ length: Number(workers) }, (_, i) => buy(i + 1)));
  const count = (wanted) => outcomes.filter((outcome) => outcome === wanted).length;
  console.log(`${count('sold')} sold, ${count('too late')} came too late`);
} finally {
  terminal?.close();
  await client.close();
}
