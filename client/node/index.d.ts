/// <reference types="node" />
import { EventEmitter } from 'node:events';

/** All times are in milliseconds, whole numbers up to 30 days. */
export interface LockOptions {
  /** How long it lasts if nobody renews it; redlockd's default_ttl if left out. */
  ttl?: number;
  /** How long to wait while another has it; 0 (the default): not at all. Infinity: 30 days. */
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
  /** Ends the wait: the promise then rejects with a CancelledError. */
  signal?: AbortSignal;
}

export type ResumeOptions = Pick<LockOptions, 'ttl' | 'max' | 'note' | 'signal'>;

export interface UsingOptions extends LockOptions {
  /** Within another reentrant using() of the same name in the same asynchronous task, enters that lock again. */
  reentrant?: boolean;
}

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
  /** Takes a lock. Several names: all or none, as one lock. */
  lock(name: string | string[], options?: LockOptions): Promise<Lock>;
  /** Takes over a lock by its token, as a session lock of this client. */
  resume(name: string | string[], token: string, options?: ResumeOptions): Promise<Lock>;
  /** A handle for a token from elsewhere; asks nobody, and knows nothing until check() or extend(). */
  attach(name: string | string[], token: string): Lock;
  /** Gives back all session locks and ends the connection, within 2 s. Leases stay. Never rejects. */
  close(): Promise<void>;
  /** Lets the process end while the client is open. */
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
  /** Gives it back, within 2 s. Rejects with a LostError, once, if it was lost before. */
  release(): Promise<void>;
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
  once(event: 'expiring' | 'resumed', listener: () => void): this;
  off(event: 'expiring' | 'resumed', listener: () => void): this;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A name of several parts, whatever is in them: nameOf('order', 17) is "order:17", and nameOf('file', 'a b:c') is
 * "file:a%20b%3Ac". Different parts have different names. The other libraries for redlockd encode alike.
 * @throws BadArgumentError if it is longer than 200 bytes, or the first part is empty */
export function nameOf(...parts: (string | number | bigint)[]): string;
/** The parts of a name by nameOf(), for people to read. */
export function partsOf(name: string): string[];

export * from './lib/errors.js';
