'use strict';
// The README's programs and the examples run as they stand, with the files of the package.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { test, before, after } = require('node:test');
const { withWorld, until, program, sleep } = require('./world.js');

const { skip, world } = withWorld('--set', 'max_ttl=60s');
const HERE = path.join(__dirname, '..');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redlockd-docs-'));

before(() => {
  // As an installed package: with the files that package.json names, and nothing else.
  const target = path.join(folder, 'node_modules/redlockd');
  const { files } = require('../package.json');
  for (const file of ['package.json', 'README.md', ...files]) {
    fs.cpSync(path.join(HERE, file), path.join(target, file), { recursive: true });
  }
});
after(() => fs.rmSync(folder, { recursive: true }));

function run(file, ...args) {
  return program(file, args, { REDLOCK_ADDRESS: world.address });
}

function example(name) {
  const copy = path.join(folder, name);
  fs.copyFileSync(path.join(HERE, 'examples', name), copy);
  return copy;
}

test('the programs of the README', { skip }, async () => {
  const blocks = [...fs.readFileSync(path.join(HERE, 'README.md'), 'utf8').matchAll(/^```js\n([^]*?)^```$/gm)];
  assert.equal(blocks.length, 4);
  for (const [i, [, code]] of blocks.entries()) {
    const file = path.join(folder, `readme-${i}.${code.startsWith('import') ? 'mjs' : 'cjs'}`);
    fs.writeFileSync(file, code);
    const { lines, ended } = run(file);
    assert.equal(await ended, 0);
    if (i === 0) assert.match(lines.join(';'), /^page 1, fence \d+;page 2, fence \d+;page 3, fence \d+$/);
    else if (i === 1) assert.deepEqual(lines, ['true true']);
    else if (i === 2) assert.match(lines.join(';'), /^once a second.*;held 10\.0\.0\.5:8080;leads true \d+$/);
    else assert.match(lines.join(';'), /^book, with fence (\d+);report, with fence \1$/);
  }
});

test('every error of the README is there, and every error is in the README', () => {
  const text = fs.readFileSync(path.join(HERE, 'README.md'), 'utf8');
  const types = ['index.d.ts', 'lib/errors.d.ts'].map((file) => fs.readFileSync(path.join(HERE, file), 'utf8')).join('');
  for (const [name, type] of Object.entries(require('../index.js'))) {
    assert.ok(text.includes(name), name);
    const kind = type.prototype ? 'class' : 'function';
    assert.ok(types.includes(`export ${kind} ${name}${kind === 'class' ? ' ' : '('}`), name);
    if (type.prototype?.code) assert.ok(text.includes(`\`${type.prototype.code}\``), name);
  }
});

test('an order is placed once', { skip }, async () => {
  const order = example('order.mjs');
  const placed = [];
  const supplier = http.createServer((request, response) => {
    request.on('data', (data) => placed.push(JSON.parse(data))).on('end', () => response.writeHead(200).end());
  });
  await new Promise((resolve) => supplier.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${supplier.address().port}/orders`;
  const statuses = await Promise.all(['4711', '4711', '4711'].map((number) => run(order, url, number, 'two lamps').ended));
  assert.deepEqual(statuses.sort(), [0, 3, 3]);
  assert.equal(placed.length, 1);
  supplier.close();
  supplier.closeAllConnections();
  assert.equal(await run(order, url, '4712', 'a lamp').ended, 1, 'nobody there: surely not placed');
  assert.equal(await run(order, url, '4712', 'a lamp').ended, 1, 'so it may be tried again');
});

test('one builds, the others wait', { skip }, async () => {
  const cache = example('cache.mjs');
  const [file, count] = [path.join(folder, 'entry'), path.join(folder, 'count')];
  const runs = [1, 2, 3, 4].map(() => run(cache, file, '60', `echo x >>${count}; sleep 0.3; date +%N`));
  for (const { ended } of runs) assert.equal(await ended, 0);
  assert.equal(new Set(runs.map(({ lines }) => lines.join())).size, 1);
  assert.equal(fs.readFileSync(count, 'utf8'), 'x\n');
});

test('a paused writer is refused', { skip }, async () => {
  const writer = example('writer.mjs');
  const file = path.join(folder, 'motd');
  const first = run(writer, file, '1000');
  await until(() => first.lines.length, 'first writer');
  first.child.kill('SIGSTOP');
  const second = run(writer, file);
  await until(() => second.lines.length, 'second writer');
  second.child.stdin.write('second\n');
  assert.equal(await second.ended, 0);
  first.child.kill('SIGCONT');
  first.child.stdin.write('first\n');
  assert.equal(await first.ended, 3);
  assert.equal(JSON.parse(fs.readFileSync(file, 'utf8')).text, 'second');
  await sleep(0);
});
