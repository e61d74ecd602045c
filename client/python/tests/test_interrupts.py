"""^C, signals, garbage and mistakes in the middle of what the blocking client does."""
import gc
import logging
import pathlib
import signal
import threading
import time
import unittest

from redlockd import Client, ClosedError, UsageError
from support import eventually
from test_real import WithWorld

CROWD = pathlib.Path(__file__).with_name("crowd.py").read_text(encoding="utf-8")


class Interrupts(WithWorld):
    def test_interrupts_in_a_crowd_leave_nothing_and_touch_no_other_request(self):
        """Every error of another thread would be in the report; what is left of any request is counted."""
        crowd = self.program("import threading\ndef told(args): print('error', args)\nthreading.excepthook = told\n" + CROWD,
                             "500")
        self.assertEqual(crowd.stdout.read(), "[0, 0, 0, 0, 0, 0, 0]\n")
        self.assertEqual(crowd.wait(), 0)
        eventually(lambda: self.world.keys() == 0, "the last key's end")

    def test_the_handler_of_a_signal_may_lock_at_any_time(self):
        # On a slow machine many handlers interrupt each other.
        program = self.program("import faulthandler, itertools, redlockd, signal, sys, threading, time\n"
                               "faulthandler.dump_traceback_later(100, exit=True)\n"
                               "sys.setrecursionlimit(10000)\n"
                               "c, handled, names = redlockd.Client(), [], itertools.count()\n"
                               "def handle(*_):\n"
                               "    with c.lock(f'by-signal-{next(names)}'): handled.append(1)  # a handler interrupts another, too\n"
                               "def disturb():\n"
                               "    for turn in range(100):\n"
                               "        while len(handled) < turn: time.sleep(.0005)\n"
                               "        for _ in range(2):\n"
                               "            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)\n"
                               "            time.sleep(.001)\n"
                               "signal.signal(signal.SIGUSR1, handle)\n"
                               "thread = threading.Thread(target=disturb); thread.start()\n"
                               "while thread.is_alive():\n"
                               "    with c.lock('interrupted'): pass\n"
                               "print(len(c._engine._waiting))\n")
        self.assertEqual(program.stdout.read(), "0\n")
        self.assertEqual(program.wait(), 0)

    def test_an_interrupt_while_the_request_is_taken_back(self):
        """The second one comes when the engine is busy, and so the first has not been dealt with."""
        client, count = self.client(), [0]
        engine, freed = client._engine, threading.Event()

        def interrupt(*_signal):
            count[0] += 1
            if count[0] == 2:
                freed.set()
            raise KeyboardInterrupt

        def disturb():
            with engine._guard:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
                eventually(lambda: count[0] == 1)
                time.sleep(0.05)
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
                freed.wait(10)

        before = signal.signal(signal.SIGUSR1, interrupt)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with self.client().lock("taken-back"):
            lock = client.lock("taken-back")
            thread = threading.Thread(target=lambda: (eventually(lambda: lock.state == "waiting" and engine._waiting),
                                                      disturb()))
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                lock.acquire()
            thread.join()
            eventually(lambda: not engine._waiting and not client._engine.session._asks(), "the end of the request")
        self.assertTrue(lock.acquire(blocking_timeout=10))
        lock.release()

    def test_a_handler_of_logging_is_refused_and_waits_for_nothing(self):
        client, told = self.client(), []

        class Handler(logging.Handler):
            def emit(self, _record):
                for use in (lambda: client.lock("by-logging").acquire(), client.show, client.watch):
                    try:
                        use(*(["NODES"] if use == client.show else ["name"] if use == client.watch else []))
                    except UsageError as error:
                        told.append(error)

        handler = Handler()
        logging.getLogger("redlockd").addHandler(handler)
        self.addCleanup(logging.getLogger("redlockd").removeHandler, handler)
        lock = client.lock("logged")
        lock.acquire()
        self.client().attach("logged", lock.token).release()
        self.assertTrue(lock.lost.wait(10))
        eventually(lambda: len(told) == 3, "the handler's end")
        self.assertTrue(client.lock("logged").acquire(blocking_timeout=10))

    def test_a_client_may_be_collected_in_its_own_thread(self):
        client = Client(self.world.unix)
        engine, client.itself = client._engine, client
        with client.lock("collected"):
            pass
        gc.collect()
        del client
        threading.Thread(target=lambda: engine.call(gc.collect), daemon=True).start()
        engine._thread.join(10)
        self.assertFalse(engine._thread.is_alive())

    def test_a_mistake_in_the_thread_ends_all_waits(self):
        client = self.client()
        with self.client().lock("mistaken"):
            told = []

            def wait():
                try:
                    client.lock("mistaken").acquire()
                except ClosedError as error:
                    told.append(error)

            threads = [threading.Thread(target=wait) for _ in range(3)]
            for thread in threads:
                thread.start()
            eventually(lambda: len(client._engine.session._asks()) == 3)
            with self.assertLogs("redlockd", "ERROR"), self.assertRaises(ClosedError):
                client._engine.ask(lambda _waiter: [][0])
            for thread in threads:
                thread.join(10)
            self.assertEqual(len(told), 3)
            with self.assertRaises(ClosedError):
                client.lock("mistaken").acquire()


if __name__ == "__main__":
    unittest.main()
