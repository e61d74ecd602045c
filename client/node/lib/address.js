'use strict';
// Addresses of redlockd, connecting to them, and where a secret may be sent.
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { UnreachableError, UsageError, BadArgumentError } = require('./errors.js');

const DEFAULTS = [{ path: '/run/redlockd/redlockd.sock' }, { host: '127.0.0.1', port: 7335 }];
const HELP = 'is redlockd running? "systemctl start redlockd" starts it, "redlockd --dev" one to try; ' +
  'REDLOCK_ADDRESS says where it is';

function parseAddress(text) {
  const wrong = new BadArgumentError(`the address ${JSON.stringify(text)} is not understood: write unix:/path, ` +
    'host:port, [::1]:port or tls://host:port');
  if (typeof text !== 'string') throw wrong;
  const path = /^(?:unix:)?(\/.*)$/.exec(text);
  if (path) return { path: path[1] };
  const secure = text.startsWith('tls://');
  const parts = /^(?:\[([^\]\s]+)\]|([^:\s/[\]]+)|([^\s/[\]]*:[^\s/[\]]*:[^\s/[\]]*))(?::(\d{1,5}))?$/
    .exec(secure ? text.slice(6) : text);
  const port = Number(parts?.[4] ?? (secure ? 7336 : 7335));
  if (!parts || port < 1 || port > 65535) throw wrong;
  return { host: parts[1] ?? parts[2] ?? parts[3], port, secure };
}

const show = ({ path, host, port, secure }) =>
  path ? `unix:${path}` : `${secure ? 'tls://' : ''}${host.includes(':') ? `[${host}]` : host}:${port}`;

const isLoopback = (host) => host === 'localhost' || host === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(host ?? '');

/** The way of a Client to its daemon. Files are read at each connecting, so that they may be replaced. */
class Way {
  #options;
  #address;
  #user;
  #secretFile;

  constructor(options, env = process.env) {
    this.#options = options;
    const text = options.address ?? (env.REDLOCK_ADDRESS || undefined);
    this.#address = text === undefined ? undefined : parseAddress(text);
    this.#user = options.user ?? env.REDLOCK_USER;
    this.#secretFile = options.secretFile ?? env.REDLOCK_SECRET_FILE;
    this.#options = { ...options, ca: options.ca ?? env.REDLOCK_CA, cert: options.cert ?? env.REDLOCK_CERT,
      key: options.key ?? env.REDLOCK_KEY };
  }

  toString() {
    return (this.#address ? [this.#address] : DEFAULTS).map(show).join(' or ');
  }

  get #hasSecret() {
    return Boolean(this.#user || this.#secretFile || this.#options.secret);
  }

  /** "user secret", or undefined. */
  #credentials() {
    if (!this.#hasSecret) return undefined;
    let secret = this.#options.secret;
    try {
      secret ??= fs.readFileSync(this.#secretFile ?? '', 'latin1').replace(/\r?\n[^]*$/, '');
    } catch (cause) {
      throw new UsageError(`the secret cannot be read from REDLOCK_SECRET_FILE: ${cause.message}`, { cause });
    }
    if (!/^[\x21-\x7e]{1,400}$/.test(this.#user ?? '') || !/^[\x21-\x7e]{1,400}$/.test(secret)) {
      throw new UsageError('a user and a secret belong together, each 1 to 400 visible ASCII characters');
    }
    return `${this.#user} ${secret}`;
  }

  /** Tries the address that was given, and nothing else. Without an address it tries the usual places; with a secret,
   * only the usual socket. onread: as of net.Socket(). onSocket(socket) is told of each. */
  async dial(onread, onSocket) {
    const credentials = this.#credentials();
    const places = this.#address ? [this.#address] : credentials ? DEFAULTS.slice(0, 1) : DEFAULTS;
    const [first] = places;
    if (credentials && !first.path && !first.secure && !isLoopback(first.host)) {
      throw new UsageError(`the secret is not sent to ${show(first)} in the clear: use tls://${first.host}:7336`);
    }
    const tried = [];
    for (const place of places) {
      try {
        const socket = await this.#open(place, onread, onSocket);
        if (credentials && !place.path && !place.secure && !isLoopback(socket.remoteAddress)) {
          socket.destroy();
          throw new UsageError(`the secret is not sent to ${socket.remoteAddress} in the clear`);
        }
        return { socket, credentials, local: Boolean(place.path), address: show(place) };
      } catch (cause) {
        if (cause instanceof UsageError) throw cause;
        const causes = cause.errors ?? [cause];
        tried.push(`${show(place)} (${causes.map((one) => one.message).join(', ')})`);
        const nobody = causes.every((one) => one.code === 'ENOENT' || one.code === 'ECONNREFUSED');
        if (nobody && place !== places.at(-1)) continue;
        throw new UnreachableError(`cannot connect to ${tried.join(' or ')}; ${HELP}`, { cause });
      }
    }
  }

  #files() {
    const read = ([key, file]) => [key, file === undefined ? undefined : fs.readFileSync(file)];
    const { ca, cert, key } = this.#options;
    try {
      return Object.fromEntries(Object.entries({ ca, cert, key }).map(read));
    } catch (cause) {
      throw new UsageError(`a file for TLS cannot be read: ${cause.message}`, { cause });
    }
  }

  #open(place, onread, onSocket) {
    const { path, host, port, secure } = place;
    const { ca, cert, key } = secure ? this.#files() : {};
    return new Promise((resolve, reject) => {
      const socket = secure
        ? tls.connect({ host, port, servername: net.isIP(host) ? '' : host, autoSelectFamily: true,
          rejectUnauthorized: true, ca, cert, key, onread })
        : net.connect(path ? { path, onread } : { host, port, noDelay: true, autoSelectFamily: true, onread });
      onSocket(socket);
      socket.once(secure ? 'secureConnect' : 'connect', () => resolve(socket));
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('the connection ended')));
    });
  }
}

module.exports = { Way, parseAddress, show, isLoopback };
