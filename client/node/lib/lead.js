'use strict';
// An election: waits until this program leads, lets the body run while it does, and waits again when it was lost.
const os = require('node:os');
const { setTimeout: sleep } = require('node:timers/promises');
const { LostError, CancelledError } = require('./errors.js');
const { DATA_BYTES } = require('./table.js');

const PAUSE_MS = { first: 1000, most: 60_000 };
const MAY_HELP = new Set(['BUSY', 'TIMEOUT', 'NOQUORUM', 'CANCELLED', 'LIMIT', 'DRAINING', 'UNREACHABLE', 'NOANSWER']);

/** What others are told of the leader, if the program says nothing else. */
const usualData = () => `${os.hostname()}/${process.pid}`.replace(/[^!#-~]/g, '?').slice(0, DATA_BYTES);

/** Resolves to the lock. */
async function elected(client, name, options, log) {
  for (let pause = PAUSE_MS.first; ; pause = Math.min(2 * pause, PAUSE_MS.most)) {
    try {
      return await client.lock(name, options);
    } catch (error) {
      if (!MAY_HELP.has(error.code) || options.signal?.aborted) throw error;
      log(`${name} is waited for again in about ${pause} ms: ${error.message}`);
      await sleep(pause / 2 + Math.random() * pause / 2, undefined, { signal: options.signal }).catch((cause) => {
        throw new CancelledError('the wait was aborted', { cause });
      });
    }
  }
}

/** Resolves to what the body resolved to while it led. body(signal, lock): the signal is aborted when it leads no more. */
async function lead(client, name, { data = usualData(), ...options }, body, log) {
  for (;;) {
    const lock = await elected(client, name, { data, ...options }, log);
    const signal = options.signal ? AbortSignal.any([lock.signal, options.signal]) : lock.signal;
    const ended = await Promise.resolve().then(() => body(signal, lock)).then((result) => ({ result }), (error) => ({ error }));
    if (!(lock.signal.reason instanceof LostError)) {
      await lock[Symbol.asyncDispose]().catch(() => {});
      if (ended.error) throw ended.error;
      return ended.result;
    }
    log(`${name} was lost, and is waited for again: ${ended.error?.message ?? lock.signal.reason.message}`);
  }
}

module.exports = { lead };
