'use strict';
// Two clocks. mono() is cheap and good for waiting. The boot clock goes on while the machine sleeps, and so it decides
// how long a lock is held; on Linux a look at it reads a file. Both are in ms.
const fs = require('node:fs');
const os = require('node:os');

const mono = () => performance.now();

/** Counts suspend where the system does not: by what the wall clock gained on the monotonic clock, if over 1 s. */
class GuessedClock {
  #ahead = Date.now() - mono();
  #slept = 0;

  read() {
    const now = mono();
    const gained = Date.now() - now - this.#ahead;
    this.#ahead += gained;
    if (gained > 1000) this.#slept += gained;
    return now + this.#slept;
  }
}

// Node has no CLOCK_BOOTTIME, but on Linux os.uptime() reads it, in hundredths of a second, from /proc/uptime.
const counts = process.platform === 'linux' && fs.existsSync('/proc/uptime');
const guessed = new GuessedClock();
const GRAIN_MS = 10;
let last = { boot: 0, mono: -Infinity };

function bootFloor() {
  const boot = Math.floor(counts ? os.uptime() * 1000 : guessed.read());
  last = { boot, mono: mono() };
  return boot;
}

/** Never before the true instant: for comparing with a deadline. */
const bootCeil = () => bootFloor() + GRAIN_MS + 1;

/** Without a system call, and wrong by a suspend since the last look: only for what is looked at again. */
function bootAbout() {
  return last.mono === -Infinity ? bootCeil() : last.boot + GRAIN_MS + (mono() - last.mono);
}

const SAME_WITHIN_MS = 20 + 2 * GRAIN_MS; // a Unix socket may lead to another machine, whose clock is near by chance
const GOES_ON_WITHIN_MS = 1000; // how far two readings of one clock may be apart, beyond 0.1 % and the answer's time

/** The sample of one HELLO: the daemon's clock was at `now` when ours was somewhere between `sent` and `received`. */
class Sample {
  constructor(sent, now, received, local) {
    Object.assign(this, { sent, now, received });
    const between = local && sent <= now && now <= received;
    this.same = between && received - sent <= SAME_WITHIN_MS;
    this.slow = between && !this.same;
  }

  /** until= as an instant of our clock, never later than the daemon means it while both run within 0.1 %. */
  deadline(until) {
    const left = until - this.now;
    if (this.same) return until;
    return left <= 0 ? this.sent - 1 : this.sent + left - Math.ceil(left / 1000) - 1;
  }

  /** What an answer proves however long it was on its way: this sample's, as if it had been asked when it came. */
  proved() {
    return Object.assign(new Sample(this.received, this.now, this.received, false), { same: false });
  }

  /** Whether by this sample the now= of a later one, which has come already, is still ahead: then one of the clocks has
   * stood still, and deadlines that were computed with this sample may be too late. */
  isRefuted(later) {
    return this.deadline(later.now) > later.received;
  }

  /** Returns which of two samples of one connection counts: the older, as long as the newer does not contradict it. */
  newer(other) {
    const between = other.sent <= other.now && other.now <= other.received;
    if (this.same && !other.same && between) return this;
    const expected = this.deadline(other.now);
    const fits = expected >= other.sent && expected <= other.received;
    return !this.same && !other.same && fits ? this : other;
  }

  /** Whether a HELLO on another connection shows the same daemon's clock, which by its word stood still for `grown` ms. */
  goesOn(other, grown) {
    const ours = other.sent - this.sent;
    const room = GOES_ON_WITHIN_MS + ours / 1000 + (other.received - other.sent);
    const ahead = other.now - this.now - ours;
    return Math.abs(ahead) <= room || Math.abs(ahead + grown) <= room;
  }
}

module.exports = { mono, bootFloor, bootCeil, bootAbout, Sample };
