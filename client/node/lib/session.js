'use strict';
// The part behind a Client: the connection, made anew when it breaks, and the locks that are held through it.
const { mono, bootCeil, bootAbout } = require('./clock.js');
const { Connection } = require('./connection.js');
const { Request } = require('./requests.js');
const { isUnderWay } = require('./downgrade.js');
const { resume } = require('./resume.js');
const { Watches } = require('./watch.js');
const { LINE_BYTES } = require('./table.js');
const { BadArgumentError, ClosedError, NoAnswerError, ProtocolError, UnreachableError, refusal } = require('./errors.js');

// So many requests may be on their way that do not wait, fewer than redlockd spares for one connection; and so many others,
// fewer than max_waits_per_client.
const WINDOW = [48, 256 - 48];
const TAG_BYTES = 18;
const IDLE_MS = 10_000; // the timer, which keeps the process alive, is set for as long as there is something to do
const RELEASE_MS = 2000;
const LOOK_MS = 500; // timers stand still while the machine sleeps: so often we look whether it has
const HELLO_MS = 1000;
const PATIENCE_MS = { least: 1000, most: 10_000 };
const BACKOFF_MS = { first: 20, most: 1000 };
const STABLE_MS = 1000; // a connection that lasted so long was no failure
const STALL_MS = 5000; // silence within an answer may last so long

class Session {
  #way;
  #hello;
  #queues = [new Set(), new Set()]; // Requests to be sent: that do not wait, and others
  #holds = new Set(); // locks that are held, and whose time is known
  #leases = new Set(); // locks among them which nobody keeps
  link = null; // the current Connection
  #links = new Set(); // it, and connections from which locks are still to move
  loose = new Set(); // session locks that are to be resumed on it
  #dialing = null; // the Connection that is to be the next one
  #everUp = false;
  #upAt = 0;
  #failures = 0; // in a row
  #retryAt = 0;
  #why = undefined; // the error of the last connection
  #last = undefined; // {sample, era} of the connection that was greeted last
  #timer = undefined;
  #timerAt = Infinity;
  #wanted = true; // by the program
  #referenced = false; // as the timer is
  #closing = undefined;
  watches = new Watches(this);

  /** way: a Way. hello: the line. timeout: how long a request may go unanswered, in ms. log(text): a line of log. */
  constructor(way, hello, timeout, log) {
    this.#way = way;
    this.#hello = hello;
    this.timeout = timeout;
    this.log = log;
  }

  // ---- requests ----

  /** resolve, reject: of the program's promise. */
  ask(request, resolve, reject) {
    request.resolve = resolve;
    request.reject = reject;
    if (this.#closing && !request.gives) return request.settle(new ClosedError('the client was closed'));
    this.#queues[request.waits].add(request);
    this.wake(request.giveUp);
    this.#pump();
  }

  /** The request is asked no more, and a late answer is passed over. */
  drop(request) {
    this.#queues[request.waits].delete(request);
    request.connection?.pending.delete(request.tag);
    this.#leave(request);
    this.#refer();
  }

  #leave(request) {
    if (request.connection) request.connection.flight[request.waits]--;
    request.connection = null;
  }

  #send(link) {
    for (const waits of [0, 1]) {
      const queue = this.#queues[waits];
      for (const request of queue) {
        if (link.flight[waits] >= WINDOW[waits]) break;
        if (request.isNeedless) queue.delete(request) && request.settle();
        else if (request.refusedOn !== link && !request.mustWait) this.send(link, request);
      }
    }
  }

  /** The request goes out on this connection. */
  send(link, request) {
    this.#queues[request.waits].delete(request);
    const text = request.line(link);
    if (text.length + TAG_BYTES >= LINE_BYTES) {
      return request.settle(new BadArgumentError('the names and options together are longer than a line of 1,024 bytes'));
    }
    request.connection = link;
    request.times++;
    link.flight[request.waits]++;
    link.ask(text, request);
  }

  answered(request, answer) {
    const link = request.connection;
    this.#leave(request);
    const refused = answer.code[0] === '-';
    if (!refused && (answer.code !== request.expects || (request.name && answer.name !== request.name))) {
      // The line is no answer to the request, which is asked again on another connection, while there is time.
      this.#queues[request.waits].add(request);
      link.break(new ProtocolError(`redlockd gave an answer that does not fit the request: ${answer.text}`));
    } else if (refused && request.again?.(answer, link)) this.#queues[request.waits].add(request);
    else request.settle(refused ? refusal(answer) : undefined, answer, link);
  }

  /** All that have no outcome yet, and what the connections ask for themselves. */
  #requests() {
    const sent = [...this.#links].map((link) => [...link.pending.values()]);
    return [...this.#queues[0], ...this.#queues[1], ...sent.flat()];
  }

  get #queued() {
    return this.#queues[0].size + this.#queues[1].size;
  }

  /** Ends all requests that wait for a connection. */
  #failQueued(error) {
    for (const queue of this.#queues) for (const request of [...queue]) queue.delete(request) && request.settle(error);
  }

  /** Gives up overdue requests. Returns when the next will be overdue, on mono(). */
  #tickRequests(now) {
    let next = Infinity;
    for (const request of this.#requests()) {
      if (request.giveUp > now) {
        next = Math.min(next, request.giveUp);
        continue;
      }
      request.giveUp = Infinity;
      const why = request.connection || this.link ? undefined : this.#why;
      request.overdue(why ?? new NoAnswerError('redlockd has not answered in time'));
    }
    return next;
  }

  /** Gives back a lock that nobody waits for any more. */
  giveBack(name, token, settled = () => {}) {
    const request = new Request(this, name, '+UNLOCKED', RELEASE_MS);
    request.gives = true;
    request.line = () => `UNLOCK ${name} token=${token}`;
    request.settled = settled;
    this.ask(request);
  }

  // ---- what happens to locks ----

  watch(hold) {
    this.#holds.add(hold);
    if (!hold.session) this.#leases.add(hold);
    this.#refer();
    this.wake(mono() + Math.min(LOOK_MS, hold.span));
  }

  forget(hold) {
    this.#holds.delete(hold);
    this.#leases.delete(hold);
    this.loose.delete(hold);
    this.#refer();
  }

  lose(hold, reason) {
    // redlockd may just have renewed the lock, and is to let go of it too.
    if (reason === 'expired' && hold.session && hold.bound?.usable) this.giveBack(hold.name, hold.token);
    this.forget(hold);
    if (hold.state === 'held') this.log(`${hold.name} is lost: ${reason}`);
    hold.lose(reason);
    hold.bind(null);
    for (const request of this.#queues.flatMap((queue) => [...queue])) {
      if (request.hold !== hold) continue;
      this.drop(request);
      request.settle(hold.lost);
    }
    this.retire();
  }

  /** Events of a connection. An event about an older token is about no lock. */
  event(connection, { code, name, pairs }) {
    if (code === '!DRAIN') return this.drain(connection);
    if (code === '!CLOCK') return this.#clock(connection, pairs.behind ?? 0);
    if (code === '!NOW') return connection === this.link && this.watches.now(name, pairs);
    const hold = connection.holds.get(pairs.token);
    if (!hold || hold.name !== name || hold.state !== 'held') return;
    if (hold.resuming) {
      if (code === '!LOST') hold.bind(null); // the answer to RESUME says what became of the lock
    } else if (code === '!RENEWED') {
      hold.tell(connection, pairs.until);
    } else if (code === '!EXPIRING') {
      hold.expiring();
    } else if (code === '!LOST' && pairs.reason === 'drain') {
      // Its keys are still there: the next redlockd can have it.
      hold.bind(null);
      hold.refusedOn = connection;
      this.loose.add(hold);
      this.#pump();
    } else if (code === '!LOST') {
      this.lose(hold, pairs.reason ?? 'unknown');
    }
  }

  #clock(connection, behind) {
    if (!connection.era) return; // the answer to HELLO has behind=
    this.#behind(connection.era, behind);
    if (!connection.sample.same && !connection.helloSent) connection.sayHelloAgain();
    this.wake(mono());
  }

  #behind(era, behind) {
    const grown = behind - era.behind;
    if (grown <= 0) return;
    era.behind = behind;
    for (const hold of this.#holds) hold.shift(era, grown);
  }

  /** Takes in +HELLO. The behind= of another daemon says nothing about the deadlines that the daemon before has told; a
   * daemon is recognised by its clock. */
  greeted(connection, sample, behind, again) {
    const last = this.#last;
    if (!connection.era) {
      const grown = last ? behind - last.era.behind : -1;
      connection.era = grown >= 0 && last.sample.goesOn(sample, grown) ? last.era : { behind };
      connection.refuted = connection.era === last?.era && last.sample.isRefuted(sample);
    }
    this.#behind(connection.era, behind);
    connection.refuted ||= connection.sample?.isRefuted(sample) ?? false;
    connection.sample = connection.sample?.newer(sample) ?? sample;
    this.#last = { sample: connection.sample, era: connection.era };
    // Deadlines move only where a clock was shown to have stood still; until the clock is told, by what is proved.
    if (connection.refuted) {
      for (const hold of this.#holds) hold.recount(connection.era, again ? sample.proved() : connection.sample);
    }
    connection.refuted &&= again;
    this.wake(mono());
  }

  // ---- RESUME ----

  #resumeLoose(link) {
    const now = bootCeil();
    const waits = link.repeats ? 1 : 0;
    for (const hold of this.loose) {
      if (hold.resuming || hold.refusedOn === link || hold.retryAt > mono() || hold.isOver(now) || isUnderWay(hold)) continue;
      if (hold.maxEnd <= mono()) this.lose(hold, 'max');
      else if (link.flight[waits] < WINDOW[waits]) resume(this, link, hold, waits);
    }
  }

  // ---- the connection ----

  #pump() {
    this.#refer();
    const link = this.link;
    if (link) {
      const stale = !link.sample.same && !link.helloSent && mono() - link.helloLast >= HELLO_MS;
      if (stale && this.#queued) link.sayHelloAgain();
      if (this.loose.size) this.#resumeLoose(link);
      this.#send(link);
    }
    if ((link && !link.draining) || this.#dialing || this.#closing || !this.#isBusy) return;
    if (this.#retryAt > mono()) this.wake(this.#retryAt);
    else this.#dial();
  }

  /** Whether something needs a connection. */
  get #isBusy() {
    if (this.#queued || this.#holds.size > this.#leases.size || this.watches.size) return true;
    for (const { flight } of this.#links) if (flight[0] || flight[1]) return true;
    return false;
  }

  #dial() {
    const link = new Connection(this, this.#hello);
    this.#dialing = link;
    link.open(this.#way).then(
      () => (link.usable ? this.#up(link) : this.#failed(link.why)),
      (error) => this.#failed(error));
  }

  #up(link) {
    const before = this.link;
    this.#dialing = null;
    if (this.#closing) return link.destroy();
    this.#links.add(link);
    this.link = link;
    if (this.#everUp) this.log(`connected again, to ${link.address}`);
    this.#everUp = true;
    this.#upAt = mono();
    if (before) for (const hold of before.holds.values()) this.loose.add(hold);
    this.watches.again();
    this.#pump();
    this.retire();
  }

  #failed(error) {
    this.#dialing = null;
    this.#why = error;
    this.#failures++;
    // redlockd was never reached, or refuses this client: waiting would only hide the failure.
    if (!this.#everUp || !(error instanceof UnreachableError)) this.#failQueued(error);
    if (this.#isBusy) this.#backOff();
  }

  #backOff() {
    let most = Math.min(BACKOFF_MS.first * 2 ** Math.min(this.#failures - 1, 10), BACKOFF_MS.most);
    for (const hold of this.loose) {
      most = Math.min(most, Math.max(BACKOFF_MS.first, (hold.deadline - bootAbout()) / 4));
    }
    this.#retryAt = mono() + most / 2 + Math.random() * most / 2;
    this.#pump();
  }

  /** requests: those on their way that are to be asked again. */
  connectionDown(link, requests) {
    if (!this.#links.has(link)) return; // the connection was never up
    const of = (waits) => requests.filter((request) => request.waits === waits);
    this.#queues = this.#queues.map((queue, waits) => new Set([...of(waits), ...queue]));
    for (const hold of link.holds.values()) if (hold.state === 'held') this.loose.add(hold);
    if (link !== this.link) return;
    this.link = null;
    this.#why = link.why;
    if (!this.#closing) this.log(link.why.message);
    this.#failures = mono() - this.#upAt >= STABLE_MS ? 1 : this.#failures + 1;
    this.#backOff();
  }

  connectionClosed(link) {
    for (const hold of [...link.holds.values()]) hold.bind(null);
    this.#links.delete(link);
    this.#closing?.check();
  }

  /** Answers or events were read. */
  heard(link) {
    this.#pump();
    if (link !== this.link || link.draining) this.retire();
    this.#closing?.check();
  }

  drain(connection) {
    if (connection.draining) return;
    connection.draining = true;
    if (connection !== this.link) return;
    this.#failures = mono() - this.#upAt >= STABLE_MS ? 0 : this.#failures + 1;
    if (this.#failures) this.#backOff();
    else this.#retryAt = 0;
    this.retire();
    this.#pump();
  }

  /** Ends connections of which nothing is to come any more: after !DRAIN, or when they stayed open for their locks. */
  retire() {
    if (this.#links.size === 1 && this.link && !this.link.draining) return;
    for (const link of this.#links) {
      if (link.holds.size || link.pending.size || (link === this.link && !link.draining)) continue;
      if (link === this.link) this.link = null;
      this.#links.delete(link);
      if (link.usable) link.end();
      else link.destroy();
    }
  }

  // ---- time ----

  /** at: on mono(). */
  wake(at) {
    if (at >= this.#timerAt || this.#closing?.done) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const ms = Math.min(Math.max(Math.ceil(at - mono()), 1), 2 ** 30);
    // Bytes that have come meanwhile are read first, since a renewal may be among them.
    this.#timer = setTimeout(() => setImmediate(() => this.#tick()), ms);
    if (!this.#referenced) this.#timer.unref();
  }

  #tick() {
    this.#timerAt = Infinity;
    if (this.#closing?.done) return;
    const now = bootCeil();
    let next = this.#holds.size ? LOOK_MS : Infinity;
    let shortest = PATIENCE_MS.most * 3;
    for (const hold of this.#holds) {
      const left = hold.tick(now);
      if (left === 0) this.lose(hold, 'expired');
      else next = Math.min(next, left);
      if (hold.session) shortest = Math.min(shortest, hold.span);
    }
    const at = mono();
    next = Math.min(next, this.#tickRequests(at) - at);
    if (this.link) next = Math.min(next, this.#tickLink(this.link, at, Math.max(PATIENCE_MS.least, shortest / 3)));
    for (const hold of this.loose) if (!hold.resuming && hold.retryAt > at) next = Math.min(next, hold.retryAt - at);
    this.#pump();
    if (this.#isBusy || next < Infinity) this.wake(at + Math.min(next, IDLE_MS));
  }

  /** Looks whether the connection lives, and says HELLO again where the daemon reads another clock. */
  #tickLink(link, at, patience) {
    const silent = at - (link.pinged || link.heard);
    const expects = link.holds.size || link.pending.size || this.watches.size;
    if (link.pinged && silent >= patience) {
      link.break(new UnreachableError('redlockd is silent: it does not answer PING'));
      return Infinity;
    }
    const stall = Math.min(STALL_MS, patience);
    if (link.hasHalfALine && at - link.heard >= stall) {
      link.break(new UnreachableError('redlockd fell silent within an answer'));
      return Infinity;
    }
    if (!link.pinged && expects && silent >= patience) link.sayPing();
    if (link.hasHalfALine) return Math.min(LOOK_MS, stall);
    if (link.sample.same || !this.#holds.size || link.helloSent) return expects ? patience : Infinity;
    if (at - link.helloLast < HELLO_MS) return link.helloLast + HELLO_MS - at;
    link.sayHelloAgain();
    return HELLO_MS;
  }

  // ---- the end of the process, and of the client ----

  describe() {
    const state = this.#closing ? 'closed' : this.link ? 'connected' : 'not connected';
    return { address: this.#way.toString(), state, locks: [...this.#holds].map((hold) => hold.describe()) };
  }

  reference(on) {
    this.#wanted = on;
    this.#refer();
  }

  /** The process may end while this client has nothing to do: no request, no session lock, no watcher. */
  #refer() {
    const on = this.#wanted && this.#isBusy;
    if (on === this.#referenced) return;
    this.#referenced = on;
    if (on) this.#timer?.ref();
    else this.#timer?.unref();
  }

  close() {
    if (!this.#closing) this.#close();
    return this.#closing.ended;
  }

  #close() {
    const closed = new ClosedError('the client was closed');
    const closing = { done: false };
    this.#closing = closing;
    this.#refer();
    this.#failQueued(closed);
    for (const request of this.#requests()) request.abandon?.(closed);
    for (const hold of this.#holds) this.lose(hold, 'closed by us');
    this.watches.close();
    this.#dialing?.destroy();
    closing.ended = new Promise((resolve) => {
      const quit = new Set();
      const end = () => {
        closing.done = true;
        clearTimeout(this.#timer);
        clearTimeout(limit);
        for (const link of this.#links) link.destroy();
        for (const request of this.#requests()) request.settle?.(closed);
        resolve();
      };
      const limit = setTimeout(end, RELEASE_MS);
      // QUIT when all that is on its way has its answer: a late grant is given back before.
      closing.check = () => {
        for (const link of this.#links) {
          if (link.usable && !link.pending.size && !quit.has(link)) quit.add(link) && link.quit();
        }
        if (!this.#links.size) end();
      };
    });
    queueMicrotask(() => closing.check());
  }
}

module.exports = { Session };
