'use strict';
const { EventEmitter, setMaxListeners } = require('node:events');
const { inspect } = require('node:util');
const { downgrade } = require('./downgrade.js');
const { about, release } = require('./verbs.js');
const line = require('./line.js');
const { LostError, NotHeldError, ClosedError } = require('./errors.js');

/**
 * A lock that is held, or was. Only a Client makes locks.
 *
 * Events, each a turn of the event loop late, so that a listener that is added right behind `await client.lock()` hears
 * them: "expiring" (less than a third of its time is left, and nobody has renewed it), "resumed" (it is held on a new
 * connection: token and fence are new), "lost" (with the LostError). The loss comes by `signal` first, at once.
 */
class Lock extends EventEmitter {
  #hold;
  #session;
  #controller;
  #toldLost = false;

  /** @hidden */
  constructor(session, hold) {
    super();
    this.#session = session;
    this.#hold = hold;
  }

  /** @hidden */
  static tell(lock, event, ...error) {
    if (event === 'lost') lock.#controller?.abort(...error);
    setImmediate(() => lock.emit(event, ...error));
  }

  /** @hidden */
  static holdOf(lock) {
    return lock.#hold;
  }

  /** For JSON.stringify(): without the token. */
  toJSON() {
    return this.#hold.describe();
  }

  /** For console.log: without the token, by which anybody could give the lock back. */
  [inspect.custom]() {
    return `Lock { ${this.name}, ${this.#hold.state}, valid ${this.valid()} ms, fence ${this.fence} }`;
  }

  get name() {
    return this.#hold.name;
  }

  /** 40 hex digits: whoever shows them is the holder. New after each "resumed". */
  get token() {
    return this.#hold.token;
  }

  /** Grows with each grant of the name: hand it to what the lock protects. New after each "resumed"; 0: not known. */
  get fence() {
    return this.#hold.fence;
  }

  /** 'shared': this program only reads. So it is from downgrade() on, and where it is not known, after attach(). */
  get mode() {
    return this.#hold.reader ? 'shared' : 'exclusive';
  }

  /** The number of the place that `slots` got, from 0 on; undefined for other locks. */
  get slot() {
    return this.#hold.slot;
  }

  /** Aborted at the moment when the lock is lost, with a LostError (a ClosedError when the client was closed). */
  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      setMaxListeners(0, this.#controller.signal);
      if (this.#hold.lost) this.#controller.abort(this.#hold.lost);
    }
    return this.#controller.signal;
  }

  /** For how many ms it is surely still held; 0: not, or not known. Asks nobody, and counts the machine's sleep. */
  valid() {
    return this.#hold.valid();
  }

  /** Throws a LostError unless valid() > 0. For right before a write: it knows of a pause before the signal does. */
  assertHeld() {
    if (this.#hold.lost) throw this.#hold.lost;
    if (this.valid() <= 0) throw new LostError(this.name, this.#hold.state === 'over' ? 'released' : 'expired');
  }

  /**
   * Gives it back, within 2 s. Rejects with a LostError if it was lost before, which is told once; does nothing if it
   * was given back, or its loss was told. After another error it is free when its ttl is over at the latest.
   * keep: for so many ms from now on nobody gets the name. After any error it is not kept, but see index.d.ts.
   */
  release(options) {
    try {
      const { keep } = line.options(options, ['keep']);
      const { lost } = this.#hold;
      if (!lost) return release(this.#session, this.#hold, keep);
      if (this.#toldLost) return Promise.resolve();
      this.#toldLost = true;
      throw lost;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #about(verb, expects, words) {
    return about(this.#session, this.#hold, verb, expects, words);
  }

  /** Makes it last ttl ms from now (its own ttl, if left out), never shorter. Resolves to valid(). */
  async extend(ttl) {
    const wanted = line.options({ ttl }, ['ttl']).ttl ?? this.#hold.options.ttl;
    await this.#about('EXTEND', '+EXTENDED', () => ({ token: this.token, ttl: wanted }));
    this.#hold.options.ttl = wanted;
    return this.valid();
  }

  /** Asks redlockd whether it is still held. Resolves to valid(); if not, rejects with a NotHeldError or a LostError. */
  async check() {
    await this.#about('CHECK', '+HELD', () => ({ token: this.token }));
    return this.valid();
  }

  /** Changes what others read with who() and watch(), of a lock that was taken with `data`. */
  async setData(data) {
    line.option('data', data);
    await this.#about('DATA', '+DATA', () => ({ data }));
  }

  /**
   * A writer becomes a reader, and no other writer gets in between. `fence` stays, `token` is new. Resolves to valid().
   * After a ModeError, LimitError, BadArgumentError or UnsupportedError it is a writer's as before. After a NoQuorumError,
   * NoAnswerError or UnreachableError it is a reader's, for which other readers may still have to wait: the library goes
   * on asking, and another call tells when it is done. `mode` says what it is. A reader's stays as it is.
   */
  async downgrade() {
    await downgrade(this.#session, this.#hold);
    return this.valid();
  }

  /** For `await using` and the like. Rejects only if the lock was lost before, or the client was closed. */
  async [Symbol.asyncDispose]() {
    try {
      await this.release();
    } catch (error) {
      if (error instanceof LostError || error instanceof NotHeldError || error instanceof ClosedError) throw error;
    }
  }
}

module.exports = { Lock };
