'use strict';
// Names that are built from what users have typed.
const { word } = require('./line.js');

const hex = (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;

function encode(part) {
  let text = '';
  for (const byte of Buffer.from(String(part), 'utf8')) {
    const one = String.fromCharCode(byte);
    text += byte > 0x20 && byte < 0x7f && !'%:#,"='.includes(one) ? one : hex(byte);
  }
  return text;
}

const nameOf = (...parts) => word('name', parts.map(encode).join(':'), 200);

const partsOf = (name) => name.split(':').map(decodeURIComponent);

module.exports = { nameOf, partsOf };
