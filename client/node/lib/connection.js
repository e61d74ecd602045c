'use strict';
// A connection to redlockd, from AUTH and HELLO to its end: lines out under tags, answers and events in.
const { mono, bootFloor, bootCeil, Sample } = require('./clock.js');
const { parse } = require('./line.js');
const { SERVER_LINE_BYTES } = require('./table.js');
const { ProtocolError, LimitError, UnreachableError, refusal } = require('./errors.js');

const CONNECT_MS = 5000;
const READ_BYTES = 65_536;
const HELLO_SLOW_MS = 50; // a first HELLO that took longer may have lain in a backlog, and is repeated

class Connection {
  holds = new Map(); // token -> Hold: session locks that end with this connection
  pending = new Map(); // tag -> Request, or {giveUp, done(answer), lost()} of what the connection asks for itself
  flight = [0, 0]; // Requests on their way: that do not wait, and others
  usable = true; // requests may be sent on it
  draining = false;
  keeps = false; // redlockd knows keep=
  repeats = false; // redlockd repeats RESUME and downgrades for as long as wait=
  greetings = 3; // so many more HELLOs may tell the clock of a new connection; 0: it is told
  refuted = false; // one of them has shown that a clock stood still
  heard = mono();
  pinged = 0; // when a PING was sent that is not answered
  helloSent = 0; // on the boot clock; 0: answered
  helloLast = 0;
  sample = undefined;
  era = undefined; // {behind}: what its daemon has said of its clock; one object for all connections to that daemon
  address = '';
  why = undefined; // RedlockdError: why it is not usable
  #socket;
  #local;
  #owner;
  #hello;
  #tags = 0;
  #out = '';
  #rest = '';
  #reading = false;

  /** owner: a Session. hello: the line. */
  constructor(owner, hello) {
    this.#owner = owner;
    this.#hello = hello;
  }

  /** Resolves when HELLO was answered; rejects with the reason if it was not. */
  async open(way) {
    const overdue = setTimeout(() => {
      const late = new UnreachableError(`connecting takes longer than ${CONNECT_MS} ms`);
      if (this.address) this.break(late);
      else this.#socket?.destroy(late);
    }, CONNECT_MS);
    try {
      const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: (size, bytes) => this.#read(bytes, size) };
      const { socket, credentials, local, address } = await way.dial(onread, (one) => (this.#socket = one));
      if (!this.usable) throw this.why;
      socket.unref(); // what keeps the process alive is the Session's timer
      this.address = address;
      this.#local = local;
      socket.setNoDelay?.(true);
      socket.on('error', (error) => this.#down(this.#ended(error.message)));
      socket.on('close', () => {
        this.#down(this.#ended('redlockd closed it'));
        this.#owner.connectionClosed(this);
      });
      if (credentials) {
        const answer = await new Promise((done, reject) => this.tell(`AUTH ${credentials}`, done, () => reject(this.why)));
        if (answer.code !== '+OK') throw this.break(this.#unlike('AUTH', answer));
      }
      await this.sayHello();
    } finally {
      clearTimeout(overdue);
    }
  }

  #ended(why) {
    return new UnreachableError(`the connection to ${this.address} ended: ${why}`);
  }

  #unlike(verb, answer) {
    return answer.code[0] === '-' ? refusal(answer) : new ProtocolError(`${verb} was answered ${answer.text}`);
  }

  /** Sends HELLO, also later if the daemon reads another clock. The sample is taken before anything behind the answer
   * is read. */
  sayHello() {
    this.helloSent = bootFloor();
    this.helloLast = mono();
    return new Promise((resolve, reject) => {
      const done = (answer) => {
        const sent = this.helloSent;
        this.helloSent = 0;
        if (answer.code !== '+HELLO' || answer.pairs.proto !== 1) {
          return reject(this.break(new ProtocolError(`what answers is no redlockd of protocol 1: ${answer.text}`)));
        }
        const features = (answer.pairs.features ?? '').split(',');
        this.repeats = features.includes('resume-wait');
        this.keeps = features.includes('keep');
        const sample = new Sample(sent, answer.pairs.now, bootCeil(), this.#local);
        // Also where client and daemon may read one clock: the next answer may be quick enough to show it.
        const again = this.greetings > 0 && (sample.slow || sample.received - sent > HELLO_SLOW_MS);
        this.greetings = again ? this.greetings - 1 : 0;
        this.#owner.greeted(this, sample, answer.pairs.behind ?? 0, again);
        if (again) this.sayHelloAgain();
        resolve();
      };
      this.tell(this.#hello, done, () => reject(this.why));
    });
  }

  sayHelloAgain() {
    this.sayHello().catch(() => {}); // the connection is broken, which its requests hear
  }

  sayPing() {
    this.pinged = mono();
    this.tell('PING');
  }

  /** Sends the line of a Request. */
  ask(line, request) {
    request.tag = ++this.#tags;
    this.pending.set(request.tag, request);
    if (!this.#out && !this.#reading) process.nextTick(flush, this);
    this.#out += `#${request.tag} ${line}\n`;
  }

  /** Sends a line of the connection's own. */
  tell(line, done, lost) {
    this.ask(line, { giveUp: Infinity, done, lost });
  }

  /** Lines of one turn of the event loop go out in one write. */
  flush() {
    if (this.#out && this.usable) this.#socket.write(this.#out, 'latin1');
    this.#out = '';
  }

  get hasHalfALine() {
    return this.#rest.length > 0;
  }

  /** Says QUIT and reads on up to +BYE; then the connection closes. */
  quit() {
    this.tell('QUIT', () => this.end());
  }

  end() {
    this.flush();
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), 200).unref();
  }

  destroy() {
    this.#socket?.destroy();
  }

  /** Ends the use of a connection that cannot go on. To close it would give back locks that another connection is
   * about to RESUME, so it stays open, unread, until it has no such lock any more. */
  break(error) {
    this.#down(error);
    if (this.holds.size) this.#socket.pause();
    else this.#socket.destroy();
    return error;
  }

  #down(error) {
    if (!this.usable) return;
    this.usable = false;
    this.why = error;
    const { pending } = this;
    this.pending = new Map();
    this.flight = [0, 0];
    this.#owner.connectionDown(this, [...pending.values()].filter((request) => request.lost?.()));
  }

  #read(bytes, size) {
    if (!this.usable) return;
    this.heard = mono();
    this.pinged = 0;
    this.#reading = true;
    try {
      this.#lines(this.#rest + bytes.latin1Slice(0, size));
      if (this.usable) this.#owner.heard(this);
    } finally {
      this.#reading = false;
      // What the program asks when it hears of these answers, by its promises, goes out in the same write.
      if (this.#out) queueMicrotask(() => process.nextTick(flush, this));
    }
  }

  #lines(text) {
    let from = 0;
    for (let end; (end = text.indexOf('\n', from)) >= 0 && end - from < SERVER_LINE_BYTES; from = end + 1) {
      if (end > from) this.#line(text.slice(from, text[end - 1] === '\r' ? end - 1 : end));
      if (!this.usable) return;
    }
    this.#rest = text.slice(from);
    if (this.#rest.length >= SERVER_LINE_BYTES) {
      this.break(new ProtocolError('what answers is no redlockd: a line is longer than 2,048 bytes'));
    }
  }

  #line(line) {
    if (!line) return;
    const answer = parse(line);
    if (!answer) this.break(new ProtocolError(`what answers is no redlockd of protocol 1: ${line.slice(0, 80)}`));
    else if (answer.code[0] === '!') this.#owner.event(this, answer);
    else if (answer.code === '*') this.pending.get(Number(answer.tag))?.row?.(answer.pairs);
    else if (!answer.tag) this.#untagged(answer);
    else this.#answer(answer);
  }

  #untagged(answer) {
    const full = answer.code === '-LIMIT'; // there are too many clients, and redlockd closes the connection
    this.break(full ? new LimitError(answer.text) : new ProtocolError(`an answer without a tag: ${answer.text}`));
  }

  /** An answer to a request that nobody made, or that nobody waits for any more, is passed over. */
  #answer(answer) {
    const tag = Number(answer.tag);
    const request = this.pending.get(tag);
    if (!request) return;
    this.pending.delete(tag);
    request.done?.(answer);
  }
}

const flush = (connection) => connection.flush();

module.exports = { Connection };
