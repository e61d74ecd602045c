'use strict';
// The lines of the protocol: what may be written into one, and what can be read from one.
const { BadArgumentError } = require('./errors.js');
const { OPTIONS, NAME_BYTES, DURATION_MAX_MS } = require('./table.js');

const NUMBERS = new Set(['fence', 'valid', 'until', 'now', 'behind', 'proto', 'retry', 'slot']);
const NEEDS = {
  '+LOCKED': ['token', 'fence', 'until'],
  '+EXTENDED': ['until'],
  '+HELD': ['until'],
  '+HELLO': ['proto', 'now'],
  '!RENEWED': ['token', 'until'],
  '!EXPIRING': ['token'],
  '!LOST': ['token'],
  '+WATCHING': ['state'],
  '!NOW': ['state'],
};
const NAMED = new Set(['+LOCKED', '+UNLOCKED', '+KEPT', '+EXTENDED', '+HELD', '+DATA', '+WATCHING', '!NOW', '!RENEWED',
  '!EXPIRING', '!LOST']);

/** {tag, code, name, pairs, text}, or null for what no redlockd says. text is the line without its tag. In a row, whose
 * code is *, all values stay texts. */
function parse(line) {
  if (/[^\x20-\x7e]/.test(line)) return null;
  let tag;
  let text = line;
  if (line[0] === '#') {
    const space = line.indexOf(' ');
    tag = line.slice(1, space);
    text = line.slice(space + 1).trimStart();
    if (!/^[\w.-]{1,16}$/.test(tag)) return null;
  }
  let at = text.indexOf(' ') + 1 || text.length;
  const code = text.slice(0, at).trimEnd();
  if (code === '*') return { tag, code, pairs: rowOf(text.split(' ')), text };
  if (!/^[-+!][A-Z]+$/.test(code)) return null;
  const pairs = {};
  let name;
  for (let end; at < text.length; at = end + 1) {
    end = text.indexOf(' ', at);
    if (end < 0) end = text.length;
    const word = text.slice(at, end);
    if (word === ':') break;
    const equals = word.indexOf('=');
    if (equals < 0) {
      if (at === code.length + 1) name = word;
      continue;
    }
    const key = word.slice(0, equals);
    if (Object.hasOwn(pairs, key)) return null;
    const value = word.slice(equals + 1);
    pairs[key] = NUMBERS.has(key) ? number(value) : value;
    if (pairs[key] === undefined) return null;
  }
  if (NAMED.has(code) && !name) return null;
  if (NEEDS[code]?.some((key) => !Object.hasOwn(pairs, key))) return null;
  if (pairs.token !== undefined && code[0] !== '-' && !isToken(pairs.token)) return null;
  return { tag, code, name, pairs, text };
}

const rowOf = (words) => Object.fromEntries(words.filter((one) => one.includes('=')).map((one) => {
  const equals = one.indexOf('=');
  return [one.slice(0, equals), one.slice(equals + 1)];
}));

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
  return list.map((one) => word('name', one, NAME_BYTES)).join(',');
}

/** A name as Lock.name says it (of several, with commas between them), or an array of names. */
const known = (name) => names(typeof name === 'string' ? name.split(',') : name);

function milliseconds(what, value, least) {
  if (value === Infinity && what === 'wait') return DURATION_MAX_MS;
  return allowed(Number.isSafeInteger(value) && value >= least && value <= DURATION_MAX_MS, what, value,
    `whole milliseconds, ${least} to ${DURATION_MAX_MS} (30 days)`);
}

function allowed(right, what, value, rule) {
  if (right) return value;
  throw new BadArgumentError(`${what} ${typeof value === 'string' ? JSON.stringify(value) : value} is not allowed: ${rule}`);
}

const KINDS = {
  duration: (name, value) => milliseconds(name, value, name === 'wait' ? 0 : 1),
  choice: (name, value, { words }) => allowed(words.includes(value), name, value, words.join(' or ')),
  count: (name, value, { most }) =>
    allowed(Number.isSafeInteger(value) && value >= 1 && value <= most, name, value, `a whole number, 1 to ${most}`),
  word: (name, value, { most }) => word(name, value, most),
  text: (name, value, { most }) => allowed(typeof value === 'string' && value.length <= most && /^[!#-~]+$/.test(value),
    name, value, `1 to ${most} visible ASCII characters without "`),
};

/** An option's value, checked as the table says. */
function option(name, value) {
  if (name === 'signal') return allowed(value instanceof AbortSignal, name, value, 'an AbortSignal');
  return KINDS[OPTIONS[name].kind](name, value, OPTIONS[name]);
}

/** The options that are given, checked. A misspelt option is refused: without its ttl the lock would be another. */
function options(given, known) {
  const checked = {};
  if (!given) return checked;
  for (const key of Object.keys(given)) {
    const value = given[key];
    if (value === undefined) continue;
    if (!known.includes(key)) throw new BadArgumentError(`there is no option ${key} here: ${known.join(', ')}`);
    checked[key] = option(key, value);
  }
  return checked;
}

/** A line of a verb, a name and the words; a word without a value, as {ttl: undefined}, is left out. */
function line(verb, name, words) {
  let text = `${verb} ${name}`;
  for (const key of Object.keys(words)) {
    const value = words[key];
    if (value !== undefined) text += ` ${key}=${typeof value === 'number' ? Math.ceil(value) : value}`;
  }
  return text;
}

module.exports = { parse, isToken, word, names, known, option, options, line };
