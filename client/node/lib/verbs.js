'use strict';
// What a program asks of redlockd: each a request, and what its answer means for the lock.
const { setMaxListeners } = require('node:events');
const { mono, bootCeil } = require('./clock.js');
const { Request } = require('./requests.js');
const { cancelResume } = require('./resume.js');
const line = require('./line.js');
const { CancelledError, LockTimeoutError, LostError, NoAnswerError, UnsupportedError, refusal } = require('./errors.js');

const RELEASE_MS = 2000;
const NOT_KEPT = ['-BADARG', '-LIMIT', '-UNSUPPORTED']; // to UNLOCK keep=: nothing was done, and the lock is held still

/** Asks, and resolves or rejects as the request says. */
const answer = (session, request) => new Promise((resolve, reject) => session.ask(request, resolve, reject));

/** LOCK, or RESUME where there is a token. Resolves to the lock when it is granted. */
class Take extends Request {
  abandoned = undefined; // why nobody waits for the lock any more: if it is granted, it is given back

  constructor(session, hold, signal, token) {
    const { wait = 0 } = hold.options;
    super(session, hold.name, '+LOCKED', wait + session.timeout);
    this.waitEnd = wait ? this.giveUp - session.timeout : 0;
    this.waits = wait ? 1 : 0;
    this.hold = hold;
    this.signal = signal;
    this.token = token;
    if (!signal) return;
    if (signal.aborted) throw this.#cancelled();
    setMaxListeners(0, signal); // a signal that ends a whole program has many waits
    signal.addEventListener('abort', this);
  }

  #cancelled() {
    return new CancelledError('the wait was aborted', { cause: this.signal.reason });
  }

  line() {
    const { name, options } = this.hold;
    if (this.token) return line.line('RESUME', name, { token: this.token, ...options });
    options.wait = this.waitEnd ? Math.max(0, this.waitEnd - mono()) || undefined : undefined;
    return line.line('LOCK', name, options);
  }

  again(answer, connection) {
    return !this.abandoned && this.waitEnd > mono() && this.elsewhere(answer, connection);
  }

  outlives() {
    if (this.abandoned) this.settle(this.abandoned);
    return !this.abandoned;
  }

  overdue(error) {
    this.abandon(error);
  }

  /** The signal is aborted: the program waits on until it is sure that nothing is left behind, for RELEASE_MS at most. */
  handleEvent() {
    this.#cancel(this.#cancelled());
  }

  #cancel(error) {
    if (!this.connection) {
      this.session.drop(this);
      return this.settle(error);
    }
    this.abandoned = error;
    this.giveUp = Math.min(this.giveUp, mono() + RELEASE_MS);
    this.connection.tell(`CANCEL ${this.tag}`);
    this.session.wake(this.giveUp);
  }

  /** The program waits no more; a lock that is granted later is given back. */
  abandon(error) {
    if (!this.abandoned || !this.connection) this.#cancel(error);
    this.giveUp = Infinity;
    this.#end(this.abandoned ?? error);
  }

  #unlisten() {
    this.signal?.removeEventListener('abort', this);
    this.signal = undefined;
  }

  #end(error) {
    this.#unlisten();
    if (error) this.reject?.(error);
    else this.resolve?.(this.hold.lock);
  }

  settled(error, answer, connection) {
    if (!error && !this.abandoned) {
      this.hold.granted(connection, answer.pairs);
      this.session.watch(this.hold);
      return this.#end();
    }
    const waited = error?.code === 'BUSY' && this.waitEnd > 0;
    const why = this.abandoned ?? (waited ? new LockTimeoutError(error.message) : error);
    if (error) return this.#end(why);
    const { reject } = this;
    this.session.giveBack(this.name, answer.pairs.token, () => reject?.(why));
    this.#unlisten();
  }
}

/** UNLOCK; keep: for how many ms nobody gets the name. Where redlockd does not keep it, the lock is given back. */
class Release extends Request {
  gives = true;
  notKept = undefined; // why the name is not kept, and the lock only given back

  constructor(session, hold, keep) {
    super(session, hold.name, keep ? '+KEPT' : '+UNLOCKED', keep ? session.timeout : RELEASE_MS);
    this.hold = hold;
    this.keep = keep;
  }

  get mustWait() {
    return this.hold.resuming !== null; // its token is about to change
  }

  line({ keeps }) {
    if (this.keep && !keeps) {
      this.notKept ??= new UnsupportedError('this redlockd is too old to keep a name: the lock is given back');
    }
    if (this.notKept) this.expects = '+UNLOCKED';
    return line.line('UNLOCK', this.name, { token: this.hold.token, keep: this.notKept ? undefined : this.keep });
  }

  again(refused) {
    if (!this.keep || this.notKept || !NOT_KEPT.includes(refused.code)) return false;
    this.notKept = refusal(refused);
    return true;
  }

  settled(error) {
    const { hold, keep, session } = this;
    let why = this.notKept ?? error;
    if (why?.code === 'NOTHELD' && this.times > 1) { // the first UNLOCK may have given it back
      why = new NoAnswerError(`the connection ended before the answer: the lock is free${keep ? ', or the name is kept' : ' now'}`);
    } else if (why?.code === 'NOTHELD' && hold.fence > 0) {
      why = new LostError(hold.name, 'gone', { cause: error });
    }
    hold.state = 'over';
    hold.bind(null);
    hold.lock = undefined;
    session.retire();
    super.settled(why);
  }
}

function release(session, hold, keep) {
  if (hold.state === 'over') return Promise.resolve();
  if (hold.releasing) return hold.releasing;
  session.forget(hold);
  cancelResume(hold);
  hold.end('giving');
  return (hold.releasing = answer(session, new Release(session, hold, keep)));
}

/** EXTEND, CHECK and DATA. */
class About extends Request {
  constructor(session, hold, verb, expects, words) {
    hold.mustBeHeld();
    super(session, hold.name, expects, session.timeout);
    this.hold = hold;
    this.verb = verb;
    this.words = words;
  }

  get mustWait() {
    return this.hold.resuming !== null || this.session.loose.has(this.hold);
  }

  line() {
    return line.line(this.verb, this.name, this.words());
  }

  /** Where the lock has moved to another connection meanwhile, -NOTHELD is about the token of before. */
  again({ code }, connection) {
    const { state, bound } = this.hold;
    return code === '-NOTHELD' && state === 'held' && bound && bound !== connection;
  }

  settled(error, found, connection) {
    const { hold, session } = this;
    if (error?.code === 'NOTHELD' && hold.state === 'held') session.lose(hold, 'gone');
    // An answer that comes too late proves nothing of the time in between; of a session lock redlockd knows better.
    if (!error && !hold.session && hold.state === 'held' && hold.isOver(bootCeil())) session.lose(hold, 'expired');
    if (!error && hold.state === 'held' && found.pairs.until !== undefined) {
      hold.tell(connection, found.pairs.until);
      session.watch(hold);
    }
    super.settled(error ?? hold.whyNotHeld);
  }
}

const about = async (session, hold, verb, expects, words) => answer(session, new About(session, hold, verb, expects, words));

/** The rows of WHO or SHOW. */
function rows(session, text) {
  let found;
  const request = new Request(session, undefined, '+END', session.timeout);
  request.line = () => {
    found = [];
    return text;
  };
  request.row = (pairs) => found.push(pairs);
  return new Promise((resolve, reject) => session.ask(request, () => resolve(found), reject));
}

module.exports = { Take, release, about, rows };
