#!/usr/bin/env node
'use strict';
// The driver of the conformance cases (client/conformance/README.md): commands in, calls of the library, results out.
const readline = require('node:readline');
const { Client, ClosedError, NotHeldError } = require('../index.js');

const FEATURES = 'auth,attach,client,close-wakes,closed,data,downgrade,drain,keep,lists,moves,notheld-again,quit,resume,rows,shared,' +
  'slots,timeout,twice,watch';
const UNITS_MS = { '': 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

let client;
const handles = new Map(); // H -> {lock, cancel, state}

const say = (text) => process.stdout.write(`${text}\n`);
const decoded = (word) => decodeURIComponent(word);
const nameOf = (word) => (word.includes(',') ? word.split(',').map(decoded) : decoded(word)); // with commas: several names

function span(text) {
  const [, number, unit] = /^(\d+)(\D*)$/.exec(text);
  return Number(number) * UNITS_MS[unit];
}

function optionsOf(words) {
  const options = {};
  for (const word of words) {
    const [, key, value] = /^([^=]*)=(.*)$/.exec(word);
    if (['ttl', 'wait', 'max', 'keep', 'timeout'].includes(key)) options[key] = span(value);
    else options[key] = key === 'slots' ? Number(value) : decoded(value);
  }
  return options;
}

function sayError(h, error) {
  if (!error.code) console.error(error);
  const retry = error.retryMs === undefined ? '' : ` retry=${error.retryMs}`;
  say(`${h} error ${error.code ?? 'UNKNOWN'}${retry} : ${error.message.replaceAll('\n', ' ')}`);
}

const numbers = (lock) => ` fence=${lock.fence} token=${lock.token} valid=${lock.valid()}`;

async function take(h, taking) {
  const handle = { lock: undefined, state: 'waiting', canceller: new AbortController() };
  handles.set(h, handle);
  try {
    const lock = await taking(handle.canceller.signal);
    handle.lock = lock;
    handle.state = 'held';
    const slot = lock.slot === undefined ? '' : ` slot=${lock.slot}`;
    say(`${h} locked${numbers(lock)}${slot}`);
    lock.on('expiring', () => say(`${h} expiring`));
    const lost = () => {
      handle.state = 'lost';
      const { reason } = lock.signal;
      if (!(reason instanceof ClosedError)) say(`${h} lost reason=${reason.reason}`);
    };
    if (lock.signal.aborted) setImmediate(lost); // behind events that came before the loss
    else lock.signal.addEventListener('abort', lost);
  } catch (error) {
    handle.state = 'none';
    sayError(h, error);
  }
}

async function ask(h, done, call) {
  const handle = handles.get(h);
  try {
    if (!handle?.lock) throw new NotHeldError('there is no lock');
    const valid = await call(handle.lock);
    if (done === 'unlocked' || done === 'kept') handle.state = 'none';
    if (done === 'downgraded') say(`${h} ${done}${numbers(handle.lock)}`);
    else say(`${h} ${done}${valid === undefined ? '' : ` valid=${valid}`}`);
  } catch (error) {
    sayError(h, error);
  }
}

async function rows(h, call) {
  try {
    const found = await call();
    for (const row of found) say(`${h} row ${pairsOf(row)}`);
    say(`${h} rows ${found.length}`);
  } catch (error) {
    sayError(h, error);
  }
}

const pairsOf = (row) => Object.entries(row).map(([key, value]) => `${key}=${value}`).join(' ');

async function watch(h, name) {
  try {
    const watching = client.watch(nameOf(name));
    handles.set(h, { watch: watching });
    for await (const state of watching) say(`${h} now ${pairsOf(state)}`);
  } catch (error) {
    sayError(h, error);
  }
}

function info(h) {
  const { state = 'none', lock } = handles.get(h) ?? {};
  const { fence, token } = state === 'held' ? lock : { fence: 0, token: '' };
  say(`${h} info state=${state} valid=${lock?.valid() ?? 0} fence=${fence} token=${token} mode=${lock?.mode ?? 'shared'}`);
}

const commands = {
  open(options) {
    try {
      client = new Client(options);
      say('client open');
    } catch (error) {
      sayError('client', error);
    }
  },
  lock: (h, name, options) => take(h, (signal) => client.lock(nameOf(name), { wait: 0, ...options, signal })),
  resume: (h, name, { token, ...options }) => take(h, (signal) => client.resume(nameOf(name), token, { ...options, signal })),
  attach(h, name, { token }) {
    try {
      handles.set(h, { lock: client.attach(nameOf(name), token), state: 'held' });
      say(`${h} attached`);
    } catch (error) {
      sayError(h, error);
    }
  },
  unlock: (h, given) => ask(h, given.keep ? 'kept' : 'unlocked', (lock) => lock.release(given)),
  data: (h, word) => ask(h, 'data', (lock) => lock.setData(decoded(word))),
  who: (h, name) => rows(h, () => client.who(nameOf(name))),
  show: (h, what) => rows(h, () => client.show(what)),
  watch,
  async unwatch(h) {
    const { watch: watching } = handles.get(h);
    if (!watching) return sayError(h, new NotHeldError('it is watched no more'));
    handles.set(h, {});
    await watching.return();
    say(`${h} unwatched`);
  },
  extend: (h, { ttl }) => ask(h, 'extended', (lock) => lock.extend(ttl)),
  check: (h) => ask(h, 'checked', (lock) => lock.check()),
  downgrade: (h) => ask(h, 'downgraded', (lock) => lock.downgrade()),
  info,
  cancel: (h) => handles.get(h).canceller.abort(),
  async close() {
    await client.close();
    say('client closed');
  },
};

function obey(text) {
  const words = text.split(' ').filter(Boolean);
  if (!words.length) return;
  const verb = words.shift();
  const places = words.filter((word) => !/^[a-z]+=/.test(word));
  // A name may be like an option: it stands behind its handle.
  const named = ['lock', 'resume', 'attach', 'who', 'show', 'watch', 'data'].includes(verb);
  const plain = named ? words.slice(0, 2) : places;
  const given = optionsOf(words.slice(plain.length));
  if (!commands[verb]) throw new Error(`${verb} is no command of this driver`);
  commands[verb](...plain, given);
}

say(`driver node features=${FEATURES}`);
readline.createInterface({ input: process.stdin }).on('line', obey).on('close', async () => {
  await client?.close();
});
