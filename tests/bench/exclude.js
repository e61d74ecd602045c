// Clients of another Redlock library beside ours, on the same names: no two of them may hold a name together, but for
// our readers among themselves. All clients live in this process, so that one table knows every holder:
//     node exclude.js <milliseconds> <unix socket of redlockd> <key prefix> <unix socket of a master>...
// ends with 1 if two held a name together, or if a kind of client never got a lock. NODE_PATH names npm's folder.
'use strict';

const net = require('node:net');
const Redis = require('ioredis');
const Redlock = require('redlock');

const [runText, socket, prefix, ...masters] = process.argv.slice(2);
const NAMES = ['pair', 'stock', 'report'];
const WORKERS = 3; // of each kind
const TTL_MS = 300, HELD_MS = 15, LEFT_BEHIND = 0.1; // some are never given back, so that they must end by themselves
const end = Date.now() + Number(runText);

const holders = new Map(NAMES.map((name) => [name, new Set()]));
const grants = { other: 0, exclusive: 0, shared: 0 };
let overlaps = 0;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const any = (list) => list[Math.floor(Math.random() * list.length)];

// A holder believes from the moment that it reads its answer until it gives back, or until what it was told is over.
function holds(name, kind, until) {
    const now = performance.now();
    for (const holder of holders.get(name)) {
        if (holder.until <= now) holders.get(name).delete(holder);
        else if (now < until && (kind !== 'shared' || holder.kind !== 'shared')) {
            overlaps++;
            const left = (holder.until - now).toFixed(1);
            console.log(`overlap: ${kind} got ${name}, which ${holder.kind} has for ${left} ms`);
        }
    }
    const holder = { kind, until };
    holders.get(name).add(holder);
    grants[kind]++;
    return holder;
}

async function turn(kind, lock) {
    const name = any(NAMES);
    const lease = await lock(name);
    if (lease === null) return;
    const holder = holds(name, kind, lease.until);
    await pause(Math.random() * HELD_MS);
    if (Math.random() < LEFT_BEHIND) return;
    holders.get(name).delete(holder);
    await lease.release();
}

function other() {
    const clients = masters.map((path) => new Redis({ path }));
    const redlock = new Redlock(clients, { retryCount: 20, retryDelay: 10, retryJitter: 10 });
    redlock.on('clientError', () => {});
    const lock = async (name) => {
        const lease = await redlock.lock(prefix + name, TTL_MS).catch(() => null);
        const until = lease && performance.now() + lease.expiration - Date.now();
        return lease && { until, release: () => lease.unlock().catch(() => {}) };
    };
    return { lock, close: () => clients.forEach((client) => client.disconnect()) };
}

function ours(words) {
    const link = net.connect(socket);
    let rest = '', answered = () => {};
    link.setEncoding('utf8');
    link.on('data', (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        lines.filter((line) => /^[+-]/.test(line)).forEach((line) => answered(line));
    });
    const ask = (line) => new Promise((resolve) => {
        answered = resolve;
        link.write(`${line}\n`);
    });
    // until= is a time of the daemon's clock. This process may read an answer late, so that valid= would be too long.
    let ahead = null;
    const hello = async () => {
        const asked = performance.now();
        const [, now] = /now=(\d+)/.exec(await ask('HELLO 1'));
        ahead = Number(now) - asked;
    };
    const lock = async (name) => {
        if (ahead === null) await hello();
        const answer = await ask(`LOCK ${name} ttl=${TTL_MS}ms wait=200ms hold=lease${words}`);
        const [, token, until] = /^\+LOCKED \S+ token=(\S+) .*until=(\d+)/.exec(answer) || [];
        return token ? { until: Number(until) - ahead, release: () => ask(`UNLOCK ${name} token=${token}`) }
            : null;
    };
    return { lock, close: () => link.destroy() };
}

async function work(kind, client) {
    while (Date.now() < end) await turn(kind, client.lock);
    client.close();
}

async function main() {
    const kinds = { other, exclusive: () => ours(''), shared: () => ours(' mode=shared') };
    await Promise.all(Object.entries(kinds).flatMap(([kind, make]) =>
        Array.from({ length: WORKERS }, () => work(kind, make()))));
    const counts = Object.entries(grants).map(([kind, count]) => `${kind}=${count}`).join(' ');
    console.log(`${counts} overlaps=${overlaps}`);
    process.exit(overlaps > 0 || Object.values(grants).includes(0) ? 1 : 0);
}

main();
