'use strict';
// Requests of a Client: asked when there is a connection, asked again on the next connection, and given up in time.
const { mono } = require('./clock.js');
const { ProtocolError, NoAnswerError, BadArgumentError, refusal } = require('./errors.js');
const { LINE_BYTES } = require('./table.js');

const WINDOW = 48; // requests on their way that do not wait: fewer than redlockd spares for one connection
const WAITS = 256 - WINDOW; // others: fewer than max_waits_per_client
const TAG_BYTES = 18;

/** Whether no more requests, of those that wait or of the others, may be on their way. */
const isFull = (connection, waits) => (waits ? connection.long >= WAITS : connection.short >= WINDOW);

/** A request. `lines()` makes its line when it is sent, with the rest of its wait and the token of that moment. */
class Request {
  requests = undefined; // the Requests that have sent it
  connection = null; // the Connection on which it is under way
  tag = undefined;
  times = 0; // how often it was sent
  over = false;
  waits = false; // redlockd may let it wait
  gives = false; // it gives a lock back, also when the client is closed
  abandon = undefined;
  refusedOn = null; // the Connection that has refused it, since it is draining
  hold = undefined; // EXTEND, CHECK and a downgrade: of which lock

  /** name: that of the answer, if it has one. expects: the code of success. row(pairs): for each row before it, and
   * begins() before the first. settled(error, answer, connection) is called once,
   * at the moment of the answer. */
  constructor(fields) {
    Object.assign(this, fields);
  }

  done(answer) {
    this.requests.answered(this, answer);
  }

  lost() {
    this.requests.lost(this);
  }

  settle(error, answer, connection) {
    if (this.over) return;
    this.over = true;
    this.settled(error, answer, connection);
    // The tables that a Map or Set has outgrown hang together, with all that was in them: until the whole heap is
    // collected, they keep alive what is over, and that is to keep nothing else alive.
    this.settled = this.lines = this.again = this.overdue = this.onLost = this.mustWait = this.abandon = this.hold = undefined;
  }
}

class Requests {
  #queue = new Set();
  #sent = new Set();

  get size() {
    return this.#queue.size + this.#sent.size;
  }

  get queued() {
    return this.#queue.size;
  }

  add(request) {
    this.#queue.add(request);
  }

  /** Takes it out wherever it is: a late answer to it is passed over. */
  drop(request) {
    this.#queue.delete(request);
    if (this.#sent.delete(request)) request.connection.pending.delete(request.tag);
    this.#leave(request);
  }

  #leave(request) {
    if (request.connection) request.connection[request.waits ? 'long' : 'short']--;
    request.connection = null;
  }

  pump(connection) {
    for (const request of this.#queue) {
      if (request.isDone?.()) {
        this.#queue.delete(request);
        request.settle();
        continue;
      }
      if (request.refusedOn === connection || request.mustWait?.()) continue;
      if (isFull(connection, request.waits)) continue;
      this.#queue.delete(request);
      this.send(connection, request);
    }
  }

  send(connection, request) {
    const line = request.lines(connection);
    if (line.length + TAG_BYTES >= LINE_BYTES) {
      return request.settle(new BadArgumentError('the names and options together are longer than a line of 1,024 bytes'));
    }
    request.connection = connection;
    request.times++;
    request.begins?.();
    connection[request.waits ? 'long' : 'short']++;
    this.#sent.add(request);
    request.requests = this;
    request.tag = connection.ask(line, request);
  }

  answered(request, answer) {
    const { connection } = request;
    this.#sent.delete(request);
    this.#leave(request);
    const refused = answer.code[0] === '-';
    const unlike = answer.code !== request.expects || (request.name && answer.name !== request.name);
    if (!refused && unlike) {
      // The line is no answer to the request, which is asked again on another connection, while there is time.
      this.#queue.add(request);
      connection.break(new ProtocolError(`redlockd gave an answer that does not fit the request: ${answer.text}`));
      return;
    }
    if (refused && request.again?.(answer, connection)) this.#queue.add(request);
    else request.settle(refused ? refusal(answer) : undefined, answer, connection);
  }

  lost(request) {
    this.#sent.delete(request);
    this.#leave(request);
    if (request.onLost?.()) return;
    this.#queue = new Set([request, ...this.#queue]);
  }

  /** Ends all requests that wait for a connection. */
  failQueued(error) {
    const all = [...this.#queue];
    this.#queue.clear();
    for (const request of all) request.settle(error);
  }

  /** Gives up overdue requests; returns when the next will be overdue, on mono(). why: the connection's last error. */
  tick(now, why) {
    let next = Infinity;
    for (const request of [...this.#queue, ...this.#sent]) {
      if (request.giveUp > now) {
        next = Math.min(next, request.giveUp);
        continue;
      }
      request.giveUp = Infinity;
      const unanswered = request.connection || !why;
      this.#overdue(request, unanswered ? new NoAnswerError('redlockd has not answered in time') : why);
    }
    return next;
  }

  /** A LOCK that was sent stays under way, so that a late grant is given back. */
  #overdue(request, error) {
    if (request.overdue && request.connection) return request.overdue(error);
    this.drop(request);
    request.settle(error);
  }

  *[Symbol.iterator]() {
    yield* this.#queue;
    yield* this.#sent;
  }
}

module.exports = { Request, Requests, isFull };
