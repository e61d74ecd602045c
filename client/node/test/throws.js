'use strict';
// A program whose listeners throw. It prints what it heard, and that its client still works.
const { once } = require('node:events');
const { Client } = require('../index.js');
const { until } = require('./world.js');

const uncaught = [];
process.on('uncaughtException', (error) => uncaught.push(error.message));

async function main() {
  const [client, other] = [new Client(), new Client()];
  const lock = await client.lock('throws', { ttl: 5000, wait: 10_000 });
  let told = false;
  lock.signal.addEventListener('abort', () => { throw new Error('of the signal'); });
  lock.signal.addEventListener('abort', () => { told = true; });
  await other.attach('throws', lock.token).release();
  await until(() => told && uncaught.length === 1, 'both listeners');
  const next = await client.lock('throws', { ttl: 5000, wait: 10_000 });
  next.on('expiring', () => { throw new Error('of expiring'); });
  setImmediate(() => next.emit('expiring'));
  await until(() => uncaught.length === 2, 'the second listener');
  await next.release();
  for (const message of uncaught) console.log(`uncaught: ${message}`);
  console.log(told ? 'told all the same' : 'not told');
  await client.using('throws', { wait: 10_000 }, () => console.log('went on'));
  await Promise.all([client.close(), other.close()]);
}
main();
