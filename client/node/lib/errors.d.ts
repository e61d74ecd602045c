// Written by `make stubs` from proto/stubs.def.
export type ErrorCode =
  'BUSY' | 'TIMEOUT' | 'NOQUORUM' | 'NOTHELD' | 'CANCELLED' | 'MODE' | 'LIMIT' | 'DRAINING' | 'DENIED' | 'AUTH' |
  'BADARG' | 'UNSUPPORTED' | 'LOST' | 'UNREACHABLE' | 'NOANSWER' | 'PROTOCOL' | 'CLOSED' | 'USAGE';

/** The base of every error of this package. The message is redlockd's own line where redlockd refused. */
export class RedlockdError extends Error {
  readonly code: ErrorCode;
  /** After how many ms asking again may help. */
  readonly retryMs?: number;
}
/** Another has the lock, and the call did not wait. */
export class BusyError extends RedlockdError {}
/** Another has the lock, and the time to wait is over. */
export class LockTimeoutError extends RedlockdError {}
/** Too few masters answered, or may vote yet. After a release, extend or check the outcome is open. */
export class NoQuorumError extends RedlockdError {}
/** The token does not hold the lock. */
export class NotHeldError extends RedlockdError {}
/** The wait was cancelled. */
export class CancelledError extends RedlockdError {}
/** The lock is held in another mode. */
export class ModeError extends RedlockdError {}
/** A limit of redlockd is reached. The text names the setting. */
export class LimitError extends RedlockdError {}
/** redlockd is shutting down, and grants no new locks. */
export class DrainingError extends RedlockdError {}
/** This user may not do that. */
export class DeniedError extends RedlockdError {}
/** redlockd wants a user and a secret, or refuses those that were given. */
export class AuthError extends RedlockdError {}
/** An argument is not allowed. So is a refusal by a later redlockd that this library does not know. */
export class BadArgumentError extends RedlockdError {}
/** This redlockd cannot do that. A later version may. */
export class UnsupportedError extends RedlockdError {}
/** The lock was lost. Another may have had it while the program worked. */
export class LostError extends RedlockdError {
  /** redlockd's word (expired max gone released moved denied ...), or "refused": it could not be resumed. */
  readonly reason: string;
}
/** There is no connection to redlockd. The text says why. */
export class UnreachableError extends RedlockdError {}
/** redlockd did not answer in time. A lock that is granted later is given back. */
export class NoAnswerError extends RedlockdError {}
/** What answers is no redlockd, or its answer does not fit the request. */
export class ProtocolError extends RedlockdError {}
/** The client was closed. */
export class ClosedError extends RedlockdError {}
/** Wrong use. A secret would go out in the clear, for one; the text says what. */
export class UsageError extends RedlockdError {}
