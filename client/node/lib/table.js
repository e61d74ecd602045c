'use strict';
// What a request may say, and the limits of a line. Written by `make stubs` from proto/stubs.def.
module.exports = {
  NAME_BYTES: 200,
  WORD_BYTES: 64,
  DATA_BYTES: 256,
  LINE_BYTES: 1024,
  SERVER_LINE_BYTES: 2048,
  SLOTS_MAX: 1024,
  DURATION_MAX_MS: 2592000000,
  OPTIONS: {
    ttl: { kind: 'duration', most: 0, words: [] },
    wait: { kind: 'duration', most: 0, words: [] },
    max: { kind: 'duration', most: 0, words: [] },
    keep: { kind: 'duration', most: 0, words: [] },
    timeout: { kind: 'duration', most: 0, words: [] },
    hold: { kind: 'choice', most: 0, words: ['session', 'lease'] },
    mode: { kind: 'choice', most: 0, words: ['exclusive', 'shared'] },
    slots: { kind: 'count', most: 1024, words: [] },
    note: { kind: 'word', most: 64, words: [] },
    client: { kind: 'word', most: 64, words: [] },
    data: { kind: 'text', most: 256, words: [] },
  },
};
