'use strict';
const { refusal, ...errors } = require('./lib/errors.js');
const { Client } = require('./lib/client.js');
const { Lock } = require('./lib/lock.js');

module.exports = { Client, Lock, ...errors };
