// The same classes as require('redlockd') gives, so that instanceof holds in a program that uses both.
import redlockd from './index.js';

export const {
  Client, Lock, nameOf, partsOf, RedlockdError, BusyError, LockTimeoutError, NoQuorumError, NotHeldError, CancelledError, ModeError,
  LimitError, DrainingError, DeniedError, AuthError, UnsupportedError, BadArgumentError, LostError, UnreachableError,
  NoAnswerError, ProtocolError, ClosedError, UsageError,
} = redlockd;
