'use strict';
// The lines of the protocol: what may be written into one, and what can be read from one.
const { BadArgumentError } = require('./errors.js');

const LONGEST_MS = 30 * 24 * 3600 * 1000;
const LINE_BYTES = 1024;
const NUMBERS = new Set(['fence', 'valid', 'until', 'now', 'behind', 'proto', 'retry', 'slot']);
const NEEDS = {
  '+LOCKED': ['token', 'fence', 'until'],
  '+EXTENDED': ['until'],
  '+HELD': ['until'],
  '+HELLO': ['proto', 'now'],
  '!RENEWED': ['token', 'until'],
  '!EXPIRING': ['token'],
  '!LOST': ['token'],
};
const NAMED = new Set(['+LOCKED', '+UNLOCKED', '+EXTENDED', '+HELD', '!RENEWED', '!EXPIRING', '!LOST']);

/** {tag, code, name, pairs, text}, or null for what no redlockd says. text is the line without its tag. */
function parse(line) {
  if (/[^\x20-\x7e]/.test(line)) return null;
  const tagged = /^#([\w.-]{1,16}) +/.exec(line);
  const text = tagged ? line.slice(tagged[0].length) : line;
  const words = text.split(' ');
  const code = words[0];
  if (!/^[-+!][A-Z]+$/.test(code)) return null;
  const pairs = {};
  let name;
  for (let i = 1; i < words.length && words[i] !== ':'; i++) {
    const equals = words[i].indexOf('=');
    if (equals < 0) {
      if (i === 1) name = words[i];
      continue;
    }
    const key = words[i].slice(0, equals);
    if (Object.hasOwn(pairs, key)) return null;
    const value = words[i].slice(equals + 1);
    pairs[key] = NUMBERS.has(key) ? number(value) : value;
    if (pairs[key] === undefined) return null;
  }
  if (NAMED.has(code) && !name) return null;
  if (NEEDS[code]?.some((key) => !Object.hasOwn(pairs, key))) return null;
  if (pairs.token !== undefined && code[0] !== '-' && !isToken(pairs.token)) return null;
  return { tag: tagged?.[1], code, name, pairs, text };
}

function number(text) {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

const isToken = (text) => typeof text === 'string' && /^[0-9a-f]{40}$/i.test(text);

function word(what, text, most) {
  if (typeof text === 'string' && text.length >= 1 && text.length <= most && /^[^#:][^]*$/.test(text) &&
      !/[^\x21-\x7e]|[,"=]/.test(text)) return text;
  throw new BadArgumentError(`${what} ${JSON.stringify(text)} is not allowed: 1 to ${most} visible ASCII characters, ` +
    'no space , " = and neither # nor : at the beginning');
}

/** A name, or several as one word. */
function names(name) {
  const list = Array.isArray(name) ? name : [name];
  if (!list.length) throw new BadArgumentError('at least one name is needed');
  return list.map((one) => word('name', one, 200)).join(',');
}

/** A name as Lock.name says it (of several, with commas between them), or an array of names. */
const known = (name) => names(typeof name === 'string' ? name.split(',') : name);

function milliseconds(what, value, least) {
  if (value === Infinity && what === 'wait') return LONGEST_MS;
  if (Number.isSafeInteger(value) && value >= least && value <= LONGEST_MS) return value;
  throw new BadArgumentError(`${what} ${value} is not allowed: whole milliseconds, ${least} to ${LONGEST_MS} (30 days)`);
}

function oneOf(what, value, allowed) {
  if (allowed.includes(value)) return value;
  throw new BadArgumentError(`${what} ${value} is not allowed: ${allowed.join(' or ')}`);
}

const CHECKS = {
  ttl: (value) => milliseconds('ttl', value, 1),
  wait: (value) => milliseconds('wait', value, 0),
  max: (value) => milliseconds('max', value, 1),
  hold: (value) => oneOf('hold', value, ['session', 'lease']),
  mode: (value) => oneOf('mode', value, ['exclusive', 'shared']),
  note: (value) => word('note', value, 64),
  slots: (value) => {
    if (Number.isSafeInteger(value) && value >= 1) return value;
    throw new BadArgumentError(`slots ${value} is not allowed: a whole number, 1 or more`);
  },
  signal: (value) => {
    if (value instanceof AbortSignal) return value;
    throw new BadArgumentError('signal is no AbortSignal');
  },
};

/** The options that are given, checked. A misspelt option is refused: without its ttl the lock would be another. */
function options(given, allowed) {
  const checked = {};
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === undefined) continue;
    if (!allowed.includes(key)) throw new BadArgumentError(`there is no option ${key} here: ${allowed.join(', ')}`);
    checked[key] = CHECKS[key](value);
  }
  return checked;
}

/** A line of a verb, a name and the words; a word without a value, as {ttl: undefined}, is left out. */
function line(verb, name, words) {
  let text = `${verb} ${name}`;
  for (const [key, value] of Object.entries(words)) {
    if (value !== undefined) text += ` ${key}=${typeof value === 'number' ? Math.ceil(value) : value}`;
  }
  return text;
}

module.exports = { parse, isToken, word, names, known, options, line, milliseconds, LINE_BYTES };
