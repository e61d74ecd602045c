'use strict';
// The lines of the protocol: what may be written into one, and what can be read from one.
const { BadArgumentError } = require('./errors.js');
const { OPTIONS, NAME_BYTES, DURATION_MAX_MS } = require('./table.js');

const NUMBERS = new Set(['fence', 'valid', 'until', 'now', 'behind', 'proto', 'retry', 'slot']);
const NEEDS = {
  '+LOCKED': ['name', 'token', 'fence', 'until'],
  '+UNLOCKED': ['name'],
  '+KEPT': ['name'],
  '+EXTENDED': ['name', 'until'],
  '+HELD': ['name', 'until'],
  '+DATA': ['name'],
  '+HELLO': ['proto', 'now'],
  '+WATCHING': ['name', 'state'],
  '!NOW': ['name', 'state'],
  '!RENEWED': ['name', 'token', 'until'],
  '!EXPIRING': ['name', 'token'],
  '!LOST': ['name', 'token'],
};
const HEAD = /^(#([\w.-]{1,16}) +)?([-+!][A-Z]+|\*)(?: |$)/;

/** {tag, code, name, pairs, text}, or null for what no redlockd says. text is the line without its tag. In a row, whose
 * code is *, all values stay texts. */
function parse(line) {
  const head = HEAD.exec(line);
  if (!head || /[^\x20-\x7e]/.test(line)) return null;
  const [{ length: begin }, front = '', tag, code] = head;
  const row = code === '*';
  const pairs = {};
  let name;
  for (let at = begin, end; at < line.length; at = end + 1) {
    end = line.indexOf(' ', at);
    if (end < 0) end = line.length;
    const equals = line.indexOf('=', at);
    if (equals < 0 || equals > end) {
      const word = line.slice(at, end);
      if (word === ':' && !row) break;
      if (at === begin) name = word;
      continue;
    }
    const key = line.slice(at, equals);
    const value = line.slice(equals + 1, end);
    if (Object.hasOwn(pairs, key) && !row) return null;
    pairs[key] = NUMBERS.has(key) && !row ? number(value) : value;
    if (pairs[key] === undefined) return null;
  }
  if (NEEDS[code]?.some((key) => (key === 'name' ? !name : pairs[key] === undefined))) return null;
  if (pairs.token !== undefined && code[0] !== '-' && !row && !isToken(pairs.token)) return null;
  return { tag, code, name, pairs, text: line.slice(front.length) };
}

/** Of digits; else undefined. It is asked for with each answer. */
function number(text) {
  let value = text === '' ? NaN : 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : NaN;
  }
  return value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

const isToken = (text) => typeof text === 'string' && /^[0-9a-f]{40}$/i.test(text);

function word(what, text, most) {
  if (typeof text === 'string' && text.length <= most && /^(?![#:])[!#-+\--<>-~]+$/.test(text)) return text;
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
