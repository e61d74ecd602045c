'use strict';
// A lock as far as it is known: its token and fence, until when it is held, and on which connection.
const { bootAbout, bootCeil, mono } = require('./clock.js');
const { Lock } = require('./lock.js');
const { LostError, ClosedError, NotHeldError } = require('./errors.js');

// After a look has found a deadline over: a renewal may still be unread after a pause, and redlockd says why.
const LOST_GRACE_MS = 50;

/*   asked --LOCKED--> held --!LOST, time is over, not resumed--> lost
 *     |                 |
 *     | refused         | UNLOCK
 *     +---> over <------+
 *
 * A session lock that is held has a connection (`bound`), or waits for a RESUME (it is in the Session's loose), or
 * both. A lease needs no connection. */
class Hold {
  state = 'asked';
  token = '';
  fence = 0;
  slot = undefined;
  began = 0; // when it was granted, on our boot clock
  users = 1; // how often using() has entered it
  reader = false; // for the program, from the call of downgrade() on
  shared = false; // redlockd has said so, or is asked for nothing else
  downgrades = undefined; // the requests for that which have no outcome yet
  releasing = undefined; // a promise
  lock = undefined; // the program's side
  deadline = 0; // on our boot clock; 0: not held, or not known
  bound = null; // the Connection that holds it
  resuming = null; // the request
  refusedOn = null; // the Connection on which it cannot be resumed
  retryAt = 0; // mono(): of the next RESUME
  notHeldSince = 0; // mono(): when a RESUME was first answered -NOTHELD
  maxEnd = Infinity; // mono(): the end of max=
  lost = undefined; // why
  span = 0; // for how long it was valid when that was said
  #boundAs = '';
  #until = 0;
  #era = undefined;
  #overAt = 0;
  #warnAt = Infinity;

  describe() {
    return { name: this.name, state: this.state, valid: this.valid(), fence: this.fence };
  }

  constructor(name, options) {
    this.name = name;
    this.options = options;
    this.session = options.hold !== 'lease';
    this.reader = this.shared = options.mode === 'shared';
  }

  /** Why it is not held (any more), or undefined. */
  get whyNotHeld() {
    return this.state === 'held' ? undefined : this.lost ?? new NotHeldError(`${this.name} was given back`);
  }

  mustBeHeld() {
    const { whyNotHeld } = this;
    if (whyNotHeld) throw whyNotHeld;
  }

  valid() {
    return this.deadline ? Math.max(0, this.deadline - bootCeil()) : 0;
  }

  granted(connection, { token, fence, slot, until, mode }) {
    if (this.state === 'asked') this.began = bootAbout();
    if (this.state === 'asked' && this.options.max) this.maxEnd = mono() + this.options.max;
    this.state = 'held';
    this.token = token;
    this.fence = fence;
    this.slot = slot;
    if (mode === 'shared') this.reader = this.shared = true;
    this.tell(connection, until);
    if (this.session) this.bind(connection);
  }

  bind(connection) {
    this.bound?.holds.delete(this.#boundAs);
    this.bound = connection;
    this.#boundAs = this.token;
    connection?.holds.set(this.token, this);
  }

  /** Without a later until= it is no renewal, and another sample of the clock makes nothing later. */
  tell(connection, until) {
    const longer = !this.deadline || this.#era !== connection.era || until > this.#until;
    const deadline = Math.max(1, connection.sample.deadline(until));
    this.#until = until;
    this.#era = connection.era;
    this.deadline = longer ? deadline : Math.min(deadline, this.deadline);
    this.span = Math.max(0, this.deadline - bootAbout());
    this.#warnAt = this.deadline - this.span / 3;
    this.#overAt = 0;
  }

  /** By another sample of the same daemon's clock the deadline may be earlier. */
  recount(era, sample) {
    if (this.deadline && this.#era === era) this.#earlier(this.deadline - sample.deadline(this.#until));
  }

  /** The clock of that daemon stood still, so the deadline that it told is too late. */
  shift(era, ms) {
    if (!this.deadline || this.#era !== era) return;
    this.#until -= ms;
    this.#earlier(ms);
  }

  #earlier(ms) {
    if (ms <= 0) return;
    this.deadline = Math.max(1, this.deadline - ms);
    this.#warnAt -= ms;
  }

  isOver(now) {
    return this.deadline > 0 && this.deadline <= now;
  }

  /** After how many ms the lock wants the next look; 0: its time is over. */
  tick(now) {
    if (!this.deadline) return Infinity;
    if (this.isOver(now)) this.#overAt ||= now;
    const grace = this.session && this.bound?.usable ? LOST_GRACE_MS : 0;
    const left = (this.#overAt || this.deadline) + grace - now;
    if (left <= 0) return 0;
    if (this.#warnAt <= now) this.expiring();
    return Math.min(left, Math.max(1, this.#warnAt - now));
  }

  expiring() {
    if (this.#warnAt === Infinity) return;
    this.#warnAt = Infinity;
    this.tells('expiring');
  }

  /** 'expiring', 'resumed', or 'lost' and the error. */
  tells(event, ...error) {
    Lock.tell(this.lock, event, ...error);
  }

  /** Ends the lock for the program, which gets no warning any more. */
  end(state) {
    this.state = state;
    this.deadline = 0;
  }

  lose(reason) {
    this.end('lost');
    this.lost = reason === 'closed by us' ? new ClosedError('the client was closed') : new LostError(this.name, reason);
    this.tells('lost', this.lost);
  }
}

module.exports = { Hold };
