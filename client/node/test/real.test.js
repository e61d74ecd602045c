'use strict';
// Tests against real masters and the real daemon.
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const { once } = require('node:events');
const { inspect } = require('node:util');
const { AuthError, BadArgumentError, BusyError, LockTimeoutError, LostError, ModeError, NotHeldError, UnsupportedError, ClosedError } =
  require('../index.js');
const { withWorld, until, program, sleep } = require('./world.js');

const { skip, world, connect } = withWorld('--set', 'max_ttl=20s');
const CYCLES = Number(process.env.STUB_CYCLES ?? 500);

test('a lock excludes, and is given back', { skip }, async () => {
  const [one, two] = [connect(), connect({ address: world.tcp })];
  const lock = await one.lock('job', { ttl: 5000 });
  assert.ok(lock.valid() > 3000 && lock.valid() <= 5000, `${lock.valid()}`);
  assert.match(lock.token, /^[0-9a-f]{40}$/);
  assert.match(inspect(lock), /^Lock { job, held, valid \d+ ms, fence \d+ }$/);
  await assert.rejects(one.using('other', { ttl: 5000 }), BadArgumentError);
  assert.equal(await world.keys(), 3);
  await assert.rejects(two.tryLock('job'), BusyError);
  await assert.rejects(two.lock('job', { wait: 50 }), LockTimeoutError);
  await lock.release();
  assert.equal(lock.valid(), 0);
  await lock.release();
  const next = await two.lock('job', { wait: 1000 });
  assert.ok(next.fence > lock.fence);
  assert.ok((await next.extend(8000)) > 6000);
  assert.ok((await next.check()) > 6000);
  await next[Symbol.asyncDispose]();
  assert.equal(await world.keys(), 0);
});

test('kill -9 and restart of the daemon under a holder: the lock goes on', { skip }, async () => {
  const client = connect();
  const lock = await client.lock('job', { ttl: 10_000 });
  const { fence, token } = lock;
  const resumed = once(lock, 'resumed');
  await world.say('kill');
  assert.ok(lock.valid() > 0);
  await world.say('restart');
  await resumed;
  assert.ok(lock.fence > fence);
  assert.notEqual(lock.token, token);
  assert.ok(!lock.signal.aborted);
  await assert.rejects(connect().tryLock('job'), BusyError);
  await lock.release();
});

test('every kind of lock goes on after kill -9 and restart', { skip }, async () => {
  const client = connect();
  const kinds = [['reader', { mode: 'shared' }], ['writer', {}], ['place', { slots: 2 }], [['one', 'two'], {}]];
  const locks = await Promise.all(kinds.map(([name, options]) => client.lock(name, { ttl: 10_000, ...options })));
  await locks[1].downgrade();
  const slots = locks.map(({ slot }) => slot);
  const resumed = locks.map((lock) => once(lock, 'resumed'));
  await world.say('kill');
  await world.say('restart');
  await Promise.all(resumed);
  for (const lock of locks) assert.ok((await lock.check()) > 0);
  assert.deepEqual(locks.map(({ slot }) => slot), slots);
  for (const name of ['reader', 'writer', 'two']) await assert.rejects(connect().tryLock(name), BusyError);
  await connect().lock('writer', { mode: 'shared', wait: 10_000 });
  for (const lock of locks) await lock.release();
});

test('SIGTERM and restart: a lock is resumed on the next daemon, a wait goes on', { skip }, async () => {
  const client = connect();
  const lock = await client.lock('job', { ttl: 10_000 });
  const waiting = connect().lock('job', { wait: 30_000 });
  const resumed = once(lock, 'resumed');
  await world.say('term');
  await world.say('restart');
  await resumed;
  assert.ok(!lock.signal.aborted);
  await lock.release();
  assert.ok((await waiting).fence > lock.fence);
});

test('a program that was stopped beyond its TTL notices before it writes', { skip }, async () => {
  const { child, lines, ended } = program(path.join(__dirname, 'stopped.js'), [], { REDLOCK_ADDRESS: world.address });
  await until(() => lines.length > 3, 'write');
  child.kill('SIGSTOP');
  const next = await connect().lock('stopped', { wait: 10_000 });
  const taken = Date.now();
  child.kill('SIGCONT');
  assert.equal(await ended, 0, lines.slice(-3).join());
  const late = lines.filter((line) => line.startsWith('write') && Number(line.split(' ')[1]) >= taken);
  assert.deepEqual(late, [], `taken at ${taken}`);
  assert.ok(lines.includes('stop LOST'), lines.slice(-3).join());
  await next.release();
});

test('a cancelled wait leaves no key on any master', { skip }, async () => {
  const client = connect();
  const held = await client.lock('job');
  const waits = Array.from({ length: 20 }, (_, i) =>
    client.lock('job', { wait: 30_000, signal: AbortSignal.timeout(20 + i) }));
  for (const one of await Promise.allSettled(waits)) {
    assert.equal(one.reason.name, 'AbortError');
    assert.equal(one.reason.cause.name, 'TimeoutError');
  }
  // These requests are aborted at about the moment of their grant.
  await held.release();
  for (let i = 0; i < 30; i++) {
    const controller = new AbortController();
    const taking = client.lock(`fast-${i}`, { signal: controller.signal });
    setTimeout(() => controller.abort(), i % 5);
    await taking.then((lock) => lock.release(), (error) => assert.equal(error.code, 'CANCELLED'));
  }
  await until(async () => (await world.keys()) === 0, 'end of the keys', 1000);
});

test('two hundred tasks on one name: a counter loses nothing', { skip }, async () => {
  const client = connect();
  let [counter, fence] = [0, 0];
  await Promise.all(Array.from({ length: 200 }, () => client.using('counter', { wait: 60_000 }, async (signal, lock) => {
    const read = counter;
    assert.ok(lock.fence > fence);
    fence = lock.fence;
    await sleep(0);
    counter = read + 1;
  })));
  assert.equal(counter, 200);
});

test(`${CYCLES} cycles without a leak`, { skip }, async () => {
  require('node:v8').setFlagsFromString('--expose-gc');
  const collect = require('node:vm').runInNewContext('gc');
  const client = connect();
  const cycles = async (number) => {
    for (let i = 0; i < number; i += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, k) => client.using(`cycle-${k}`, { ttl: 5000 }, (signal) => signal)));
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  // Code that V8 compiles meanwhile stays as well, but not in each of three rounds as a leak does.
  const round = Math.ceil(CYCLES / 60) * 20;
  let before = await cycles(500), least = Infinity;
  for (let i = 0; i < 3; i++) {
    const after = await cycles(round);
    least = Math.min(least, after - before);
    before = after;
  }
  assert.ok(least < 20_000 + round * 20, `${least} bytes more in each round of ${round} cycles`);
});

test('a listener that throws is the program’s own affair: its other locks and its client go on', { skip }, async () => {
  const { lines, ended } = program(path.join(__dirname, 'throws.js'), [], { REDLOCK_ADDRESS: world.address });
  assert.equal(await ended, 0);
  assert.deepEqual(lines, ['uncaught: of the signal', 'uncaught: of expiring', 'told all the same', 'went on']);
  assert.equal(await world.keys(), 0);
});

test('using(): the program’s own error is never hidden, a loss is told', { skip }, async () => {
  const [client, other] = [connect(), connect()];
  const own = new Error('own');
  const steal = async (lock) => {
    const aborted = once(lock.signal, 'abort');
    await other.attach(lock.name, lock.token).release();
    await aborted;
  };
  await assert.rejects(client.using('job', async (_, lock) => {
    await steal(lock);
    throw own;
  }), own);
  await assert.rejects(client.using('job', (_, lock) => steal(lock)), { code: 'LOST', reason: 'released' });
  assert.equal(await client.using('job', () => 42), 42);
  const lock = await client.lock('job');
  await steal(lock);
  assert.ok(lock.signal.reason instanceof LostError);
  assert.throws(() => lock.assertHeld(), LostError);
  await assert.rejects(lock.release(), LostError);
  await lock.release();
});

test('a lease is handed on by its token', { skip }, async () => {
  const [one, two] = [connect(), connect()];
  const lease = await one.lock('lease', { hold: 'lease', ttl: 5000 });
  await one.close();
  assert.equal(lease.signal.reason.code, 'CLOSED');
  const same = two.attach('lease', lease.token);
  assert.equal(same.valid(), 0);
  assert.ok((await same.check()) > 3000);
  const session = await two.resume('lease', lease.token, { ttl: 3000 });
  assert.ok(session.fence > lease.fence);
  await assert.rejects(same.check(), NotHeldError);
  await session.release();
});

test('re-entry is asked for, by task', { skip }, async () => {
  const client = connect();
  await client.using('job', { reentrant: true }, async (_, outer) => {
    await client.using('job', { reentrant: true }, (_, inner) => assert.equal(inner, outer));
    assert.ok(outer.valid() > 0);
    await assert.rejects(client.using('job', { wait: 0 }, () => {}), BusyError);
  });
  const reader = { reentrant: true, mode: 'shared' };
  await client.using('job', reader, async (_, outer) => {
    await client.using('job', reader, (__, inner) => assert.equal(inner, outer));
    await assert.rejects(client.using('job', { reentrant: true }, () => {}), ModeError);
  });
  const entered = (hold) => client.using('job', { reentrant: true, wait: 0 }, () => hold);
  const [a, b] = await Promise.allSettled([entered(sleep(100)), entered(sleep(100))]);
  assert.equal([a, b].filter(({ status }) => status === 'fulfilled').length, 1, 'another task is another');
  assert.equal(await world.keys(), 0);
});

test('a writer becomes a reader: readers are let in, writers are not', { skip }, async () => {
  const [one, two] = [connect(), connect()];
  const lock = await one.lock('down');
  const { fence, token } = lock;
  const reading = two.lock('down', { mode: 'shared', wait: 30_000 });
  assert.ok((await lock.downgrade()) > 0);
  const reader = await reading;
  assert.equal(lock.fence, fence);
  assert.notEqual(lock.token, token);
  await lock.downgrade(); // changes nothing, so that one release is enough
  for (const held of [lock, reader]) {
    await assert.rejects(two.tryLock('down'), BusyError);
    await held.release();
  }
  await (await two.lock('down', { wait: 10_000 })).release();
  await assert.rejects(lock.downgrade(), NotHeldError);
});

test('what was entered twice is not downgraded, and a reader does not enter as a writer', { skip }, async () => {
  const client = connect();
  const reads = (wait = 0) => connect().using('down-twice', { mode: 'shared', wait }, () => 'read');
  const entering = (body) => client.using('down-twice', { reentrant: true }, body);
  await entering(async (_, lock) => {
    await entering(async () => {
      await assert.rejects(lock.downgrade(), ModeError);
      await assert.rejects(reads(), BusyError);
    });
    await lock.downgrade();
    assert.equal(await reads(10_000), 'read');
    await assert.rejects(entering(() => {}), ModeError);
    await client.using('down-twice', { reentrant: true, mode: 'shared' }, (_, same) => assert.equal(same, lock));
  });
  await entering(() => assert.rejects(reads(), BusyError)); // taken anew, it is a writer's
});

test('only a session lock of one name is downgraded', { skip }, async () => {
  const client = connect();
  for (const [name, options] of [['down-lease', { hold: 'lease' }], ['down-slot', { slots: 2 }], [['a', 'b'], {}]]) {
    const lock = await client.lock(name, options);
    await assert.rejects(lock.downgrade(), BadArgumentError);
    assert.ok((await lock.check()) > 0);
    await lock.release();
  }
});

test('a secret where there are no users is an error of its own', { skip }, async () => {
  await assert.rejects(connect({ user: 'me', secret: 'xyz' }).lock('job'), (error) =>
    error instanceof UnsupportedError || error instanceof AuthError);
});

test('a lock ends with the process; unref() lets it end', { skip }, async () => {
  const code = `const { Client } = require(${JSON.stringify(path.join(__dirname, '..'))});
    const keep = setInterval(() => {}, 1000);
    new Client().unref().lock('job', { ttl: 15000 }).then(() => clearInterval(keep, console.log('held')));`;
  const { lines, ended } = program('-e', [code], { REDLOCK_ADDRESS: world.address });
  assert.equal(await ended, 0);
  assert.deepEqual(lines, ['held']);
  const client = connect();
  await (await client.lock('job', { wait: 2000 })).release();
});

test('a program that is started inherits no connection', { skip }, async () => {
  const sockets = () => execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'inherit'] })
    .toString().split('socket:').length;
  const before = sockets();
  await connect().using('job', { wait: 2000 }, () => assert.equal(sockets(), before));
});

test('close() ends waits and locks', { skip }, async () => {
  const client = connect();
  const lock = await client.lock('job');
  const waiting = client.lock('job', { wait: 5000 });
  const ended = assert.rejects(waiting, ClosedError);
  await client.close();
  await ended;
  assert.ok(lock.signal.reason instanceof ClosedError);
  await assert.rejects(client.lock('job'), ClosedError);
  await until(async () => (await world.keys()) === 0, 'end of the keys', 2000);
});
