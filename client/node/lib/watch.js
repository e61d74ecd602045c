'use strict';
// WATCH: who has a name, told at each change. One WATCH for each name and connection serves all watchers in this program.
const { Request } = require('./requests.js');
const { ClosedError } = require('./errors.js');

const STATES_MOST = 1000; // that a watcher has not read yet: then the oldest are left out

/** What for await reads: {state, mode, fence, host, data}. */
class Watch {
  #states = [];
  #waiting = []; // {resolve, reject} of next()
  #last = '';
  #ended = undefined; // {error}
  #leave;

  constructor(leave) {
    this.#leave = leave;
  }

  /** A state that differs from the last one. */
  tell(state) {
    const seen = JSON.stringify(state);
    if (seen === this.#last || this.#ended) return;
    this.#last = seen;
    if (this.#waiting.length) return this.#waiting.shift().resolve({ value: state, done: false });
    this.#states.push(state);
    if (this.#states.length > STATES_MOST) this.#states.shift();
  }

  end(error) {
    this.#ended ??= { error };
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (error) reject(error);
      else resolve({ value: undefined, done: true });
    }
  }

  async next() {
    if (this.#states.length) return { value: this.#states.shift(), done: false };
    if (this.#ended?.error) throw this.#ended.error;
    if (this.#ended) return { value: undefined, done: true };
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Ends it: for await calls this when the loop is left. */
  async return(value) {
    this.#states = [];
    this.end();
    this.#leave(this);
    return { value, done: true };
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

class Watches {
  #session;
  #names = new Map(); // name -> {watchers: Set, state, request}

  constructor(session) {
    this.#session = session;
  }

  get size() {
    return this.#names.size;
  }

  add(name) {
    const watch = new Watch((one) => this.#leave(name, one));
    const entry = this.#names.get(name) ?? { watchers: new Set(), state: undefined, request: undefined };
    entry.watchers.add(watch);
    if (entry.state) watch.tell(entry.state);
    if (!this.#names.has(name)) {
      this.#names.set(name, entry);
      this.#ask(name, entry, this.#session.timeout);
    }
    return watch;
  }

  /** On a new connection: redlockd has forgotten them with the old one. */
  again() {
    for (const [name, entry] of this.#names) if (!entry.request) this.#ask(name, entry, Infinity);
  }

  #ask(name, entry, patience) {
    const request = new Request(this.#session, name, '+WATCHING', patience);
    request.line = () => `WATCH ${name}`;
    request.again = request.elsewhere;
    request.settled = (error, answer, connection) => {
      entry.request = undefined;
      if (this.#names.get(name) !== entry) return;
      if (error) this.#end(name, error);
      else if (connection !== this.#session.link) this.#ask(name, entry, Infinity);
      else this.now(name, answer.pairs);
    };
    entry.request = request;
    this.#session.ask(request);
  }

  /** A state, as redlockd tells it. */
  now(name, { state, mode, fence, host, data }) {
    const entry = this.#names.get(name);
    if (!entry) return;
    entry.state = { state };
    for (const [key, value] of Object.entries({ mode, fence, host, data })) if (value !== undefined) entry.state[key] = value;
    for (const watch of entry.watchers) watch.tell(entry.state);
  }

  #leave(name, watch) {
    const entry = this.#names.get(name);
    if (!entry?.watchers.delete(watch) || entry.watchers.size) return;
    this.#names.delete(name);
    if (entry.request) this.#session.drop(entry.request);
    const request = new Request(this.#session, undefined, '+OK', 1);
    request.line = () => `UNWATCH ${name}`;
    request.outlives = () => false; // with the connection, redlockd forgets it anyway
    this.#session.ask(request);
  }

  #end(name, error) {
    const { watchers } = this.#names.get(name);
    this.#names.delete(name);
    for (const watch of watchers) watch.end(error);
  }

  close() {
    for (const name of [...this.#names.keys()]) this.#end(name, new ClosedError('the client was closed'));
  }
}

module.exports = { Watches };
