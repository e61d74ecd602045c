"""The programs of README.md run as they stand, and the package is complete."""
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support
from support import PACKAGE, World, environment


TYPED = """import redlockd
client = redlockd.Client()
lock: redlockd.Lock = client.lock(["a", "b"], ttl=0.5, hold="lease")
client.lock("a", hold="forever")
client.lock("a", ttl="10s")
with lock as entered:
    left: float = entered.valid() + entered.downgrade()
"""


def version_of(package):
    if importlib.util.find_spec(package) is None:
        return ()
    return tuple(int(number) for number in re.findall(r"\d+", importlib.metadata.version(package))[:2])


class Readme(unittest.TestCase):
    def test_its_programs_run(self):
        world = World()
        self.addCleanup(world.stop)
        programs = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.S)
        self.assertEqual(len(programs), 6)
        for program in [text for text in programs if "redlockd.contrib" not in text]:  # test_contrib.py runs that
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=folder, text=True, timeout=30,
                                      capture_output=True, env=environment(REDLOCK_ADDRESS=world.unix))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"(fence \d+|means .*|leads 10.0.0.5:8080 True)\n$")


class Package(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("REDLOCKD_TESTS_LONG") and shutil.which("mypy"), "it takes long, and needs mypy")
    def test_its_types_are_right(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(TYPED)
            done = subprocess.run(["mypy", "--strict", f"--cache-dir={folder}", "-p", "redlockd"], cwd=PACKAGE, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            done = subprocess.run(["mypy", "--strict", f"--cache-dir={folder}", program], text=True, capture_output=True,
                                  env=environment(MYPYPATH=str(PACKAGE)))
        wrong = [line for line in done.stdout.splitlines() if "error:" in line]
        self.assertEqual([int(line.split(":")[1]) for line in wrong], [4, 5], done.stdout)

    @unittest.skipIf(version_of("setuptools") < (61,), "setuptools 61 or later is not installed")
    def test_it_can_be_built(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "source")
            shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "tests"))
            kind = "build_wheel" if version_of("wheel") or version_of("setuptools") >= (70, 1) else "build_sdist"
            done = subprocess.run(
                [sys.executable, "-c", f"from setuptools import build_meta; print(build_meta.{kind}('{folder}'))"],
                cwd=source, text=True, capture_output=True, env=environment(), timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            built = pathlib.Path(folder, done.stdout.split()[-1])
            if kind == "build_wheel":
                names = zipfile.ZipFile(built).namelist()
            else:
                names = subprocess.run(["tar", "tzf", built], text=True, capture_output=True).stdout.split()
            modules = {path.name for path in (PACKAGE / "redlockd").iterdir() if path.suffix in (".py", ".typed")}
            self.assertLessEqual(modules, {pathlib.Path(name).name for name in names})
            self.assertIn("py.typed", modules)


if __name__ == "__main__":
    unittest.main()
