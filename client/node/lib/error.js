'use strict';

/** The base of every error of this package; `code` tells the class, as a word. */
class RedlockdError extends Error {
  /** @param {{cause?: unknown, retryMs?: number}} [more] retryMs: when asking again may help */
  constructor(message, more = {}) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined);
    if (more.retryMs !== undefined) this.retryMs = more.retryMs;
  }
}

/** The lock is no longer held; `reason` is redlockd's word, or "expired", "gone", "released", "max" or "refused". */
class LostError extends RedlockdError {
  constructor(name, reason, more) {
    super(`the lock ${name} was lost: ${reason}`, more);
    this.reason = reason;
  }
}

module.exports = { RedlockdError, LostError };
