'use strict';
// A class for each way in which a request can fail. The message is redlockd's own line where redlockd refused.

/** The base of every error of this package; `code` tells the class, as a word. */
class RedlockdError extends Error {
  /** @param {{cause?: unknown, retryMs?: number}} [more] retryMs: when asking again may help */
  constructor(message, more = {}) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined);
    if (more.retryMs !== undefined) this.retryMs = more.retryMs;
  }
}

class BusyError extends RedlockdError {}
class LockTimeoutError extends RedlockdError {}
class NoQuorumError extends RedlockdError {}
class NotHeldError extends RedlockdError {}
class CancelledError extends RedlockdError {}
class ModeError extends RedlockdError {}
class LimitError extends RedlockdError {}
class DrainingError extends RedlockdError {}
class DeniedError extends RedlockdError {}
class AuthError extends RedlockdError {}
class UnsupportedError extends RedlockdError {}
class BadArgumentError extends RedlockdError {}
class UnreachableError extends RedlockdError {}
class NoAnswerError extends RedlockdError {}
class ProtocolError extends RedlockdError {}
class ClosedError extends RedlockdError {}
class UsageError extends RedlockdError {}

/** The lock is no longer held; `reason` is redlockd's word, or "expired", "gone", "released", "max" or "refused". */
class LostError extends RedlockdError {
  constructor(name, reason, more) {
    super(`the lock ${name} was lost: ${reason}`, more);
    this.reason = reason;
  }
}

const types = {
  BUSY: BusyError,
  TIMEOUT: LockTimeoutError,
  NOQUORUM: NoQuorumError,
  NOTHELD: NotHeldError,
  CANCELLED: CancelledError,
  MODE: ModeError,
  LIMIT: LimitError,
  DRAINING: DrainingError,
  DENIED: DeniedError,
  AUTH: AuthError,
  UNSUPPORTED: UnsupportedError,
  BADARG: BadArgumentError,
  LOST: LostError,
  UNREACHABLE: UnreachableError,
  NOANSWER: NoAnswerError,
  PROTOCOL: ProtocolError,
  CLOSED: ClosedError,
  USAGE: UsageError,
};
for (const [code, type] of Object.entries(types)) {
  Object.defineProperty(type.prototype, 'code', { value: code });
  Object.defineProperty(type.prototype, 'name', { value: type.name, writable: true, configurable: true });
}
// Programs look for this name when they have aborted something themselves.
Object.defineProperty(CancelledError.prototype, 'name', { value: 'AbortError' });

/** The error for a line that begins with "-". A code of a later version is a BadArgumentError. */
function refusal(answer) {
  const type = types[answer.code.slice(1)] ?? BadArgumentError;
  const retryMs = answer.pairs.retry;
  const more = retryMs === undefined ? {} : { retryMs };
  return type === LostError ? new BadArgumentError(answer.text, more) : new type(answer.text, more);
}

module.exports = {
  RedlockdError,
  ...Object.fromEntries(Object.values(types).map((type) => [type.name, type])),
  refusal,
};
