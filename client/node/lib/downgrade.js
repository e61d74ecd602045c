'use strict';
// LOCK mode=shared token=: a writer's lock becomes a reader's, and a program that was told so is never a writer again.
const { Request } = require('./requests.js');
const line = require('./line.js');
const { BadArgumentError, ModeError } = require('./errors.js');

const AGAIN_MS = 500;

class Downgrade extends Request {
  waits = 1;
  gaveUp = false;

  /** internal: the program does not wait for it. */
  constructor(session, hold, internal) {
    super(session, hold.name, '+LOCKED', internal ? Infinity : session.timeout);
    this.hold = hold;
    this.internal = internal;
    this.first = !hold.reader;
    hold.reader = true;
    (hold.downgrades ??= new Set()).add(this);
  }

  get mustWait() {
    return this.hold.resuming !== null || this.session.loose.has(this.hold) || isUnderWay(this.hold); // whose answer may do
  }

  get isNeedless() {
    return this.hold.shared || this.hold.state !== 'held'; // with a reader's token, the line would enter the lock once more
  }

  line({ repeats }) {
    const wait = repeats ? Math.max(1, Math.ceil(this.session.timeout / 2)) : undefined;
    return line.line('LOCK', this.name, { mode: 'shared', token: this.hold.token, wait });
  }

  again({ code }) {
    return code === '-NOTHELD' && !this.internal && (this.hold.resuming !== null || this.session.loose.has(this.hold));
  }

  outlives() {
    if (this.internal) this.hold.downgrades.delete(this);
    return !this.internal;
  }

  /** It stays under way where it was sent, since its answer has a new token. */
  overdue(error) {
    if (!this.connection) return super.overdue(error);
    this.internal = this.gaveUp = true;
    this.first = false;
    this.reject(error);
  }

  settled(error, answer, connection) {
    const { hold, session } = this;
    hold.downgrades.delete(this);
    if (error && answer) refused(session, hold, error, this.first);
    else if (answer) granted(session, hold, answer.pairs, connection);
    else if (error && this.first && !this.times) hold.reader = false; // it was never sent
    if (!this.internal) super.settled(error ?? hold.whyNotHeld);
  }
}

/** From here on the lock is a reader's for the program, unless redlockd refuses this and nothing was asked before. */
async function downgrade(session, hold) {
  if (!hold.session || hold.slot !== undefined || hold.name.includes(',')) {
    throw new BadArgumentError(`${hold.name} cannot be downgraded: only a session lock of one name without slots can`);
  }
  hold.mustBeHeld();
  if (hold.users > 1) throw new ModeError(`${hold.name} was entered ${hold.users} times: leave it until it is entered once`);
  if (hold.shared) return;
  await new Promise((resolve, reject) => session.ask(new Downgrade(session, hold, false), resolve, reject));
}

function granted(session, hold, { token, fence, until }, connection) {
  if (hold.resuming) return; // by the token before; the answer to that will have another
  hold.token = token;
  hold.fence = fence;
  hold.shared = true;
  if (hold.bound) hold.bind(hold.bound);
  if (hold.state !== 'held') return;
  hold.tell(connection, until);
  session.watch(hold);
}

function refused(session, hold, error, first) {
  if (error.code === 'NOTHELD') {
    if (hold.state === 'held') session.lose(hold, 'gone');
  } else if (first && !['NOQUORUM', 'CANCELLED', 'DRAINING'].includes(error.code)) {
    hold.reader = false;
  } else { // too few masters know yet, or the program was told before that it is a reader
    setTimeout(() => again(session, hold), AGAIN_MS + Math.random() * AGAIN_MS).unref();
  }
}

/** Asks for what the program was told: too few masters know it, or redlockd has the lock as a writer's all the same. */
function again(session, hold) {
  if (!hold.reader || hold.shared || hold.state !== 'held') return;
  if (![...hold.downgrades ?? []].every((request) => request.gaveUp)) return;
  session.ask(new Downgrade(session, hold, true));
}

/** Whether redlockd is asked now. Its answer has a new token, without which no other redlockd may know the lock. */
const isUnderWay = ({ downgrades }) => [...downgrades ?? []].some(({ connection, gaveUp }) => connection?.usable && !gaveUp);

module.exports = { downgrade, again, isUnderWay };
