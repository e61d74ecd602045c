'use strict';
const { AsyncLocalStorage } = require('node:async_hooks');
const { debuglog } = require('node:util');
const { bootCeil } = require('./clock.js');
const { Hold } = require('./hold.js');
const { Lock } = require('./lock.js');
const { Session } = require('./session.js');
const { Way } = require('./address.js');
const { lead } = require('./lead.js');
const { Take, rows } = require('./verbs.js');
const line = require('./line.js');
const { DURATION_MAX_MS } = require('./table.js');
const { BadArgumentError, LostError, NotHeldError, ClosedError, ModeError } = require('./errors.js');

const TIMEOUT_MS = 10_000;
const LOCK_OPTIONS = ['ttl', 'wait', 'max', 'hold', 'note', 'mode', 'slots', 'data', 'signal'];
const RESUME_OPTIONS = ['ttl', 'max', 'note', 'signal'];
const CLIENT_OPTIONS = ['address', 'client', 'timeout', 'user', 'secret', 'secretFile', 'ca', 'cert', 'key', 'log'];
const debug = debuglog('redlockd');

/** A client has one connection to redlockd, made when the first request comes. See index.d.ts. */
class Client {
  #session;
  #log;
  #inside = undefined; // AsyncLocalStorage of what reentrant using() holds

  constructor(options = {}) {
    if (typeof options !== 'object' || options === null) {
      throw new BadArgumentError(`new Client() takes an object, as { address: 'host:7335' }, not ${JSON.stringify(options)}`);
    }
    for (const key of Object.keys(options)) {
      if (!CLIENT_OPTIONS.includes(key)) throw new BadArgumentError(`there is no option ${key}: ${CLIENT_OPTIONS.join(', ')}`);
    }
    const { client, timeout = TIMEOUT_MS, log = debug } = options;
    const named = client === undefined ? '' : ` client=${line.option('client', client)}`;
    this.#log = (text) => log(`redlockd: ${text}`);
    this.#session = new Session(new Way(options), `HELLO 1 events=renewed${named}`, line.option('timeout', timeout), this.#log);
  }

  async using(name, options, body) {
    if (typeof options === 'function') [options, body] = [{}, options];
    mustBeFunction(body);
    const { reentrant = false, atLeast, ...wanted } = options ?? {};
    if (atLeast !== undefined) line.option('keep', atLeast);
    const inside = reentrant && this.#entered(line.names(name), wanted);
    const entry = inside || {
      name: line.names(name),
      slots: wanted.slots,
      lock: await this.lock(name, wanted),
      outer: this.#inside?.getStore(),
    };
    const hold = Lock.holdOf(entry.lock);
    if (inside) hold.users++;
    const run = () => body(entry.lock.signal, entry.lock);
    let result;
    try {
      if (reentrant) this.#inside ??= new AsyncLocalStorage();
      result = await (reentrant ? this.#inside.run(entry, run) : run());
    } catch (error) {
      await this.#leave(entry.lock, hold).catch(() => {}); // the program's own error says more
      throw error;
    }
    await this.#leave(entry.lock, hold, atLeast);
    return result;
  }

  async #leave(lock, hold, atLeast) {
    if (--hold.users > 0) return;
    const keep = atLeast ? Math.ceil(hold.began + atLeast - bootCeil()) : 0;
    try {
      await lock.release(keep > 0 ? { keep } : {});
    } catch (error) {
      if (error instanceof LostError || error instanceof NotHeldError || error instanceof ClosedError) throw error;
      this.#log(`release of ${lock.name}: ${error.message}`);
    }
  }

  /** What this task entered before. A reader does not enter as a writer. */
  #entered(name, { mode = 'exclusive', slots }) {
    let entry = this.#inside?.getStore();
    while (entry && (entry.name !== name || Lock.holdOf(entry.lock).users === 0)) entry = entry.outer;
    if (entry && (Lock.holdOf(entry.lock).reader !== (mode === 'shared') || entry.slots !== slots)) {
      throw new ModeError(`this task has the lock ${name} in another mode: leave it first`);
    }
    return entry;
  }

  async lead(name, options, body) {
    if (typeof options === 'function') [options, body] = [{}, options];
    mustBeFunction(body);
    return lead(this, name, options ?? {}, body, this.#log);
  }

  lock(name, options) {
    return new Promise((resolve, reject) => {
      const wanted = line.options(options, LOCK_OPTIONS);
      wanted.wait ??= DURATION_MAX_MS;
      const { data, hold, mode, slots } = wanted;
      if (data && (Array.isArray(name) || hold === 'lease' || mode === 'shared' || slots)) {
        throw new BadArgumentError('data is for a session lock of one name, exclusive and without slots');
      }
      this.#take(resolve, reject, line.names(name), wanted);
    });
  }

  resume(name, token, options) {
    return new Promise((resolve, reject) => {
      this.#take(resolve, reject, line.known(name), line.options(options, RESUME_OPTIONS), checkedToken(token));
    });
  }

  tryLock(name, options) {
    return this.lock(name, { ...options, wait: 0 });
  }

  #take(resolve, reject, name, options, token) {
    const { signal } = options;
    options.signal = undefined; // what is left is for the line
    const hold = new Hold(name, options);
    hold.lock = new Lock(this.#session, hold);
    this.#session.ask(new Take(this.#session, hold, signal, token), resolve, reject);
  }

  attach(name, token) {
    const hold = new Hold(line.known(name), { hold: 'lease' });
    hold.token = checkedToken(token);
    hold.state = 'held';
    hold.reader = true; // that is not known, and a reader may do less
    return (hold.lock = new Lock(this.#session, hold));
  }

  async who(name) {
    return rows(this.#session, `WHO ${line.names([name])}`);
  }

  async show(what) {
    if (!/^[a-z]{1,20}$/i.test(what)) throw new BadArgumentError('show() takes a word: LOCKS, WAITERS, CLIENTS, NODES ...');
    return rows(this.#session, `SHOW ${what.toUpperCase()}`);
  }

  watch(name) {
    return this.#session.watches.add(line.names([name]));
  }

  ref() {
    this.#session.reference(true);
    return this;
  }

  unref() {
    this.#session.reference(false);
    return this;
  }

  close() {
    return this.#session.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  toJSON() {
    return this.#session.describe();
  }
}

function mustBeFunction(body) {
  if (typeof body !== 'function') throw new BadArgumentError('the last argument is a function that runs under the lock');
}

function checkedToken(token) {
  if (line.isToken(token)) return token;
  throw new BadArgumentError('a token is 40 hex digits');
}

module.exports = { Client };
