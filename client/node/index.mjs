// The same classes as require('redlockd') gives, so that instanceof holds in a program that uses both.
import redlockd from './index.js';

export const { Client, Lock, nameOf, partsOf } = redlockd;
export * from './lib/errors.mjs';
