'use strict';
const { AsyncLocalStorage } = require('node:async_hooks');
const { setMaxListeners } = require('node:events');
const { mono, bootCeil } = require('./clock.js');
const { Hold } = require('./hold.js');
const { Lock } = require('./lock.js');
const { Request } = require('./requests.js');
const { Session } = require('./session.js');
const { Way } = require('./address.js');
const { downgrade } = require('./downgrade.js');
const line = require('./line.js');
const { BadArgumentError, CancelledError, ClosedError, LockTimeoutError, LostError, ModeError, NotHeldError } = require('./errors.js');

const TIMEOUT_MS = 10_000;
const RELEASE_MS = 2000;
const LOCK_OPTIONS = ['ttl', 'wait', 'max', 'hold', 'note', 'mode', 'slots', 'signal'];
const RESUME_OPTIONS = ['ttl', 'max', 'note', 'signal'];
const CLIENT_OPTIONS = ['address', 'client', 'timeout', 'user', 'secret', 'secretFile', 'ca', 'cert', 'key'];

/** A client has one connection to redlockd, made when the first request comes. See index.d.ts. */
class Client {
  #session;
  #timeout;
  #closed = false;
  #inside = undefined; // AsyncLocalStorage of what reentrant using() holds

  constructor(options = {}) {
    for (const key of Object.keys(options)) {
      if (!CLIENT_OPTIONS.includes(key)) throw new BadArgumentError(`there is no option ${key}: ${CLIENT_OPTIONS.join(', ')}`);
    }
    const named = options.client === undefined ? '' : ` client=${line.word('client', options.client, 64)}`;
    this.#timeout = line.milliseconds('timeout', options.timeout ?? TIMEOUT_MS, 1);
    this.#session = new Session(new Way(options), `HELLO 1 events=renewed${named}`, this.#timeout);
  }

  // ---- what programs call ----

  async using(name, options, body) {
    if (typeof options === 'function') [options, body] = [{}, options];
    if (typeof body !== 'function') throw new BadArgumentError('using() needs a function to run under the lock');
    const { reentrant = false, ...wanted } = options ?? {};
    const inside = reentrant && this.#entered(line.names(name), wanted);
    const entry = inside || {
      name: line.names(name),
      slots: wanted.slots,
      lock: await this.lock(name, wanted),
      outer: this.#inside?.getStore(),
    };
    const hold = Lock.holdOf(entry.lock);
    if (inside) hold.users++;
    const leave = async () => --hold.users === 0 && entry.lock[Symbol.asyncDispose]();
    const run = () => body(entry.lock.signal, entry.lock);
    let result;
    try {
      if (reentrant) this.#inside ??= new AsyncLocalStorage();
      result = await (reentrant ? this.#inside.run(entry, run) : run());
    } catch (error) {
      await leave().catch(() => {}); // the program's own error says more
      throw error;
    }
    await leave();
    return result;
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

  async lock(name, options) {
    return this.#take('LOCK', line.names(name), line.options(options, LOCK_OPTIONS));
  }

  async resume(name, token, options) {
    return this.#take('RESUME', line.known(name), line.options(options, RESUME_OPTIONS), checkedToken(token));
  }

  attach(name, token) {
    const hold = new Hold(line.known(name), { hold: 'lease' });
    hold.token = checkedToken(token);
    hold.state = 'held';
    hold.reader = true; // that is not known, and a reader may do less
    return Lock.make(this, hold);
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
    this.#closed = true;
    return this.#session.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  // ---- LOCK and RESUME of the program ----

  #take(verb, name, { signal, ...options }, token) {
    if (this.#closed) throw new ClosedError('the client was closed');
    if (signal?.aborted) throw cancelled(signal);
    const hold = new Hold(name, options);
    const lock = Lock.make(this, hold);
    const waitEnd = options.wait ? mono() + options.wait : 0;
    return new Promise((resolve, reject) => {
      const end = (error) => {
        signal?.removeEventListener('abort', abort);
        if (error) reject(error);
        else resolve(lock);
      };
      const request = new Request({
        name,
        expects: '+LOCKED',
        waits: waitEnd > 0,
        giveUp: mono() + (options.wait ?? 0) + this.#timeout,
        lines: () => verb === 'LOCK'
          ? line.line(verb, name, { ...options, wait: waitEnd ? Math.max(0, waitEnd - mono()) || undefined : undefined })
          : line.line(verb, name, { token, ...options }),
        again: (answer, connection) => {
          if (answer.code !== '-DRAINING' || request.abandoned || waitEnd <= mono()) return false;
          request.refusedOn = connection;
          this.#session.drain(connection);
          return true;
        },
        onLost: () => request.abandoned && (request.settle(request.abandoned), true),
        overdue: (error) => this.#abandon(request, error, end),
        settled: (error, answer, connection) => {
          if (!error && !request.abandoned) {
            hold.granted(connection, answer.pairs);
            this.#session.watch(hold);
            return end();
          }
          const waited = error?.code === 'BUSY' && waitEnd > 0;
          const why = request.abandoned ?? (waited ? new LockTimeoutError(error.message) : error);
          if (error) return end(why);
          this.#session.giveBack(name, answer.pairs.token, () => end(why));
        },
      });
      request.abandon = (error) => this.#abandon(request, error, end);
      const abort = () => this.#cancel(request, cancelled(signal));
      if (signal) setMaxListeners(0, signal); // a signal that ends a whole program has many waits
      signal?.addEventListener('abort', abort);
      this.#session.ask(request);
    });
  }

  /** The program waits on until it is sure that nothing is left behind, for RELEASE_MS at most. */
  #cancel(request, error) {
    if (!request.connection) {
      this.#session.drop(request);
      return request.settle(error);
    }
    request.abandoned = error;
    request.giveUp = Math.min(request.giveUp, mono() + RELEASE_MS);
    request.connection.ask(`CANCEL ${request.tag}`, { done() {}, lost() {} });
    this.#session.wake(RELEASE_MS);
  }

  /** The program waits no more; a lock that is granted later is given back. */
  #abandon(request, error, end) {
    if (!request.abandoned && request.connection) this.#cancel(request, error);
    else if (!request.connection) {
      this.#session.drop(request);
      request.settle(error);
    }
    request.giveUp = Infinity;
    end(request.abandoned ?? error);
  }

  // ---- what a Lock asks ----

  /** @hidden */
  async release(hold) {
    if (hold.state === 'over') return;
    hold.releasing ??= this.#unlock(hold).finally(() => {
      hold.state = 'over';
      hold.bind(null);
      this.#session.retire();
    });
    await hold.releasing;
  }

  #unlock(hold) {
    this.#session.forget(hold);
    this.#session.cancelResume(hold);
    hold.end('giving');
    return new Promise((resolve, reject) => {
      const request = new Request({
        name: hold.name,
        expects: '+UNLOCKED',
        giveUp: mono() + RELEASE_MS,
        mustWait: () => hold.resuming, // its token is about to change
        lines: () => line.line('UNLOCK', hold.name, { token: hold.token }),
        settled: (error) => {
          if (!error) return resolve();
          // If UNLOCK was sent twice, the first may have given the lock back.
          if (error.code === 'NOTHELD' && request.times > 1) return resolve();
          reject(error.code === 'NOTHELD' && hold.fence ? new LostError(hold.name, 'gone', { cause: error }) : error);
        },
      });
      this.#session.ask(request);
    });
  }

  /** @hidden */
  async extend(hold, ttl) {
    const wanted = line.options({ ttl }, ['ttl']).ttl ?? hold.options.ttl;
    await this.#askAbout(hold, '+EXTENDED', () => line.line('EXTEND', hold.name, { token: hold.token, ttl: wanted }));
    hold.options.ttl = wanted;
  }

  /** @hidden */
  async check(hold) {
    await this.#askAbout(hold, '+HELD', () => line.line('CHECK', hold.name, { token: hold.token }));
  }

  /** @hidden */
  async downgrade(hold) {
    await downgrade(this.#session, hold, mono() + this.#timeout);
  }

  #askAbout(hold, expects, lines) {
    if (hold.lost) throw hold.lost;
    if (hold.state !== 'held') throw new NotHeldError(`${hold.name} was given back`);
    return new Promise((resolve, reject) => {
      this.#session.ask(new Request({
        name: hold.name, hold, expects, lines, giveUp: mono() + this.#timeout,
        mustWait: () => hold.resuming || this.#session.isLoose(hold),
        settled: (error, answer, connection) => {
          if (error?.code === 'NOTHELD' && hold.state === 'held') this.#session.lose(hold, 'gone');
          if (error) return reject(error);
          // An answer that comes too late proves nothing of the time in between; of a session lock redlockd knows better.
          if (!hold.session && hold.state === 'held' && hold.isOver(bootCeil())) this.#session.lose(hold, 'expired');
          if (hold.state !== 'held') return reject(hold.lost ?? new NotHeldError(`${hold.name} was given back`));
          hold.tell(connection, answer.pairs.until);
          this.#session.watch(hold);
          resolve();
        },
      }));
    });
  }
}

const cancelled = (signal) => new CancelledError('the wait was aborted', { cause: signal.reason });

function checkedToken(token) {
  if (line.isToken(token)) return token;
  throw new BadArgumentError('a token is 40 hex digits');
}

module.exports = { Client };
