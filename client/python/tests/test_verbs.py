"""who, show, watch, lead, keep and data, with both clients and real daemons."""
import asyncio
import threading
import time
import unittest

import support
from redlockd import (BadArgumentError, BusyError, Client, ClosedError, ModeError, NameState,
                      UnreachableError, aio)
from support import World, eventually


class WithWorld(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World("--set", "max_keep=5s")
        cls.addClassCleanup(cls.world.stop)

    def client(self, **options):
        client = Client(self.world.unix, **options)
        self.addCleanup(client.close)
        return client


class Blocking(WithWorld):
    def test_who_has_a_lock_and_what_it_tells(self):
        client = self.client()
        self.assertEqual(client.who("asked"), [])
        with client.lock("asked", data="10.0.0.5:8080") as lock:
            row, = self.client().who("asked")
            self.assertEqual((row["data"], int(row["fence"])), ("10.0.0.5:8080", lock.fence))
            lock.set_data("10.0.0.5:9090")
            self.assertEqual(client.who("asked")[0]["data"], "10.0.0.5:9090")
            self.assertIn("asked", [row["name"] for row in client.show("locks")])
            self.assertTrue(any("redlockd" in row for row in client.show("VERSION")))
        for wrong in ("LOCKS\nQUIT", ""):
            with self.assertRaises(BadArgumentError):
                client.show(wrong)
        with self.assertRaises(BadArgumentError):
            client.lock("a", data="x", hold="lease")
        with client.lock("plain") as lock, self.assertRaises(ModeError):
            lock.set_data("x")

    def test_a_name_is_kept_after_its_lock(self):
        lock, other = self.client().lock("kept"), self.client().lock("kept")
        lock.acquire()
        lock.release(keep=0.5)
        self.assertFalse(other.acquire(blocking=False))
        self.assertEqual(self.client().who("kept")[0]["mode"], "kept")
        self.assertTrue(other.acquire(timeout=10))
        other.release()
        lock.acquire()
        with self.assertRaises(BadArgumentError):  # beyond max_keep: it is given back all the same
            lock.release(keep=60)
        self.assertTrue(other.acquire(blocking=False))

    def test_a_block_keeps_the_name_for_what_is_left_of_at_least(self):
        client, other = self.client(), self.client()
        began = time.monotonic()
        with client.lock("least", at_least=0.8):
            time.sleep(0.3)
        with self.assertRaises(BusyError):
            other.lock("least", blocking=False).__enter__()
        with other.lock("least", blocking_timeout=10):
            self.assertGreaterEqual(time.monotonic() - began, 0.75)
        with client.lock("least", at_least=0.05):
            time.sleep(0.1)
        with other.lock("least", blocking=False):
            pass
        with self.assertRaises(KeyError), client.lock("least", at_least=5):
            raise KeyError("of the program")
        with other.lock("least", blocking=False):
            pass
        with self.assertLogs("redlockd", "WARNING"), client.lock("least", at_least=60):
            pass  # beyond max_keep

    def test_a_watcher_is_told_of_each_change_also_behind_a_restart(self):
        client, states = self.client(), []
        watch = client.watch("seen")

        def read():
            for state in watch:
                states.append(state)

        reader = threading.Thread(target=read)
        reader.start()
        eventually(lambda: states == [NameState("free")], "the first state")
        lock = self.client().lock("seen", ttl=9, data="me")
        lock.acquire()
        eventually(lambda: states[-1].state == "held", "the holder")
        self.assertEqual((states[-1].data, states[-1].fence), ("me", lock.fence))
        with client.watch("seen") as second:
            self.assertEqual(next(second), states[-1])
        fence = lock.fence
        self.world.do("kill")
        self.world.do("restart")
        eventually(lambda: lock.fence > fence, "RESUME")
        eventually(lambda: states[-1].fence == lock.fence, "the new fence")
        lock.release()
        eventually(lambda: states[-1].state == "free", "the release")
        fences = [state.fence for state in states if state.fence]
        self.assertEqual(fences, sorted(fences))
        watch.close()
        reader.join(5)
        self.assertFalse(reader.is_alive())
        eventually(lambda: {"watches": "0"} in client.show("stats"), "the end of the watch")
        next(last := client.watch("seen"))
        ended = []

        def wait():
            try:
                next(last)
            except ClosedError as error:
                ended.append(error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        client.close()
        waiter.join(5)
        self.assertEqual(len(ended), 1)

    def test_a_loop_that_was_left_watches_no_more(self):
        client, other = self.client(), self.client()
        for _ in client.watch("left"):
            break
        with other.lock("left"):
            eventually(lambda: {"watches": "0"} in other.show("stats"), "the end of the watch")

    def test_nobody_listens_there(self):
        with Client("unix:/nowhere/at-all") as client, self.assertRaises(UnreachableError):
            next(client.watch("x"))

    def test_one_leads_at_a_time_and_the_next_when_it_ends(self):
        running, results = [], []

        def work(lock):
            self.assertEqual(running, [])
            running.append(lock)
            lock.ensure()
            time.sleep(0.03)
            running.remove(lock)
            return lock.fence

        threads = [threading.Thread(target=lambda client: results.append(client.lead("lead", work)), args=[self.client()])
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual(results, sorted(set(results)))
        self.assertEqual(len(results), 3)

    def test_a_leader_that_loses_its_lock_waits_to_lead_again(self):
        client, reasons = self.client(), []

        def work(lock):
            if reasons:
                return "second term"
            self.assertEqual(client.who("deposed")[0]["data"], "host:1")
            self.client().attach("deposed", lock.token).release()
            self.assertTrue(lock.lost.wait(5))
            reasons.append(lock.lost_reason)
            lock.ensure()

        self.assertEqual(client.lead("deposed", work, data="host:1"), "second term")
        self.assertEqual(reasons, ["released"])
        with self.assertRaises(KeyError):
            client.lead("deposed", lambda lock: {}["of the program"])
        self.assertTrue(client.lock("deposed").acquire(blocking=False))

    def test_an_election_goes_on_while_redlockd_is_away_and_ends_with_the_client(self):
        client = self.client(timeout=0.2)
        client.show("version")
        self.world.do("kill")
        threading.Timer(0.4, self.world.do, ["restart"]).start()
        self.assertEqual(client.lead("away", lambda lock: "led"), "led")
        candidate, ended = self.client(), []
        with client.lock("away"):

            def lead():
                try:
                    candidate.lead("away", lambda lock: None)
                except ClosedError as error:
                    ended.append(error)

            thread = threading.Thread(target=lead)
            thread.start()
            eventually(lambda: client.show("waiters"), "the candidate")
            candidate.close()
            thread.join(5)
        self.assertEqual(len(ended), 1)


class Asyncio(WithWorld, unittest.IsolatedAsyncioTestCase):
    async def connected(self):
        client = aio.Client(self.world.unix)
        self.addAsyncCleanup(client.close)
        return client

    async def test_who_keep_and_data(self):
        client = await self.connected()
        async with client.lock("asked", data="here") as lock:
            await lock.set_data("there")
            self.assertEqual((await client.who("asked"))[0]["data"], "there")
            self.assertIn("asked", [row["name"] for row in await client.show("LOCKS")])
        await lock.acquire()
        await lock.release(keep=3)
        self.assertFalse(await client.lock("asked").acquire(blocking=False))
        async with client.lock("least", at_least=3):
            pass
        self.assertFalse(await client.lock("least").acquire(blocking=False))

    async def test_a_watcher_is_told_of_each_change(self):
        client, other, states = await self.connected(), await self.connected(), []
        async with other.lock("seen", data="me") as lock:
            async for state in client.watch("seen"):
                states.append(state)
                if len(states) == 1:
                    await lock.release(keep=0.3)
                elif state.state == "free":
                    break
            await lock.acquire()
        self.assertEqual((states[0].state, states[0].data), ("held", "me"))
        self.assertIn("kept", [state.state for state in states])
        watch = client.watch("seen")
        await anext(watch)
        await watch.aclose()
        with self.assertRaises(StopAsyncIteration):
            await anext(watch)

    async def test_a_leader_is_cancelled_when_its_lock_is_lost(self):
        client, terms = await self.connected(), []

        async def work(lock):
            terms.append(lock.fence)
            if len(terms) == 2:
                return "second term"
            await client.attach("deposed", lock.token).release()
            await asyncio.sleep(60)

        self.assertEqual(await asyncio.wait_for(client.lead("deposed", work), 20), "second term")
        self.assertEqual(terms, sorted(terms))

        async def fails(_lock):
            raise KeyError("of the program")

        with self.assertRaises(KeyError):
            await client.lead("deposed", fails)
        task = asyncio.ensure_future(client.lead("deposed", lambda lock: asyncio.sleep(60)))
        await asyncio.sleep(0.1)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertTrue(await client.lock("deposed").acquire(blocking_timeout=5))


if __name__ == "__main__":
    unittest.main()
