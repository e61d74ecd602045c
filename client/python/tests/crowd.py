"""crowd.py TIMES: the main thread is one of a crowd, and is interrupted so often, while all are cancelled now and then.
Prints what is left behind."""
import faulthandler
import random
import signal
import sys
import threading
import time

from redlockd import Client, LockCancelledError

TASKS = 13


class Interrupt(BaseException):
    pass


def crowd(times):
    client = Client()
    locks, over, armed, count = [client.lock("before")] * TASKS, threading.Event(), False, 0

    def interrupt(_signal, frame):
        if armed:
            raise Interrupt(frame)

    def cycle(task):
        lock = locks[task] = client.lock(f"crowd-{task % 10}", ttl=5, blocking_timeout=30)
        try:
            with lock:
                pass
        except LockCancelledError:
            pass

    def work(task):
        while not over.is_set():
            cycle(task)

    def interfere():
        while count < times:
            locks[random.randrange(TASKS)].cancel()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            time.sleep(random.random() / 500)
        over.set()

    signal.signal(signal.SIGUSR1, interrupt)
    threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in range(1, TASKS)]
    threads.append(threading.Thread(target=interfere, daemon=True))
    for thread in threads:
        thread.start()
    while not over.is_set():
        try:
            armed = True
            cycle(0)
        except Interrupt as interrupted:
            armed, frame = False, interrupted.args[0]
            count += 1
            if frame.f_code.co_name == "__exit__" and frame.f_lineno == frame.f_code.co_firstlineno:
                locks[0].release()  # no code of __exit__ has run yet, and so no library can do this
        finally:
            armed = False
    for thread in threads:
        thread.join()
    engine, session = client._engine, client._engine.session
    engine.call(lambda: None)  # what came before is done
    left = [engine._waiting, engine._wanted, engine._told, engine._soon, session._queue, session._asks(), session._by_token]
    client.close()
    return [len(one) for one in left]


if __name__ == "__main__":
    faulthandler.dump_traceback_later(100, exit=True)
    print(crowd(int(sys.argv[1])))
