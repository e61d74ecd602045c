'use strict';
// Real masters and a real redlockd (tests/stubs/world), and other small things that several tests need.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { before, after, afterEach } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client } = require('../index.js');

const ROOT = path.join(__dirname, '../../..');
const PROGRAM = path.join(ROOT, 'tests/stubs/world');
const DAEMON = process.env.REDLOCKD ?? path.join(ROOT, 'build/redlockd');

/** Returns why there can be no world here; undefined: there can be one. */
function missing() {
  if (!fs.existsSync(DAEMON)) return `there is no ${DAEMON}`;
  return process.env.PATH.split(':').some((at) => fs.existsSync(path.join(at, 'python3'))) ? undefined : 'no python3';
}

class World {
  #process;
  #lines;

  async start(...args) {
    this.#process = spawn('python3', [PROGRAM, ...args],
      { env: { ...process.env, REDLOCKD: DAEMON }, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = readline.createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    const first = await this.#next();
    this.address = /unix=(\S+)/.exec(first)[0].replace('=', ':');
    this.tcp = /tcp=(\S+)/.exec(first)[1];
    this.masters = /masters=(\S+)/.exec(first)[1].split(',');
  }

  /** Between two commands it keeps no test process alive: node 18 would never come to its after(). */
  async #next() {
    this.#refer('ref');
    const { value } = await this.#lines.next();
    this.#refer('unref');
    if (value === undefined || value.startsWith('error')) throw new Error(`world: ${value ?? 'it ended'}`);
    return value;
  }

  #refer(how) {
    const { stdin, stdout } = this.#process;
    for (const thing of [this.#process, stdin, stdout]) thing[how]();
  }

  /** Sends a command and resolves to its answer; only one command may be under way. */
  async say(command) {
    this.#process.stdin.write(`${command}\n`);
    return this.#next();
  }

  async keys() {
    return Number((await this.say('keys')).split(' ')[1]);
  }

  async stop() {
    this.#refer('ref');
    const ended = once(this.#process, 'exit');
    this.#process.stdin.end();
    await ended;
  }
}

/** A world for the tests of a file: {skip, world, connect()}. The clients of a test end with it. */
function withWorld(...args) {
  const skip = missing();
  const world = new World();
  let clients = [];
  before(() => (skip ? undefined : world.start(...args)));
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.close()));
    clients = [];
  });
  after(() => (skip ? undefined : world.stop()));
  const connect = (options) => {
    const client = new Client({ address: world.address, ...options });
    clients.push(client);
    return client;
  };
  return { skip, world, connect };
}

/** Calls look() again and again, until it gives something true, which is returned. */
async function until(look, what, limit = 10_000) {
  for (const end = Date.now() + limit; ; await sleep(10)) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`within ${limit} ms there was no ${what}`);
  }
}

/** A program of this language: {child, lines, ended}. */
function program(file, args, env) {
  const child = spawn(process.execPath, [file, ...args],
    { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = [];
  readline.createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { child, lines, ended: once(child, 'close').then(([status, signal]) => signal ?? status) };
}

module.exports = { withWorld, until, program, sleep, ROOT };
