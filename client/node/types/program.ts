// A program that uses all that index.d.ts has. types.sh compiles it; a line behind @ts-expect-error must be refused.
import { BusyError, Client, LostError, nameOf, partsOf } from 'redlockd';
import type { ErrorCode, Lock, LockOptions, NameState, Row } from 'redlockd';

async function hold(client: Client): Promise<number> {
  const options: LockOptions = { ttl: 10_000, wait: Infinity, mode: 'shared', signal: AbortSignal.timeout(1000) };
  const lock: Lock = await client.lock(['a', nameOf('order', 17, 18n)], options);
  lock.on('lost', (error) => console.log(error.message, error.code)).once('resumed', () => undefined);
  const left: number = (await lock.extend(5000)) + (await lock.check()) + (await lock.downgrade()) + lock.valid();
  const slot: number | undefined = lock.slot;
  lock.assertHeld();
  await lock.setData(`${lock.fence} ${lock.token} ${lock.mode} ${lock.name} ${slot}`);
  await lock.release({ keep: 1000 });
  return left;
}

async function around(client: Client): Promise<string> {
  const done: string = await client.using('job', { reentrant: true, atLeast: 10 }, (signal, lock) => `${signal.aborted} ${lock.fence}`);
  const led: number = await client.lead('leader', { data: 'here' }, async () => 7);
  const rows: Row[] = [...(await client.who('job')), ...(await client.show('LOCKS'))];
  for await (const state of client.watch('job')) {
    const now: NameState = state;
    if (now.state === 'held') break;
  }
  return `${done} ${led} ${rows[0]?.['name']} ${partsOf('a:b').join()} ${client.attach('job', 'token').fence}`;
}

function told(error: unknown): ErrorCode | undefined {
  if (error instanceof LostError) return error.reason === 'expired' ? error.code : undefined;
  return error instanceof BusyError && error.retryMs !== undefined ? error.code : undefined;
}

async function wrong(client: Client, lock: Lock): Promise<void> {
  // @ts-expect-error ttl is a number of milliseconds
  await client.lock('job', { ttl: '10s' });
  // @ts-expect-error there is no such option
  await client.lock('job', { lease: true });
  // @ts-expect-error tryLock() does not wait
  await client.tryLock('job', { wait: 10 });
  // @ts-expect-error only a Client makes locks
  new (lock.constructor as typeof Lock)();
  // @ts-expect-error the fence is redlockd's
  lock.fence = 1;
  // @ts-expect-error a Lock has no such event
  lock.on('gone', () => undefined);
}

export const all = [hold, around, told, wrong];
