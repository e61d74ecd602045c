'use strict';
// Tests that need no daemon: lines, clocks, addresses, secrets, TLS.
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { test, after } = require('node:test');
const tls = require('node:tls');
const { Client, nameOf, partsOf, RedlockdError, BadArgumentError, UnreachableError, UsageError, CancelledError } = require('../index.js');
const { parse } = require('../lib/line.js');
const { Sample, bootFloor, bootCeil } = require('../lib/clock.js');
const { parseAddress, show } = require('../lib/address.js');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redlockd-node-'));
after(() => fs.rmSync(folder, { recursive: true }));
const TOKEN = '0123456789abcdef0123456789abcdef01234567';

test('answers are read, and what no redlockd says is not', () => {
  const locked = parse(`#7 +LOCKED job token=${TOKEN} fence=17 valid=9 until=10 new=1 : text a=b a=c`);
  assert.equal(locked.tag, '7');
  assert.equal(locked.name, 'job');
  assert.equal(locked.pairs.fence, 17);
  assert.equal(parse('-BUSY job retry=5').pairs.retry, 5);
  assert.equal(parse('!DRAIN').code, '!DRAIN');
  for (const wrong of ['', 'HTTP/1.1 400', '#7', `+LOCKED job token=${TOKEN} fence=17`, '+HELLO proto=1 now=x', '+HELD',
    `+LOCKED job token=${TOKEN} token=${TOKEN} fence=1 until=1`, `+LOCKED job token=x fence=1 until=1`, '-BUSY \u00e9',
    `+LOCKED job token=${TOKEN} fence=99999999999999999 until=1`]) {
    assert.equal(parse(wrong), null, wrong);
  }
});

test('addresses', () => {
  const shown = { 'unix:/a b': 'unix:/a b', '/x': 'unix:/x', 'h:1': 'h:1', h: 'h:7335', '[::1]:9': '[::1]:9', '::1': '[::1]:7335',
    'tls://h': 'tls://h:7336', 'tls://[::1]:1': 'tls://[::1]:1' };
  for (const [text, want] of Object.entries(shown)) assert.equal(show(parseAddress(text)), want);
  for (const wrong of ['', 'unix:x', 'h:0', 'h:65536', 'h:x', '[::1', 'a/b', 'http://h', 7]) {
    assert.throws(() => parseAddress(wrong), BadArgumentError, String(wrong));
  }
});

test('the boot clock', () => {
  assert.ok(bootFloor() < bootCeil());
  if (process.platform !== 'linux') return;
  const before = bootFloor();
  const uptime = Number(fs.readFileSync('/proc/uptime', 'latin1').split(' ')[0]) * 1000;
  assert.ok(before <= uptime + 1 && uptime <= bootCeil());
});

test('a deadline is never later than the daemon means it', () => {
  assert.equal(new Sample(1000, 1005, 1020, true).deadline(9000), 9000, 'one clock');
  assert.equal(new Sample(1000, 1005, 1020, false).deadline(11_005), 1000 + 10_000 - 10 - 1, 'over TCP it is another');
  assert.equal(new Sample(1000, 1005, 1500, true).same, false, 'a slow answer proves nothing');
  const other = new Sample(1000, 500_000, 1010, true);
  assert.equal(other.deadline(510_000), 1000 + 10_000 - 10 - 1);
  assert.equal(other.deadline(400_000), 999);
  assert.equal(other.newer(new Sample(2000, 501_100, 2300, false)), other, 'a slower one that fits says nothing new');
  const slept = new Sample(2000, 600_000, 2010, false);
  assert.equal(other.newer(slept), slept);
});

test('what is not allowed is refused before anything is sent', async () => {
  const client = new Client({ address: 'unix:/nowhere' });
  const wrong = [['a b'], [''], [[]], ['job', { ttl: 0 }], ['job', { ttl: 1.5 }], ['job', { ttl: '10s' }], ['job', { Ttl: 5 }],
    ['job', { hold: 'x' }], ['job', { wait: -1 }], ['job', { slots: 0 }], ['job', { signal: {} }], [undefined],
    ['x'.repeat(201)]];
  for (const args of wrong) await assert.rejects(client.lock(...args), BadArgumentError, JSON.stringify(args));
  await assert.rejects(client.resume('job', 'no token'), BadArgumentError);
  assert.throws(() => client.attach('job\nQUIT', TOKEN), BadArgumentError);
  assert.equal(client.attach('a,b', TOKEN).name, 'a,b');
  assert.throws(() => new Client({ adress: 'x' }), BadArgumentError);
  for (const wrong of ['127.0.0.1:7335', null]) {
    assert.throws(() => new Client(wrong), (error) => error instanceof BadArgumentError && /takes an object/.test(error.message));
  }
  assert.throws(() => new Client({ client: 'a\nQUIT' }), BadArgumentError);
  const aborted = client.lock('job', { signal: AbortSignal.abort(new Error('why')) });
  await assert.rejects(aborted, (error) => error instanceof CancelledError && error.cause.message === 'why');
  await client.close();
});

test('nobody there: says how to start one', async () => {
  const client = new Client({ address: `unix:${folder}/nobody` });
  await assert.rejects(client.lock('job'), (error) => error instanceof UnreachableError && error instanceof RedlockdError &&
    /redlockd --dev/.test(error.message) && error.code === 'UNREACHABLE');
  await client.close();
});

test('a secret goes to no other host in the clear', async () => {
  for (const options of [{ address: '192.0.2.1', user: 'me', secret: 's' }, { address: '127.0.0.1', user: 'me' },
    { address: '127.0.0.1', user: 'me', secret: 'two words' }]) {
    const client = new Client(options);
    await assert.rejects(client.lock('job'), UsageError);
    await client.close();
  }
});

test('import and require give the same classes', async () => {
  const esm = await import('../index.mjs');
  const cjs = require('../index.js');
  for (const [name, value] of Object.entries(cjs)) assert.equal(esm[name], value, name);
});

/** A redlockd of a few lines, on any kind of server. */
function fake(server) {
  const heard = [];
  server.on('tlsClientError', () => {});
  server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket) => {
    socket.on('error', () => {}).on('data', (data) => {
      for (const [, tag, line] of data.toString().matchAll(/^(#\S+) (.*)$/gm)) {
        heard.push(line);
        const [verb, name] = line.split(' ');
        const now = Math.floor(os.uptime() * 1000);
        const answers = { AUTH: '+OK', HELLO: `+HELLO proto=1 server=x session=1 now=${now} behind=0`, QUIT: '+BYE',
          LOCK: `+LOCKED ${name} token=${TOKEN} fence=17 valid=9000 until=${now + 9000}`, UNLOCK: `+UNLOCKED ${name}` };
        socket.write(`${tag} ${answers[verb]}\n`);
      }
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({ port: server.address().port, heard })));
}

function certificate(name) {
  const [cert, key] = [path.join(folder, `${name}.pem`), path.join(folder, `${name}.key`)];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { cert, key };
}

let openssl = true;
try {
  execFileSync('openssl', ['version'], { stdio: 'ignore' });
} catch {
  openssl = false;
}

test('TLS: the server’s name and authority are checked, then AUTH comes first', { skip: !openssl && 'no openssl' }, async () => {
  const [good, wrong] = [certificate('localhost'), certificate('elsewhere')];
  const read = ({ cert, key }) => ({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
  const servers = [tls.createServer(read(good)), tls.createServer(read(wrong))];
  const [right, other] = await Promise.all(servers.map(fake));
  const attempt = async (port, ca) => {
    const client = new Client({ address: `tls://localhost:${port}`, ca, user: 'me', secret: 'open-sesame' });
    try {
      await (await client.lock('job')).release();
    } finally {
      await client.close();
    }
  };
  await attempt(right.port, good.cert);
  assert.deepEqual(right.heard.slice(0, 2), ['AUTH me open-sesame', 'HELLO 1 events=renewed']);
  await assert.rejects(attempt(right.port, undefined), UnreachableError);
  await assert.rejects(attempt(other.port, wrong.cert), /altnames/);
  await assert.rejects(attempt(right.port, `${folder}/none`), UsageError);
  assert.deepEqual(other.heard, []);
  servers.forEach((server) => server.close());
});

test('a secret goes to a loopback address that was given', async () => {
  const server = net.createServer();
  const { port, heard } = await fake(server);
  const client = new Client({ address: `localhost:${port}`, user: 'me', secret: 's' });
  assert.equal((await client.lock('job')).fence, 17);
  await client.close();
  assert.equal(heard[0], 'AUTH me s');
  server.close();
});

test('a name may be built from anything', () => {
  const names = {
    'order:17': ['order', 17], 'file:a%20b%3Ac': ['file', 'a b:c'], '%231:%3D%22%2C%25': ['#1', '=",%'],
    '%C3%A9%0A': ['\u00e9\n'], 'order:': ['order', ''],
  };
  for (const [name, parts] of Object.entries(names)) {
    assert.equal(nameOf(...parts), name);
    assert.deepEqual(partsOf(name), parts.map(String));
  }
  for (const parts of [[], [''], ['', 'x'], ['x'.repeat(201)]]) assert.throws(() => nameOf(...parts), BadArgumentError);
});
