'use strict';
// Written by `make stubs` from proto/stubs.def.
const { RedlockdError, LostError } = require('./error.js');

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
class BadArgumentError extends RedlockdError {}
class UnsupportedError extends RedlockdError {}
class UnreachableError extends RedlockdError {}
class NoAnswerError extends RedlockdError {}
class ProtocolError extends RedlockdError {}
class ClosedError extends RedlockdError {}
class UsageError extends RedlockdError {}

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
  BADARG: BadArgumentError,
  UNSUPPORTED: UnsupportedError,
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

const refusals = {
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
  BADARG: BadArgumentError,
  UNSUPPORTED: UnsupportedError,
  BADVERB: UnsupportedError,
};

/** The error for a line that begins with "-". A code of a later version is a BadArgumentError. */
function refusal(answer) {
  const { retry } = answer.pairs;
  return new (refusals[answer.code.slice(1)] ?? BadArgumentError)(answer.text, retry === undefined ? {} : { retryMs: retry });
}

module.exports = {
  RedlockdError,
  ...Object.fromEntries(Object.values(types).map((type) => [type.name, type])),
  refusal,
};
