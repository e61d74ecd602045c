'use strict';
// A program for real.test.js: it "writes" every few ms, while its lock is held.
const { Client } = require('../index.js');

async function main() {
  const client = new Client();
  const lock = await client.lock('stopped', { ttl: 1000, max: 1200, wait: 10_000 });
  lock.signal.addEventListener('abort', () => console.log(`lost ${lock.signal.reason.reason}`));
  const timer = setInterval(() => {
    try {
      const at = Date.now(); // before, since a stop may come behind assertHeld()
      lock.assertHeld();
      console.log(`write ${at}`);
    } catch (error) {
      console.log(`stop ${error.code}`);
      clearInterval(timer);
      lock.release().catch(() => {}).finally(() => client.close());
    }
  }, 10);
}
main();
