'use strict';
// who, show, watch, lead, keep and data, with real masters and daemons.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { once } = require('node:events');
const { Client, BusyError, BadArgumentError, CancelledError, ClosedError, LostError, ModeError, UnreachableError } =
  require('../index.js');
const { withWorld, until, program, sleep } = require('./world.js');

const { skip, world, connect } = withWorld('--set', 'max_keep=5s');

test('who has a lock, and what it tells', { skip }, async () => {
  const client = connect();
  assert.deepEqual(await client.who('asked'), []);
  const lock = await client.lock('asked', { data: '10.0.0.5:8080' });
  const [row] = await connect().who('asked');
  assert.equal(row.data, '10.0.0.5:8080');
  assert.equal(Number(row.fence), lock.fence);
  await lock.setData('10.0.0.5:9090');
  assert.equal((await client.who('asked'))[0].data, '10.0.0.5:9090');
  assert.ok((await client.show('locks')).some(({ name }) => name === 'asked'));
  assert.ok((await client.show('VERSION')).some((one) => one.redlockd));
  await assert.rejects(client.show('LOCKS\nQUIT'), BadArgumentError);
  await assert.rejects(client.who(['a', 'b']), BadArgumentError);
  await assert.rejects(lock.setData('two words'), BadArgumentError);
  const plain = await client.lock('plain');
  await assert.rejects(plain.setData('x'), ModeError);
});

test('a name is kept after its lock', { skip }, async () => {
  const [client, other] = [connect(), connect()];
  await (await client.lock('kept')).release({ keep: 500 });
  await assert.rejects(other.tryLock('kept'), BusyError);
  assert.equal((await other.who('kept'))[0].mode, 'kept');
  await (await other.lock('kept', { wait: 10_000 })).release();
  // redlockd would not keep it: it is given back all the same.
  const lock = await client.lock('kept-not');
  await assert.rejects(lock.release({ keep: 60_000 }), BadArgumentError);
  await (await other.lock('kept-not')).release();
  await assert.rejects(lock.release({ keep: 0 }), BadArgumentError);
});

test('using() keeps the name for what is left of atLeast', { skip }, async () => {
  const [client, other] = [connect(), connect()];
  const began = performance.now();
  assert.equal(await client.using('least', { atLeast: 800 }, async () => sleep(300, 'done')), 'done');
  await assert.rejects(other.tryLock('least'), BusyError);
  await (await other.lock('least', { wait: 10_000 })).release();
  assert.ok(performance.now() - began >= 750, `${performance.now() - began}`);
  await client.using('least', { atLeast: 50 }, () => sleep(100));
  await (await other.lock('least')).release();
  await assert.rejects(client.using('least', { atLeast: 5000 }, () => Promise.reject(new RangeError('mine'))), RangeError);
  await (await other.lock('least')).release();
});

test('a watcher is told of each change, also behind a restart of redlockd', { skip }, async () => {
  const [client, other] = [connect(), connect()];
  const states = [];
  const watching = client.watch('seen');
  const told = (async () => {
    for await (const state of watching) states.push(state);
  })();
  await until(() => states.length === 1, 'first state');
  assert.deepEqual(states[0], { state: 'free' });
  const lock = await other.lock('seen', { data: 'me', ttl: 9000 });
  await until(() => states.at(-1).state === 'held', 'holder');
  assert.equal(states.at(-1).data, 'me');
  assert.equal(states.at(-1).fence, lock.fence);
  const second = client.watch('seen');
  assert.deepEqual((await second.next()).value, states.at(-1));
  await second.return();
  const resumed = once(lock, 'resumed');
  await world.say('kill');
  await world.say('restart');
  await resumed;
  await until(() => states.at(-1).fence === lock.fence, 'new fence');
  await lock.release();
  await until(() => states.at(-1).state === 'free', 'release');
  const fences = states.filter(({ fence }) => fence).map(({ fence }) => fence);
  assert.deepEqual(fences, [...fences].sort((a, b) => a - b));
  await watching.return();
  await told;
  await until(async () => (await client.show('stats')).some((row) => row.watches === '0'), 'end of the watch');
  const last = client.watch('seen');
  await last.next();
  const waiting = last.next();
  client.close();
  await assert.rejects(waiting, ClosedError);
});

test('nobody listens there: a watcher hears of it', async () => {
  const client = new Client({ address: 'unix:/nowhere/at-all' });
  await assert.rejects(client.watch('x').next(), UnreachableError);
  await client.close();
});

test('one leads at a time, and the next one when it ends', { skip }, async () => {
  const running = new Set();
  let terms = 0;
  const work = (id) => async (signal, lock) => {
    assert.equal(running.size, 0);
    running.add(id);
    assert.ok(lock.valid() > 0);
    terms++;
    await sleep(30);
    running.delete(id);
    return id;
  };
  const ids = await Promise.all([1, 2, 3].map((id) => connect().lead('lead', work(id))));
  assert.deepEqual(ids, [1, 2, 3]);
  assert.equal(terms, 3);
});

test('a leader that loses its lock is told, and waits to lead again', { skip }, async () => {
  const client = connect();
  const reasons = [];
  const result = await client.lead('deposed', { data: 'host:1' }, async (signal, lock) => {
    if (reasons.length) return 'second term';
    assert.equal((await client.who('deposed'))[0].data, 'host:1');
    const lost = once(lock, 'lost');
    const aborted = once(signal, 'abort');
    await connect().attach('deposed', lock.token).release();
    await aborted;
    assert.ok((await lost)[0] instanceof LostError);
    reasons.push(signal.reason.reason);
    throw signal.reason;
  });
  assert.equal(result, 'second term');
  assert.deepEqual(reasons, ['released']);
});

test('an election goes on while redlockd is away, and ends by its signal', { skip }, async () => {
  const client = connect({ timeout: 200 });
  await client.show('version');
  await world.say('kill');
  const leading = client.lead('away', async () => 'led');
  await sleep(300);
  await world.say('restart');
  assert.equal(await leading, 'led');
  const holder = await client.lock('away');
  const controller = new AbortController();
  const waiting = connect().lead('away', { signal: controller.signal }, async () => 'never');
  await until(async () => (await client.show('waiters')).length, 'candidate');
  controller.abort();
  await assert.rejects(waiting, CancelledError);
  await holder.release();
  const ended = connect().lead('away', { signal: AbortSignal.timeout(300) }, (signal) => once(signal, 'abort').then(() => 'ended'));
  assert.equal(await ended, 'ended');
  await assert.rejects(client.lead('away', async () => Promise.reject(new RangeError('mine'))), RangeError);
  await (await client.lock('away')).release();
});

test('a process whose client has nothing to do ends', { skip }, async () => {
  const text = `const { Client } = require(${JSON.stringify(require.resolve('../index.js'))}); const c = new Client(); ` +
    "c.lock('idle').then((lock) => lock.release()).then(() => console.log('done'))";
  const { lines, ended } = program('-e', [text], { REDLOCK_ADDRESS: world.address });
  assert.equal(await Promise.race([ended, sleep(10_000, 'it hangs', { ref: false })]), 0);
  assert.deepEqual(lines, ['done']);
});

test('what JSON and the log say', { skip }, async () => {
  const said = [];
  const client = connect({ log: (text) => said.push(text) });
  const lock = await client.lock('json', { ttl: 9000 });
  assert.ok(!JSON.stringify([client, lock]).includes(lock.token));
  assert.equal(JSON.parse(JSON.stringify(lock)).name, 'json');
  assert.equal(JSON.parse(JSON.stringify(client)).locks[0].fence, lock.fence);
  const resumed = once(lock, 'resumed');
  await world.say('kill');
  await world.say('restart');
  await resumed;
  await connect().attach('json', lock.token).release();
  await until(() => said.some((text) => text.includes('json is lost: released')), 'line about the loss');
  assert.ok(said.some((text) => text.startsWith('redlockd: connected again')), said.join());
  assert.ok(said.some((text) => text.includes('json is resumed')), said.join());
});
