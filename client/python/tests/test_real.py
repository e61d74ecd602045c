"""Both clients against real masters and a real daemon."""
import asyncio
import dis
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from datetime import timedelta

import support
from redlockd import (BadArgumentError, BusyError, Client, ClosedError, LockCancelledError, LockTimeoutError, LostError,
                      ModeError, NoAnswerError, NotHeldError, UnreachableError, UsageError, aio, name_of)
from support import World, environment, eventually

LONG = bool(os.environ.get("REDLOCKD_TESTS_LONG"))
CYCLES = 10000 if LONG else 600
RETURN = dis.opmap["RETURN_VALUE"]


class WithWorld(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.stop)

    def client(self, address=None, **options):
        client = Client(address or self.world.unix, **options)
        self.addCleanup(client.close)
        return client

    def program(self, text, *arguments, address=None):
        process = subprocess.Popen([sys.executable, "-c", text, *arguments], text=True, stdout=subprocess.PIPE,
                                   env=environment(REDLOCK_ADDRESS=address or self.world.unix))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Blocking(WithWorld):
    def test_a_lock_and_its_way_back(self):
        for address in (self.world.unix, self.world.tcp):
            with self.subTest(address), self.client(address) as client:
                with client.lock("once", ttl=2) as lock:
                    self.assertGreater(lock.valid(), 1)
                    self.assertTrue(lock.locked() and lock.owned())
                    self.assertGreater(lock.fence, 0)
                    self.assertGreater(lock.extend(3), 1.5)
                    self.assertGreater(lock.check(), 1)
                    lock.ensure()
                self.assertEqual((lock.valid(), lock.locked(), lock.state), (0, False, "none"))

    def test_somebody_else_has_it(self):
        with self.client().lock("busy"):
            other = self.client()
            with self.assertRaises(BusyError):
                with other.lock("busy", blocking=False):
                    pass
            with self.assertRaises(LockTimeoutError):
                with other.lock("busy", blocking_timeout=0.05):
                    pass
            self.assertFalse(other.lock("busy").acquire(blocking=False))
            self.assertFalse(other.lock("busy").acquire(blocking_timeout=0.05))
            self.assertFalse(other.lock("busy", blocking_timeout=0).acquire())

    def test_what_acquire_is_not_given_is_as_the_lock_was_made(self):
        with self.client().lock("as-made"):
            other = self.client()
            self.assertFalse(other.lock("as-made", blocking_timeout=0.05).acquire(blocking=True))
            self.assertFalse(other.lock("as-made", blocking_timeout=30).acquire(blocking=False))
            start = time.monotonic()
            self.assertFalse(other.lock("as-made", blocking=False).acquire(blocking_timeout=0.05))
            self.assertGreaterEqual(time.monotonic() - start, 0.049)  # redlockd counts whole milliseconds

    def test_fences_grow(self):
        client, fences = self.client(), []
        for _ in range(5):
            with client.lock("fences") as lock:
                fences.append(lock.fence)
        self.assertEqual(fences, sorted(set(fences)))

    def test_a_loss_is_told_at_once_and_once(self):
        lock = self.client().lock("lost")
        lock.acquire()
        self.client().attach("lost", lock.token).release()
        self.assertTrue(lock.lost.wait(5))
        self.assertEqual(lock.lost_reason, "released")
        with self.assertRaises(LostError):
            lock.ensure()
        with self.assertRaises(LostError):
            lock.release()
        with self.assertRaises(NotHeldError):
            lock.release()

    def test_the_end_of_a_with_block_tells_the_loss(self):
        other = self.client()
        with self.assertRaises(LostError):
            with self.client().lock("lost-with") as lock:
                other.attach("lost-with", lock.token).release()
                lock.lost.wait(5)

    def test_the_end_of_a_with_block_hides_no_error(self):
        other = self.client()
        with self.assertRaises(KeyError):
            with self.client().lock("hidden") as lock:
                other.attach("hidden", lock.token).release()
                raise KeyError("of the program")

    def test_one_object_has_one_holder(self):
        lock = self.client().lock("own")
        with lock:
            with self.assertRaises(UsageError):
                lock.acquire(blocking_timeout=5)

    def test_entering_again_is_asked_for(self):
        lock = self.client().lock("again", reentrant=True)
        with lock:
            with lock:
                pass
            self.assertTrue(lock.locked())
            strangers = []

            def stranger():
                for enter_or_leave in (lock.acquire, lock.release):
                    try:
                        enter_or_leave()
                    except UsageError as error:
                        strangers.append(error)

            thread = threading.Thread(target=stranger)
            thread.start()
            thread.join()
            self.assertEqual(len(strangers), 2)
            self.assertTrue(lock.locked())
        self.assertFalse(lock.locked())

    def test_a_writer_becomes_a_reader(self):
        lock, reader = self.client().lock("down"), self.client().lock("down", mode="shared", blocking_timeout=30)
        lock.acquire()
        fence, token = lock.fence, lock.token
        thread = threading.Thread(target=reader.acquire)
        thread.start()
        self.assertGreater(lock.downgrade(), 0)
        thread.join(30)
        self.assertTrue(reader.locked())
        self.assertEqual(lock.fence, fence)
        self.assertNotEqual(lock.token, token)
        writer = self.client().lock("down")
        lock.downgrade()  # changes nothing, so that one release is enough
        for one in (lock, reader):
            self.assertFalse(writer.acquire(blocking=False))
            one.release()
        self.assertTrue(writer.acquire(blocking_timeout=10))
        with self.assertRaises(NotHeldError):
            lock.downgrade()

    def test_what_was_entered_twice_is_not_downgraded(self):
        lock, reader = self.client().lock("down-twice", reentrant=True), self.client().lock("down-twice", mode="shared")
        with lock:
            with lock:
                with self.assertRaises(ModeError):
                    lock.downgrade()
                self.assertFalse(reader.acquire(blocking=False))
            lock.downgrade()
            with self.assertRaises(ModeError):  # a reader does not enter as a writer
                lock.acquire()
            self.assertTrue(reader.acquire(blocking_timeout=10))
        reader.release()
        with lock:  # taken anew, it is a writer's
            self.assertFalse(reader.acquire(blocking=False))
            lock.downgrade()
            lock.downgrade()

    def test_only_session_locks_of_one_name_are_downgraded(self):
        client = self.client()
        for name, options in (("down-lease", {"hold": "lease"}), ("down-slot", {"slots": 2}), (["down-a", "down-b"], {})):
            with self.subTest(name), client.lock(name, **options) as lock:
                with self.assertRaises(BadArgumentError):
                    lock.downgrade()
                self.assertGreater(lock.check(), 0)

    def test_a_cancel_in_a_crowd_leaves_no_lock(self):
        """Another thread asks for the crowd: a cancel may come before it has asked, and beside the release."""
        client = self.client()
        locks = [client.lock("before")] * 16
        ends, end = [], time.monotonic() + 1

        def work(task):
            while time.monotonic() < end:
                lock = locks[task] = client.lock(f"crowd-{task % 12}", ttl=5, blocking_timeout=5)
                try:
                    lock.acquire()
                except LockCancelledError:
                    continue
                lock.release()
                ends.append(task)

        threads = [threading.Thread(target=work, args=(task,)) for task in range(len(locks))]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            locks[random.randrange(len(locks))].cancel()
            time.sleep(0.0005)
        for thread in threads:
            thread.join(10)
            self.assertFalse(thread.is_alive())
        self.assertEqual(set(ends), set(range(len(locks))))
        self.assertEqual(self.world.keys(), 0)

    def test_a_wait_is_cancelled_from_another_thread(self):
        with self.client().lock("wait"):
            lock, told = self.client().lock("wait"), []

            def wait():
                try:
                    lock.acquire()
                except LockCancelledError as error:
                    told.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            eventually(lock.cancel)
            thread.join(5)
            self.assertEqual(len(told), 1)
        eventually(lambda: self.world.keys() == 0, "the last key's end")

    def test_an_interrupted_wait_leaves_nothing(self):
        with self.client().lock("interrupt"):
            waiter = self.program("import redlockd; c = redlockd.Client(); print('waits')\n"
                                  "try: c.lock('interrupt').acquire()\n"
                                  "except KeyboardInterrupt: print('interrupted')")
            self.assertEqual(waiter.stdout.readline(), "waits\n")
            time.sleep(0.2)  # so that it does wait; an earlier interrupt is as good
            waiter.send_signal(signal.SIGINT)
            self.assertEqual(waiter.stdout.readline(), "interrupted\n")
            self.assertEqual(waiter.wait(5), 0)
        eventually(lambda: self.world.keys() == 0, "the last key's end")

    def test_the_handler_of_a_signal_may_lock_while_its_thread_waits(self):
        with self.client().lock("waited-for") as lock:
            waiter = self.program("import redlockd, signal; c = redlockd.Client()\n"
                                  "def handle(*_):\n"
                                  "    with c.lock('by-signal'): pass\n"
                                  "    print('handled')\n"
                                  "signal.signal(signal.SIGUSR1, handle); print('waits')\n"
                                  "with c.lock('waited-for'): print('has it')")
            self.assertEqual(waiter.stdout.readline(), "waits\n")
            took = []
            for _ in range(3):
                time.sleep(0.3)  # so that it does wait: a handler that comes while its thread asks would wait for itself
                start = time.monotonic()
                waiter.send_signal(signal.SIGUSR1)
                self.assertEqual(waiter.stdout.readline(), "handled\n")
                took.append(time.monotonic() - start)
            self.assertLess(min(took), 0.8)  # the handler reads itself; the client's thread looks each second
            lock.release()
            self.assertEqual(waiter.stdout.readline(), "has it\n")
            self.assertEqual(waiter.wait(5), 0)

    def test_an_interrupt_between_the_grant_and_the_body_leaves_nothing(self):
        """A signal's handler raises at each instruction of the library, one after the other, from the grant on."""
        self.assertGreater(self.interrupted_at_each(("_threads.py", "_engine.py", "_lock.py"), lambda lock: lock.state == "held",
                                                    {"__enter__", "_ask_for", "wait"}), 10)

    def test_an_interrupt_before_the_grant_leaves_nothing(self):
        """The same from the beginning on, but not while `_lock.py` has its guard: the interpreter lets no handler run there."""
        self.assertGreater(self.interrupted_at_each(("_threads.py", "_engine.py"), lambda _lock: True,
                                                    {"__enter__", "_ask_for", "ask", "_want", "wait"}), 50)

    def interrupted_at_each(self, files, begins, expected):
        def interrupt(*_signal):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGUSR1, interrupt)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        client, other = self.client(), self.client()
        interrupted, places, step = 0, set(), 0
        while interrupted == step:  # until the program's own part was reached without an interrupt
            lock, left = client.lock("between"), [step]

            def trace(frame, event, _argument):
                frame.f_trace_opcodes = True
                if not frame.f_code.co_filename.endswith(files):
                    return None
                # The last instruction of __enter__ lies behind its `try`: the interpreter lets no handler run there.
                last = frame.f_code.co_name == "__enter__" and frame.f_code.co_code[frame.f_lasti] == RETURN
                if event == "opcode" and not last and begins(lock):
                    if left[0] == 0:
                        places.add(frame.f_code.co_name)
                        left[0] = -1
                        signal.raise_signal(signal.SIGUSR1)
                    left[0] -= 1
                return trace

            old = sys.gettrace()
            sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for this when tracing begins
            sys.settrace(trace)
            try:
                with lock:
                    sys.settrace(old)
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                sys.settrace(old)
            with other.lock("between", blocking_timeout=5):  # LockTimeoutError: it was left behind
                pass
            step += 1
        self.assertLessEqual(expected, places)
        self.assertEqual((client._engine._waiting, client._engine.session._asks()), (set(), []))
        return step

    def test_threads_lose_no_update(self):
        client, counter = self.client(), [0]

        def add():
            for _ in range(5):
                with client.lock("counter"):
                    read = counter[0]
                    time.sleep(0)
                    counter[0] = read + 1

        threads = [threading.Thread(target=add) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counter[0], 100)

    def test_threads_that_work_keep_no_other_waiting(self):
        """Where many ask at once, each is woken by the one before when that waits again; these have work to do first."""
        client, ready, held, over = self.client(), threading.Barrier(20), [], threading.Event()

        def work(number):
            ready.wait()
            for _ in range(3):
                with client.lock(f"work-{number}", blocking=False):
                    pass
            with client.lock(f"work-{number}", blocking=False):
                held.append(number)
                over.wait(10)

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(20)]
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: len(held) == 20, "the last thread that holds its lock")
        finally:
            over.set()
            for thread in threads:
                thread.join(5)

    def test_a_program_that_dies_gives_back_at_once(self):
        program = self.program("import redlockd; l = redlockd.Client().lock('dies', ttl=9); l.acquire()\n"
                               "print('held'); input()")
        self.assertEqual(program.stdout.readline(), "held\n")
        program.kill()
        with self.client().lock("dies", blocking_timeout=4):
            pass

    def test_a_program_that_ends_gives_back_over_tcp(self):
        program = self.program("import redlockd; l = redlockd.Client().lock('ends', ttl=9); l.acquire()",
                               address=self.world.tcp)
        self.assertEqual(program.wait(10), 0)
        with self.client().lock("ends", blocking_timeout=4):
            pass

    def test_a_paused_program_notices_before_it_would_write(self):
        program = self.program("import redlockd, time\n"
                               "with redlockd.Client().lock('paused', ttl=0.6, max=0.8) as lock:\n"
                               "    while not lock.lost.is_set() and lock.valid() > 0: print('writes'); time.sleep(.02)\n"
                               "    print('stops', lock.locked())\n")
        self.assertEqual(program.stdout.readline(), "writes\n")
        program.send_signal(signal.SIGSTOP)
        with self.client().lock("paused", blocking_timeout=10):
            os.set_blocking(program.stdout.fileno(), False)
            while program.stdout.readline():
                pass
            os.set_blocking(program.stdout.fileno(), True)
            program.send_signal(signal.SIGCONT)
            rest = program.stdout.read()
        # The program may have been stopped between its look and its print: one line, which a fence would catch.
        self.assertLessEqual(rest.count("writes"), 1)
        self.assertIn("stops False", rest)

    def test_a_paused_program_keeps_what_was_renewed(self):
        for client in ("redlockd.Client()", "redlockd.aio.Client()"):
            wait = "await " if "aio" in client else ""
            program = self.program("import asyncio, redlockd.aio, sys, time\n"
                                   "async def main():\n"
                                   f"    lock = {client}.lock('renewed', ttl=1.5)\n"
                                   f"    {wait}lock.acquire()\n"
                                   "    print('held', flush=True)\n"
                                   "    end = time.monotonic() + 5\n"
                                   "    while time.monotonic() < end:\n"
                                   "        if lock.lost.is_set(): print('lost', lock.lost_reason)\n"
                                   "        await asyncio.sleep(.005)\n"
                                   "    print(lock.locked(), lock.fence > 0)\n"
                                   f"    {wait}lock.release()\n"
                                   "asyncio.run(main())\n")
            self.assertEqual(program.stdout.readline(), "held\n")
            program.send_signal(signal.SIGSTOP)
            time.sleep(2.5)
            program.send_signal(signal.SIGCONT)
            self.assertEqual(program.stdout.read(), "True True\n")

    def test_a_lease_is_handed_to_another_process(self):
        lease = self.client().lock("lease", hold="lease", ttl=10)
        lease.acquire()
        program = self.program("import redlockd, sys; c = redlockd.Client(); l = c.attach('lease', sys.argv[1])\n"
                               "print(l.check() > 1, l.extend(10) > 1); l.release()", lease.token)
        self.assertEqual(program.stdout.read(), "True True\n")
        self.assertTrue(self.client().lock("lease").acquire(blocking=False))

    def test_a_session_is_resumed_elsewhere(self):
        first = self.client().lock("moved")
        first.acquire()
        second = self.client().resume("moved", first.token, ttl=2)
        self.assertGreater(second.fence, first.fence)
        self.assertTrue(first.lost.wait(5))
        self.assertEqual(first.lost_reason, "moved")
        second.release()

    def test_what_was_resumed_or_attached_is_entered_as_it_is(self):
        lease = self.client().lock("entered", hold="lease", ttl=10)
        lease.acquire()
        with self.assertRaises(UsageError):
            lease.acquire()
        with self.client().resume("entered", lease.token) as mine:
            self.assertTrue(mine.locked())
            with self.assertRaises(UsageError), mine:
                pass
        self.assertEqual(mine.state, "none")
        lease = self.client().lock("entered", hold="lease", ttl=10)
        lease.acquire()
        with self.client().attach("entered", lease.token) as mine:
            self.assertGreater(mine.check(), 1)
        self.assertTrue(self.client().lock("entered").acquire(blocking=False))

    def test_the_time_to_wait_has_the_names_of_others(self):
        client = self.client()
        with client.lock("waited"):
            for words in ({"timeout": 0.01}, {"blocking_timeout": 0.01}, {"blocking": False}, {"timeout": 0}):
                self.assertFalse(client.lock("waited").acquire(**words), words)
            self.assertFalse(client.lock("waited").acquire(True, 0.01))
            self.assertFalse(client.lock("waited", blocking_timeout=timedelta(0)).acquire())
        self.assertTrue((lock := client.lock("waited")).acquire(timeout=-1))
        lock.release()

    def test_a_function_runs_under_the_lock_of_its_arguments(self):
        client = self.client()
        held = []

        @client.locked("report:{0}:{kind}", blocking=False)
        def report(customer, kind="year"):
            held.append(client.lock(name_of("report", customer, kind)).acquire(blocking=False))
            if customer == "again":
                report(customer)
            return customer

        self.assertEqual([report("a b"), report(7, kind="x,y"), report(customer="z")], ["a b", 7, "z"])
        self.assertEqual(held, [False] * 3)
        self.assertEqual(report.__name__, "report")
        with self.assertRaises(BusyError):
            report("again")
        self.assertTrue(client.lock("report:a%20b:year").acquire(blocking=False))

    def test_a_child_has_nothing_and_begins_anew(self):
        client = self.client()
        with client.lock("forked") as lock:
            answers = multiprocessing.get_context("fork").Queue()
            child = multiprocessing.get_context("fork").Process(target=_in_child,
                                                                args=(self.world.unix, client, lock, answers))
            child.start()
            self.assertEqual(answers.get(timeout=10), ("usage", "ok", 0, False))
            child.join()
            self.assertGreater(lock.check(), 0)

    def test_a_program_that_is_started_inherits_no_connection(self):
        def sockets():
            return subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, text=True, stdin=subprocess.DEVNULL,
                                  capture_output=True).stdout.count("socket:")

        before = sockets()
        with self.client().lock("inherit"):
            self.assertEqual(sockets(), before)

    def test_closing_wakes_who_waits(self):
        with self.client().lock("closing"):
            client, told = self.client(), []

            def wait():
                try:
                    client.lock("closing").acquire()
                except Exception as error:
                    told.append(error.code)

            threads = [threading.Thread(target=wait) for _ in range(5)]
            for thread in threads:
                thread.start()
            eventually(lambda: len(client._engine.session._connections), "the connection")
            client.close()
            for thread in threads:
                thread.join(5)
            self.assertEqual(told, ["CLOSED"] * 5)

    def test_a_client_that_nobody_knows_ends_its_thread(self):
        before = threading.active_count()
        for _ in range(5):
            with Client(self.world.unix).lock("gone", blocking_timeout=5):
                pass
        gc.collect()
        eventually(lambda: threading.active_count() <= before, "the threads' end")


def _in_child(address, client, lock, answers):
    def code(function):
        try:
            function()
            return "ok"
        except UsageError:
            return "usage"

    own = Client(address)
    answers.put((code(lock.release), code(client.lock("other").acquire), lock.valid(),
                 own.lock("forked").acquire(blocking=False)))
    own.close()


class Asyncio(WithWorld, unittest.IsolatedAsyncioTestCase):
    async def connected(self, **options):
        client = aio.Client(self.world.unix, **options)
        self.addAsyncCleanup(client.close)
        return client

    async def test_a_coroutine_runs_under_the_lock_of_its_arguments(self):
        client = await self.connected()

        @client.locked("job:{0}", blocking=False)
        async def job(name):
            return await client.lock(name_of("job", name)).acquire(blocking=False)

        self.assertFalse(await job("a b"))
        self.assertTrue(await client.lock("job:a%20b").acquire(blocking=False))

    async def test_two_hundred_tasks_lose_no_update(self):
        client, counter = await self.connected(), [0]

        async def add():
            async with client.lock("counter", ttl=5) as lock:
                read = counter[0]
                await asyncio.sleep(0)
                counter[0] = read + 1
                return lock.fence

        fences = await asyncio.gather(*(add() for _ in range(200)))
        self.assertEqual(counter[0], 200)
        self.assertEqual(len(set(fences)), 200)

    async def test_cancelled_waits_leave_no_key(self):
        client, other = await self.connected(), await self.connected()
        async with client.lock("cancelled"):
            waits = [asyncio.ensure_future(other.lock("cancelled").acquire()) for _ in range(20)]
            await asyncio.sleep(0.05)
            for wait in waits:
                wait.cancel()
            self.assertTrue(all(isinstance(end, asyncio.CancelledError)
                                for end in await asyncio.gather(*waits, return_exceptions=True)))
        await asyncio.to_thread(eventually, lambda: self.world.keys() == 0, "the last key's end")

    async def test_a_cancel_beside_the_grant_leaves_no_key(self):
        client = await self.connected()
        for turn in range(60):
            task = asyncio.ensure_future(client.lock(f"beside-{turn}").acquire())
            for _ in range(turn % 12):
                await asyncio.sleep(0)
            await asyncio.sleep(turn % 5 / 5000)
            task.cancel()
            if (await asyncio.gather(task, return_exceptions=True))[0] is True:
                client._engine.session.let_go(next(iter(client._engine.session._holds)))
        await asyncio.to_thread(eventually, lambda: self.world.keys() == 0, "the last key's end")

    async def test_a_timeout_around_a_wait(self):
        client, other = await self.connected(), await self.connected()
        async with client.lock("timeout"):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(other.lock("timeout").acquire(), 0.1)
        self.assertTrue(await other.lock("timeout").acquire(blocking_timeout=5))

    async def test_a_cancelled_holder_gives_back(self):
        client, held = await self.connected(), asyncio.Event()

        async def hold():
            async with client.lock("holder"):
                held.set()
                await asyncio.sleep(60)

        task = asyncio.ensure_future(hold())
        await held.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(eventually, lambda: self.world.keys() == 0, "the last key's end")

    async def test_a_loss_is_an_event(self):
        client = await self.connected()
        async with client.lock("event", ttl=0.6) as lock:
            await (await self.connected()).attach("event", lock.token).release()
            await asyncio.wait_for(lock.lost.wait(), 5)
            with self.assertRaises(LostError):
                await lock.release()

    async def test_entering_again_is_for_one_task(self):
        lock = (await self.connected()).lock("again", reentrant=True)
        async with lock:
            async with lock:
                self.assertTrue(lock.owned())
            with self.assertRaises(UsageError):
                await asyncio.ensure_future(lock.acquire())

    async def test_a_writer_becomes_a_reader(self):
        writer, reader = [(await self.connected()).lock("down", **more) for more in ({}, {"mode": "shared"})]
        async with writer:
            fence = writer.fence
            self.assertFalse(await reader.acquire(blocking=False))
            self.assertGreater(await writer.downgrade(), 0)
            self.assertEqual(writer.fence, fence)
            async with reader:
                self.assertTrue(reader.locked() and writer.locked())

    async def test_a_downgrade_is_finished_although_its_task_was_cancelled(self):
        client = await self.connected()
        lock, reader = client.lock("down-cancelled"), (await self.connected()).lock("down-cancelled", mode="shared")
        await lock.acquire()
        token = lock.token
        task = asyncio.ensure_future(lock.downgrade())
        await asyncio.sleep(0)  # its line is sent
        task.cancel()
        self.assertTrue(await reader.acquire(blocking_timeout=10))
        self.assertGreater(await lock.downgrade(), 0)
        self.assertNotEqual(lock.token, token)
        await lock.release()
        await reader.release()
        self.assertTrue(await client.lock("down-cancelled").acquire(blocking_timeout=10))

    async def test_what_was_resumed_is_entered_as_it_is(self):
        client = await self.connected()
        lease = client.lock("entered", hold="lease", ttl=9)
        await lease.acquire()
        async with await client.resume("entered", lease.token) as mine:
            self.assertTrue(mine.locked())
        self.assertEqual(mine.state, "none")

    async def test_another_loop_is_refused(self):
        client = await self.connected()
        await client.lock("loop").acquire()
        with self.assertRaises(UsageError):
            await asyncio.to_thread(asyncio.run, client.lock("loop-2").acquire())

    async def test_many_cycles_leak_nothing(self):
        client = await self.connected()

        async def cycles(name, number):
            for _ in range(number):
                async with client.lock(name, ttl=5):
                    pass

        def size_kb():
            with open("/proc/self/statm", encoding="ascii") as statm:
                return int(statm.read().split()[1]) * 4

        await asyncio.gather(*(cycles(f"cycle-{i}", 30) for i in range(10)))
        before_kb, before_fds = size_kb(), len(os.listdir("/proc/self/fd"))
        await asyncio.gather(*(cycles(f"cycle-{i}", CYCLES // 10) for i in range(10)))
        session = client._engine.session
        self.assertEqual((len(session._holds), len(session._by_token), len(session._queue)),
                         (0, 0, 0))
        self.assertEqual(sum(len(connection.sent) for connection in session._connections), 0)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before_fds)
        self.assertLess(size_kb() - before_kb, 2048)


class Restarts(WithWorld):
    def goes_on(self, end, address):
        client = self.client(address)
        lock = client.lock("goes-on", ttl=8)
        lock.acquire()
        fence, token = lock.fence, lock.token
        self.assertIn(end, ("kill", "term"))
        self.world.do(end)
        self.assertGreater(lock.valid(), 0)
        self.world.do("restart")
        eventually(lambda: lock.fence > fence, "RESUME")
        self.assertNotEqual(lock.token, token)
        self.assertFalse(lock.lost.is_set())
        self.assertGreater(lock.valid(), 0)
        self.assertFalse(self.client().lock("goes-on").acquire(blocking=False))
        lock.release()
        self.assertTrue(self.client().lock("goes-on").acquire(blocking_timeout=2))

    def test_a_lock_goes_on_after_kill_9(self):
        self.goes_on("kill", self.world.unix)

    def test_a_lock_goes_on_after_kill_9_over_tcp(self):
        self.goes_on("kill", self.world.tcp)

    def test_a_lock_goes_on_after_a_drain(self):
        self.goes_on("term", self.world.unix)

    def test_every_kind_of_lock_goes_on_after_kill_9(self):
        kinds = [("reader", {"mode": "shared"}), ("writer", {}), ("place", {"slots": 2}), (["one", "two"], {})]
        client = self.client()
        locks = [client.lock(name, ttl=8, **options) for name, options in kinds]
        for lock in locks:
            lock.acquire()
        locks[1].downgrade()
        before = [(lock.token, lock.slot) for lock in locks]
        self.world.do("kill")
        self.world.do("restart")
        for lock, (token, slot) in zip(locks, before):
            eventually(lambda: lock.token != token, "RESUME")
            self.assertGreater(lock.check(), 0)
            self.assertEqual(lock.slot, slot)
        for name in ("reader", "writer", "two"):
            self.assertFalse(self.client().lock(name).acquire(blocking=False))
        self.assertTrue(self.client().lock("writer", mode="shared").acquire(blocking_timeout=10))
        for lock in locks:
            lock.release()

    def test_a_wait_goes_on_after_kill_9(self):
        holder, waiter = self.client().lock("waits", ttl=8), self.client().lock("waits", ttl=8)
        waiter.acquire()  # its client has met redlockd: else it would not wait for redlockd to come back
        waiter.release()
        holder.acquire()
        thread = threading.Thread(target=waiter.acquire)
        thread.start()
        eventually(lambda: waiter.state == "waiting")
        self.world.do("kill")
        self.world.do("restart")
        eventually(lambda: holder.check() > 0)
        holder.release()
        thread.join(10)
        self.assertTrue(waiter.locked())
        waiter.release()

    def test_a_crowd_goes_on_after_kill_9_and_ends_with_close(self):
        """Connections end in the middle of what was asked together, and the client is closed under all callers."""
        client, ends, cycles = self.client(), [], [0] * 16

        def work(task):
            while True:
                try:
                    with client.lock(f"crowd-{task % 12}", ttl=2):
                        cycles[task] += 1
                except ClosedError as error:
                    ends.append(error)
                    return
                except (NoAnswerError, LostError):
                    pass

        threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in range(len(cycles))]
        for thread in threads:
            thread.start()
        for turn in range(3):
            before = list(cycles)
            eventually(lambda: all(now > then for now, then in zip(cycles, before)), "a cycle of each")
            if turn < 2:
                self.world.do("kill")
                self.world.do("restart")
        client.close()
        for thread in threads:
            thread.join(10)
        self.assertEqual(len(ends), len(threads))
        engine, session = client._engine, client._engine.session
        self.assertEqual([len(left) for left in (engine._waiting, engine._wanted, engine._told, session._by_token,
                                                 [ask for ask in session._asks() if ask.tell])], [0] * 5)
        eventually(lambda: self.world.keys() == 0, "the last key's end")

    def test_no_daemon_until_the_deadline_is_a_loss(self):
        client = self.client(timeout=1)
        lock = client.lock("too-late", ttl=0.8)
        lock.acquire()
        self.world.do("kill")
        try:
            self.assertTrue(lock.lost.wait(5))
            self.assertEqual(lock.valid(), 0)
            with self.assertRaises(UnreachableError):
                client.lock("other", blocking=False).acquire()
        finally:
            self.world.do("restart")
        with self.assertRaises(LostError):
            lock.release()
        self.assertTrue(client.lock("other").acquire(blocking_timeout=5))


if __name__ == "__main__":
    unittest.main()
