/// <reference types="node" />
import { EventEmitter } from 'node:events';
import { ClosedError, LostError } from './lib/errors.js';

/** All times are in milliseconds, whole numbers up to 30 days. */
export interface LockOptions {
  /** How long it lasts if nobody renews it; redlockd's default_ttl if left out. */
  ttl?: number;
  /** How long to wait while another has it; 0: not at all. Left out, or Infinity: 30 days. */
  wait?: number;
  /** For how long redlockd renews it at most, from the grant on; at least the ttl. */
  max?: number;
  /** session (the default): renewed while this process is connected. lease: never renewed, survives the process. */
  hold?: 'session' | 'lease';
  /** shared: any number of readers have it, or one writer, who asks for it without this. */
  mode?: 'exclusive' | 'shared';
  /** One of so many places, 1 to 1,024; `slot` is its number. All who use the name give the same. */
  slots?: number;
  /** A word of at most 64 visible ASCII characters that SHOW LOCKS tells. */
  note?: string;
  /** What others read with who() and watch(), as where this holder can be reached: 1 to 256 visible ASCII characters, no ".
   * For a session lock of one name, exclusive and without slots. */
  data?: string;
  /** Ends the wait: the promise then rejects with a CancelledError. */
  signal?: AbortSignal;
}

export type ResumeOptions = Pick<LockOptions, 'ttl' | 'max' | 'note' | 'signal'>;

export interface UsingOptions extends LockOptions {
  /** Within another reentrant using() of the same name in the same asynchronous task, enters that lock again. */
  reentrant?: boolean;
  /** If the body succeeds, nobody gets the name until so many ms after the lock's beginning: for a job that is to run once
   * in a period. Where redlockd would not keep it, a line of log says so. */
  atLeast?: number;
}

export interface LeadOptions extends Pick<LockOptions, 'ttl' | 'max' | 'note' | 'data'> {
  /** Ends the wait, and the body's signal. */
  signal?: AbortSignal;
}

/** Who has a name. unknown: too few masters answered. fence and data are there where the holder tells something. */
export interface NameState {
  state: 'held' | 'free' | 'kept' | 'unknown';
  mode?: 'shared';
  fence?: number;
  host?: string;
  data?: string;
}

/** What a program wrote there may be hostile text. */
export type Row = Record<string, string>;

export interface ClientOptions {
  /** "unix:/path", "host:port", "[::1]:port", "tls://host:port"; else REDLOCK_ADDRESS, else the usual places. */
  address?: string;
  /** A word that SHOW CLIENTS tells. */
  client?: string;
  /** How long a request may go unanswered, in ms; 10,000 if left out. */
  timeout?: number;
  user?: string;
  secret?: string;
  /** Names of files: of the secret, and for TLS. */
  secretFile?: string;
  ca?: string;
  cert?: string;
  key?: string;
  /** Takes a line of log for each connection that broke or was made again, and each lock that was resumed or lost. Without
   * it, NODE_DEBUG=redlockd shows these lines. */
  log?: (line: string) => void;
}

/** A client has one connection to redlockd, made at the first request, and belongs to its thread. A thread needs only
 * one client. */
export class Client {
  /** @throws BadArgumentError */
  constructor(options?: ClientOptions);
  /** Runs body under the lock and gives it back, whatever happens. Rejects with the body's error, or else with a
   * LostError if the lock was lost meanwhile. */
  using<T>(name: string | string[], body: (signal: AbortSignal, lock: Lock) => T | PromiseLike<T>): Promise<T>;
  using<T>(name: string | string[], options: UsingOptions | undefined,
    body: (signal: AbortSignal, lock: Lock) => T | PromiseLike<T>): Promise<T>;
  /** Takes a lock, and waits for it. Several names: all or none, as one lock. */
  lock(name: string | string[], options?: LockOptions): Promise<Lock>;
  /** Takes it without waiting: while another has it, that is a BusyError. */
  tryLock(name: string | string[], options?: Omit<LockOptions, 'wait'>): Promise<Lock>;
  /** Takes over a lock by its token, as a session lock of this client. */
  resume(name: string | string[], token: string, options?: ResumeOptions): Promise<Lock>;
  /** A handle for a token from elsewhere; asks nobody, and knows nothing until check() or extend(). */
  attach(name: string | string[], token: string): Lock;
  /** Waits until this program leads, which is to hold the lock, and runs body while it does. When it leads no more, the
   * signal is aborted; when the body has ended then, whatever its outcome, this waits again. Resolves to what the body
   * resolved to while it led, and rejects as it did; else with a CancelledError by options.signal, or what redlockd refuses.
   * While redlockd is away, or too few masters answer, it goes on asking. data: by default HOST/PID. */
  lead<T>(name: string, body: (signal: AbortSignal, lock: Lock) => T | PromiseLike<T>): Promise<T>;
  lead<T>(name: string, options: LeadOptions | undefined,
    body: (signal: AbortSignal, lock: Lock) => T | PromiseLike<T>): Promise<T>;
  /** Who has the name and who waits for it, by what the masters say; see protocol.txt. */
  who(name: string): Promise<Row[]>;
  /** What redlockd knows: LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, GROUP, STATS, CONFIG, RELOAD or VERSION. */
  show(what: string): Promise<Row[]>;
  /** Who has the name, now and at each change, until the loop is left: for await (const state of client.watch(name)).
   * A reconnection is not told. It may miss what lies between two states. */
  watch(name: string): AsyncGenerator<NameState, void, void>;
  /** The address, whether it is connected, and its locks, without their tokens. */
  toJSON(): object;
  /** Gives back all session locks and ends the connection, within 2 s. Leases stay. Never rejects. */
  close(): Promise<void>;
  /** Lets the process end while the client has something to do. While it has nothing to do, it may end anyway. */
  unref(): this;
  ref(): this;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A lock that is held, or was. */
export class Lock extends EventEmitter {
  private constructor();
  /** Of several names: with commas between them. */
  readonly name: string;
  /** 40 hex digits: whoever shows them is the holder. New after "resumed" and downgrade(). */
  readonly token: string;
  /** Grows with each grant of the name. New after "resumed"; 0: not known. */
  readonly fence: number;
  /** 'shared': this program only reads. So it is from downgrade() on, and where it is not known, after attach(). */
  readonly mode: 'exclusive' | 'shared';
  /** The number of the place that `slots` got, from 0 on; undefined for other locks. */
  readonly slot: number | undefined;
  /** Aborted when the lock is lost, with a LostError, or a ClosedError when the client was closed. */
  readonly signal: AbortSignal;
  /** For how many ms it is surely still held; 0: not, or not known. No I/O. */
  valid(): number;
  /** @throws LostError unless valid() > 0 */
  assertHeld(): void;
  /** Gives it back, within 2 s. Rejects with a LostError, once, if it was lost before.
   * keep: for so many ms from now on nobody gets the name, though nobody holds it. For an exclusive lock of one name. After
   * a BadArgumentError, LimitError or UnsupportedError redlockd would not keep it, and the lock was given back. After other
   * errors it is not kept, unless the connection broke meanwhile. */
  release(options?: { keep?: number }): Promise<void>;
  /** Changes the data of a lock that was taken with `data`. After a NoQuorumError either text may stand. */
  setData(data: string): Promise<void>;
  /** Name, state, valid and fence, without the token. */
  toJSON(): object;
  /** Makes it last ttl ms from now, never shorter. Resolves to valid(). */
  extend(ttl?: number): Promise<number>;
  /** Asks redlockd. Resolves to valid(). */
  check(): Promise<number>;
  /** A writer becomes a reader, and no other writer gets in between; `fence` stays, `token` is new. Resolves to valid().
   * After a ModeError, LimitError, BadArgumentError or UnsupportedError it is a writer's as before. After a NoQuorumError,
   * NoAnswerError or UnreachableError it is a reader's, for which other readers may still have to wait: the library goes
   * on asking, and another call tells when it is done. `mode` says what it is. A reader's stays as it is. */
  downgrade(): Promise<number>;
  on(event: 'expiring' | 'resumed', listener: () => void): this;
  on(event: 'lost', listener: (error: LostError | ClosedError) => void): this;
  once(event: 'expiring' | 'resumed', listener: () => void): this;
  once(event: 'lost', listener: (error: LostError | ClosedError) => void): this;
  off(event: 'expiring' | 'resumed' | 'lost', listener: (error: LostError | ClosedError) => void): this;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A name of several parts, whatever is in them: nameOf('order', 17) is "order:17", and nameOf('file', 'a b:c') is
 * "file:a%20b%3Ac". Different parts have different names. The other libraries for redlockd encode alike.
 * @throws BadArgumentError if it is longer than 200 bytes, or the first part is empty */
export function nameOf(...parts: (string | number | bigint)[]): string;
/** The parts of a name by nameOf(), for people to read. */
export function partsOf(name: string): string[];

export * from './lib/errors.js';
