'use strict';
// A connection to redlockd, from AUTH and HELLO to its end: lines out under tags, answers and events in.
const { mono, bootFloor, bootCeil, Sample } = require('./clock.js');
const { parse } = require('./line.js');
const { SERVER_LINE_BYTES } = require('./table.js');
const { ProtocolError, LimitError, UnreachableError, refusal } = require('./errors.js');

const CONNECT_MS = 5000;
const HELLO_SLOW_MS = 50; // a first HELLO that took longer may have lain in a backlog, and is repeated

class Connection {
  holds = new Map(); // token -> Hold: session locks that end with this connection
  pending = new Map(); // tag -> {done(answer), lost(), row(pairs)}, or less: a Request
  usable = true; // requests may be sent on it
  closed = false;
  draining = false;
  short = 0; // requests on their way that do not wait, and others
  long = 0;
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
  #tags = 0;
  #out = '';
  #rest = Buffer.alloc(0);

  /** Resolves when HELLO was answered; rejects with the reason if it was not. owner: a Session. */
  static async open(way, hello, owner, onSocket) {
    let current;
    let connection;
    const overdue = setTimeout(() => {
      const late = new UnreachableError(`connecting takes longer than ${CONNECT_MS} ms`);
      if (connection) connection.break(late);
      else current?.destroy(late);
    }, CONNECT_MS);
    try {
      const { socket, credentials, local, address } = await way.dial((one) => onSocket((current = one)));
      connection = new Connection(socket, address, local, owner);
      await connection.#greet(credentials, hello);
      return connection;
    } finally {
      clearTimeout(overdue);
    }
  }

  constructor(socket, address, local, owner) {
    this.#socket = socket;
    this.address = address;
    this.#local = local;
    this.#owner = owner;
    socket.setNoDelay?.(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#down(this.#ended(error.message)));
    socket.on('close', () => {
      this.closed = true;
      this.#down(this.#ended('redlockd closed it'));
      owner.connectionClosed(this);
    });
  }

  #ended(why) {
    return new UnreachableError(`the connection to ${this.address} ended: ${why}`);
  }

  async #greet(credentials, hello) {
    if (credentials) {
      const answer = await this.#asked(`AUTH ${credentials}`);
      if (answer.code !== '+OK') throw this.break(this.#unlike('AUTH', answer));
    }
    await this.sayHello(hello);
  }

  #asked(line) {
    return new Promise((done, reject) => this.ask(line, { done, lost: () => reject(this.why) }));
  }

  #unlike(verb, answer) {
    return answer.code[0] === '-' ? refusal(answer) : new ProtocolError(`${verb} was answered ${answer.text}`);
  }

  /** Sends HELLO, also later if the daemon reads another clock. The sample is taken before anything behind the answer
   * is read. */
  sayHello(hello) {
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
        if (again) this.sayHello(hello).catch(() => {});
        resolve();
      };
      this.ask(hello, { done, lost: () => reject(this.why) });
    });
  }

  sayPing() {
    this.pinged = mono();
    this.ask('PING', {});
  }

  /** Sends the line under a new tag, which it returns. Lines of one turn of the event loop go out in one write. */
  ask(line, request) {
    const tag = (++this.#tags).toString(36);
    this.pending.set(tag, request);
    if (!this.#out) process.nextTick(() => this.#flush());
    this.#out += `#${tag} ${line}\n`;
    return tag;
  }

  #flush() {
    if (this.usable) this.#socket.write(this.#out, 'latin1');
    this.#out = '';
  }

  get hasHalfALine() {
    return this.#rest.length > 0;
  }

  /** Says QUIT and reads on up to +BYE; then the connection closes. */
  quit() {
    this.ask('QUIT', { done: () => this.end() });
  }

  end() {
    this.#flush();
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), 200).unref();
  }

  destroy() {
    this.#socket.destroy();
  }

  ref() {
    this.#socket.ref();
  }

  unref() {
    this.#socket.unref();
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
    for (const request of [...pending.values()].reverse()) request.lost?.();
    this.#owner.connectionDown(this);
  }

  #read(chunk) {
    this.heard = mono();
    this.pinged = 0;
    const bytes = this.#rest.length ? Buffer.concat([this.#rest, chunk]) : chunk;
    let from = 0;
    for (let end; this.usable && (end = bytes.indexOf(10, from)) >= 0; from = end + 1) {
      if (end - from >= SERVER_LINE_BYTES) break;
      this.#line(bytes.latin1Slice(from, end > from && bytes[end - 1] === 13 ? end - 1 : end));
    }
    this.#rest = Buffer.from(bytes.subarray(from, from + SERVER_LINE_BYTES + 1));
    if (this.usable && this.#rest.length >= SERVER_LINE_BYTES) {
      this.break(new ProtocolError('what answers is no redlockd: a line is longer than 2,048 bytes'));
    }
  }

  #line(line) {
    if (!line) return;
    const answer = parse(line);
    if (!answer) this.break(new ProtocolError(`what answers is no redlockd of protocol 1: ${line.slice(0, 80)}`));
    else if (answer.code[0] === '!') this.#owner.event(this, answer);
    else if (answer.code === '*') this.pending.get(answer.tag)?.row?.(answer.pairs);
    else if (!answer.tag) this.#untagged(answer);
    else this.#answer(answer);
  }

  #untagged(answer) {
    const full = answer.code === '-LIMIT'; // there are too many clients, and redlockd closes the connection
    this.break(full ? new LimitError(answer.text) : new ProtocolError(`an answer without a tag: ${answer.text}`));
  }

  /** An answer to a request that nobody made, or that nobody waits for any more, is passed over. */
  #answer(answer) {
    const request = this.pending.get(answer.tag);
    if (!request) return;
    this.pending.delete(answer.tag);
    request.done?.(answer);
    this.#owner.answered(this);
  }
}

module.exports = { Connection };
