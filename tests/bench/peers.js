// Packaged Redlock libraries under the same load as the daemon, in one process with all its workers:
//     node peers.js <peer> <workers> <warm ms> <run ms> <distinct|one> <salt> <port>...
// prints one line of metric=value words. NODE_PATH names the folder where npm put them.
'use strict';

const [peer, workersText, warmText, runText, names, salt, ...ports] = process.argv.slice(2);
const workers = Number(workersText), warmMs = Number(warmText), runMs = Number(runText);
const TTL_MS = 10000;

// Each peer gives lock(name), which settles with a function that unlocks, or with null: refused.
const peers = {
    // The library's own settings, but in W3 ("one") it asks until it gets the lock.
    'npm-redlock': async () => {
        const Redis = require('ioredis'), Redlock = require('redlock');
        const clients = ports.map((port) => new Redis({ host: '127.0.0.1', port: Number(port) }));
        await Promise.all(clients.map((client) => client.ping()));
        const redlock = new Redlock(clients, { retryCount: names === 'one' ? 1000000 : 10 });
        redlock.on('clientError', () => {});
        return async (name) => {
            const lock = await redlock.lock(name, TTL_MS).catch(() => null);
            return lock && (() => lock.unlock().catch(() => {}));
        };
    },
    'redis-kit': async () => {
        const { createClient } = require('redis'), { Redlock } = require('@redis-kit/lock');
        const clients = ports.map((port) => createClient({ socket: { host: '127.0.0.1', port: Number(port) } }));
        clients.forEach((client) => client.on('error', () => {}));
        await Promise.all(clients.map((client) => client.connect()));
        const redlock = new Redlock(clients, { maxRetryAttempts: names === 'one' ? 1000000 : 3 });
        return async (name) => {
            const lock = await redlock.acquire(name, TTL_MS).catch(() => null);
            return lock && (() => lock.release().catch(() => {}));
        };
    },
};

const now = () => Number(process.hrtime.bigint()) / 1000; // µs
const result = { locks: [], unlocks: [], grants: new Array(workers).fill(0), handovers: 0, refused: 0 };
let measuring = false, over = false, last = -1;

async function work(lock, index) {
    for (let turn = 0; !over; turn++) {
        const name = names === 'one' ? `redlock:hot.${salt}` : `redlock:job.${salt}.${index}.${turn % 1000}`;
        const asked = now();
        const unlock = await lock(name);
        const granted = now();
        if (!unlock) {
            result.refused += measuring;
            continue;
        }
        if (measuring) {
            result.locks.push(granted - asked);
            result.grants[index]++;
            result.handovers += last !== index;
            last = index;
        }
        await unlock();
        if (measuring) result.unlocks.push(now() - granted);
    }
}

function share(sorted, part) {
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))].toFixed(1) : 'nan';
}

function print(seconds, cpu) {
    const ascending = (a, b) => a - b, { locks, unlocks, grants } = result;
    locks.sort(ascending);
    unlocks.sort(ascending);
    const sum = grants.reduce((a, b) => a + b, 0), squares = grants.reduce((a, b) => a + b * b, 0);
    const words = {
        cycles_s: (unlocks.length / seconds).toFixed(1),
        lock_p50_us: share(locks, 0.5), lock_p99_us: share(locks, 0.99), lock_p999_us: share(locks, 0.999),
        lock_max_us: share(locks, 1),
        unlock_p50_us: share(unlocks, 0.5), unlock_p99_us: share(unlocks, 0.99),
        unlock_p999_us: share(unlocks, 0.999),
        load_cpu_us: ((cpu.user + cpu.system) / unlocks.length).toFixed(2), refused: result.refused,
    };
    if (names === 'one') {
        words.handovers_s = (result.handovers / seconds).toFixed(1);
        words.jain = squares ? ((sum * sum) / (workers * squares)).toFixed(3) : 'nan';
    }
    console.log(Object.entries(words).map(([key, value]) => `${key}=${value}`).join(' '));
}

async function main() {
    const lock = await peers[peer]();
    for (let i = 0; i < workers; i++) work(lock, i);
    await new Promise((resolve) => setTimeout(resolve, warmMs));
    const begun = now(), cpu = process.cpuUsage();
    measuring = true;
    await new Promise((resolve) => setTimeout(resolve, runMs));
    measuring = false;
    over = true;
    print((now() - begun) / 1e6, process.cpuUsage(cpu));
    process.exit(0);
}

main().catch((error) => {
    console.error(error.message);
    process.exit(1);
});
