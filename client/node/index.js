'use strict';
const { refusal, ...errors } = require('./lib/errors.js');
const { Client } = require('./lib/client.js');
const { Lock } = require('./lib/lock.js');
const { nameOf, partsOf } = require('./lib/names.js');

module.exports = { Client, Lock, nameOf, partsOf, ...errors };
