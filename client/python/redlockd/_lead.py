"""An election, as far as both clients share it."""
from __future__ import annotations

import logging
import os
import random
import re
import socket
from typing import Any

from ._error import RedlockdError
from ._lines import checked_single
from ._lock import BaseLock
from ._table import DATA_BYTES
from .errors import (BusyError, DrainingError, LimitError, LockCancelledError, LockTimeoutError, NoAnswerError,
                     NoQuorumError, UnreachableError)

logger = logging.getLogger("redlockd")
PAUSE_S = 1.0
PAUSE_MOST_S = 60.0
_MAY_HELP = (BusyError, DrainingError, LimitError, LockCancelledError, LockTimeoutError, NoAnswerError, NoQuorumError,
             UnreachableError)


class Election:
    def __init__(self, name: str, data: str | None) -> None:
        self.name = checked_single(name)
        usual = re.sub(r"[^!#-~]", "?", f"{socket.gethostname()}/{os.getpid()}")[:DATA_BYTES]
        self.data = usual if data is None else data
        self._pause_s = PAUSE_S

    def pause_s(self, error: RedlockdError) -> float:
        """After how long the lock is to be asked for again; raises the error if that would not help."""
        if not isinstance(error, _MAY_HELP):
            raise error
        pause_s = self._pause_s * random.uniform(0.5, 1)
        self._pause_s = min(2 * self._pause_s, PAUSE_MOST_S)
        logger.info("%s is asked for again in %.1f s: %s", self.name, pause_s, error)
        return pause_s

    def leads(self, lock: BaseLock[Any, Any, Any]) -> None:
        self._pause_s = PAUSE_S
        lock._given = True  # `with` enters it as it is
        logger.info("leads %s, with fence %d", self.name, lock.fence)

    def was_lost(self, lock: BaseLock[Any, Any, Any], error: BaseException | None) -> bool:
        """Whether the work has ended because, or after, the lock was lost: then it is waited for again."""
        if not lock.lost_reason or not isinstance(error, (Exception, type(None))):
            return False
        logger.info("leads %s no more; the work ended: %r", self.name, error)
        return True
