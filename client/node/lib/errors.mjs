// Written by `make stubs` from proto/stubs.def.
import errors from './errors.js';

export const {
  RedlockdError, BusyError, LockTimeoutError, NoQuorumError, NotHeldError, CancelledError, ModeError, LimitError,
  DrainingError, DeniedError, AuthError, BadArgumentError, UnsupportedError, LostError, UnreachableError,
  NoAnswerError, ProtocolError, ClosedError, UsageError,
} = errors;
