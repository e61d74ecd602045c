// An order that must not be placed twice, though it is sent twice. See client/examples/order.c for the whole story.
//
//     node order.mjs http://localhost:7001/orders 4711 'two lamps'
//
// The lock is named after the order, is a lease, and is not given back when the order was placed: for its ttl every
// repeat finds it, here or on another host. It is given back only if the supplier surely has no order.
// Exit status: 0 placed, 1 surely not placed, 3 a repeat, 4 in doubt, 75 no lock.
import { Client, BusyError } from 'redlockd';

const TTL_MS = 60_000;
const SUPPLIER_MS = 10_000;

async function place(url, number, what, lock) {
  // A pause until here may have lasted longer than the lease.
  if (lock.valid() <= SUPPLIER_MS) return 'not placed';
  try {
    const answer = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ number, what, fence: lock.fence }),
      signal: AbortSignal.any?.([lock.signal, AbortSignal.timeout(SUPPLIER_MS)]) ?? AbortSignal.timeout(SUPPLIER_MS),
    });
    if (answer.ok) return 'placed';
    return answer.status < 500 ? 'not placed' : 'in doubt';
  } catch (error) {
    return error.cause?.code === 'ECONNREFUSED' ? 'not placed' : 'in doubt';
  }
}

const [url, number, what] = process.argv.slice(2);
const client = new Client();
try {
  const lock = await client.tryLock(`order/${number}`, { hold: 'lease', ttl: TTL_MS });
  const outcome = await place(url, number, what, lock);
  console.log(`order ${number}: ${outcome}`);
  if (outcome === 'not placed') await lock.release();
  process.exitCode = { placed: 0, 'not placed': 1, 'in doubt': 4 }[outcome];
} catch (error) {
  const repeated = error instanceof BusyError;
  console.log(`order ${number}: ${repeated ? 'placed already, or being placed' : error.message}`);
  process.exitCode = repeated ? 3 : 75;
} finally {
  await client.close(); // the lease stays
}
