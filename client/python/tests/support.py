"""Shared by the tests: a world of real masters and a real daemon, and waiting without fixed pauses."""
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent
TOP = PACKAGE.parent.parent
PATIENCE_S = 10
sys.path.insert(0, str(PACKAGE))


def environment(**more):
    """The environment of programs that the tests start."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("REDLOCK_")}
    return {**kept, "PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", **more}


def eventually(look, what="it"):
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(f"within {PATIENCE_S} s {what} did not happen")
        time.sleep(0.01)
    return found


class World:
    """tests/stubs/world, which dies with us."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([sys.executable, TOP / "tests/stubs/world", *arguments], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        words = self.process.stdout.readline().split()
        if not words:
            raise AssertionError("tests/stubs/world did not start")
        self.words = dict(word.split("=", 1) for word in words[1:])
        self.unix = f"unix:{self.words['unix']}"
        self.tcp = self.words["tcp"]
        self.masters = self.words["masters"].split(",")

    def do(self, command):
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer.startswith("error") or not answer:
            raise AssertionError(f"world: {command}: {answer}")
        return answer

    def keys(self):
        return int(self.do("keys").split()[1])

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()
