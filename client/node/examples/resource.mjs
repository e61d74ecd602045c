// For the examples: the Redis that has the data which a lock guards. This Redis belongs to the application and is none of
// redlockd's masters. Your own program uses a real driver, such as node-redis.
import net from 'node:net';

const CRLF = '\r\n';

/** Reads a reply at `at`: [value, end]; undefined: it is not all there yet. */
function reply(bytes, at) {
  const end = bytes.indexOf(CRLF, at);
  if (end < 0) return undefined;
  const [kind, rest, next] = [bytes.toString('latin1', at, at + 1), bytes.toString('utf8', at + 1, end), end + 2];
  if (kind === '+') return [rest, next];
  if (kind === '-') return [new Error(rest), next];
  if (kind === ':') return [Number(rest), next];
  const count = Number(rest);
  if (count < 0) return [null, next];
  if (kind === '$') return bytes.length < next + count + 2 ? undefined : [bytes.toString('utf8', next, next + count), next + count + 2];
  return list(bytes, next, count);
}

function list(bytes, at, count) {
  const values = [];
  for (let i = 0; i < count; i++) {
    const read = reply(bytes, at);
    if (!read) return undefined;
    values.push(read[0]);
    at = read[1];
  }
  return [values, at];
}

/** Resolves to a function: `await redis('GET', key)` is the reply: a number, a string, an array, or null. */
export async function openRedis(address) {
  const [host, port] = address.split(':');
  const socket = net.connect(address.startsWith('/') ? { path: address } : { host, port: Number(port ?? 6379) });
  const waiting = [];
  let bytes = Buffer.alloc(0);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => {}); // 'close' follows
  socket.on('close', () => waiting.splice(0).forEach(({ reject }) => reject(new Error('Redis: the connection ended'))));
  socket.on('data', (data) => {
    bytes = Buffer.concat([bytes, data]);
    for (let read = reply(bytes, 0); read; read = reply(bytes, 0)) {
      bytes = bytes.subarray(read[1]);
      const { resolve, reject } = waiting.shift();
      read[0] instanceof Error ? reject(read[0]) : resolve(read[0]);
    }
  });
  socket.unref();
  const redis = (...words) => new Promise((resolve, reject) => {
    socket.ref(); // a program that waits for a reply does not end
    const done = (settle) => (value) => {
      if (waiting.length === 0) socket.unref();
      settle(value);
    };
    waiting.push({ resolve: done(resolve), reject: done(reject) });
    socket.write([`*${words.length}`, ...words.flatMap((word) => [`$${Buffer.byteLength(String(word))}`, word]), ''].join(CRLF));
  });
  return redis;
}
