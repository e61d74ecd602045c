"""Distributed locks by redlockd.

    import redlockd

    client = redlockd.Client()
    with client.lock("job", ttl=10, blocking_timeout=30) as lock:
        work(lock.fence)

redlockd renews the lock while the program is connected, and this package resumes it after redlockd was restarted.
`lock.valid()` says without I/O for how many seconds the lock is surely held, and `lock.lost` is a threading.Event that
is set when the lock is lost. `redlockd.aio` is the same for asyncio. All durations are seconds (float, or a timedelta).
"""
from . import aio
from ._names import name_of, parts_of
from ._threads import Client, Lock, Watch
from ._watching import NameState
from . import errors as _errors
from .errors import *

__version__ = "0.1.0"
Client.__module__ = Lock.__module__ = Watch.__module__ = NameState.__module__ = __name__  # where programs find them, for repr() and help()
__all__ = ["Client", "Lock", "NameState", "Watch", "aio", "name_of", "parts_of"]
__all__ += _errors.__all__
