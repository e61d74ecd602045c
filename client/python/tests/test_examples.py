"""The examples do their jobs, with a fault in the middle."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from support import PACKAGE, World, environment


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.stop)

    def start(self, name, *arguments, **more):
        process = subprocess.Popen([sys.executable, PACKAGE / "examples" / name, *map(str, arguments)], text=True,
                                   stdout=subprocess.PIPE, env=environment(REDLOCK_ADDRESS=self.world.unix, **more))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_next_leader_takes_over(self):
        first = self.start("leader.py", "chief")
        self.assertIn("leads", first.stdout.readline())
        second = self.start("leader.py", "chief")
        self.assertIn("works", first.stdout.readline())
        first.kill()
        self.assertIn("leads", second.stdout.readline())
        second.send_signal(signal.SIGINT)
        self.assertEqual(second.wait(10), 130)

    def test_one_of_many_runs_the_job(self):
        done = self.folder / "done"
        jobs = [self.start("nightly.py", "report", "sh", "-c", f"echo once >>{done}", NIGHT="n", KEEP="5")
                for _ in range(4)]
        self.assertEqual([job.wait(20) for job in jobs], [0] * 4)
        self.assertEqual(done.read_text(), "once\n")

    def test_a_late_writer_is_refused(self):
        late = self.start("writer.py", self.folder / "db", "late", PAUSE="0.3", TTL="1")
        self.assertEqual(late.stdout.readline(), "late works\n")
        late.send_signal(signal.SIGSTOP)
        other = self.start("writer.py", self.folder / "db", "other", PAUSE="0")
        self.assertEqual(other.stdout.read(), "other works\nother wrote\n")
        late.send_signal(signal.SIGCONT)
        self.assertEqual(late.stdout.read(), "late was too late\n")

    def test_one_builds_and_the_others_find_it(self):
        command = f"echo built >>{self.folder}/builds; sleep 0.1; echo value"
        readers = [self.start("cache.py", self.folder, "weather", 60, command) for _ in range(4)]
        self.assertEqual([reader.stdout.read() for reader in readers], ["value\n"] * 4)
        self.assertEqual((self.folder / "builds").read_text(), "built\n")


if __name__ == "__main__":
    unittest.main()
