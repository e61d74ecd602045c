#!/usr/bin/env python3
"""auth.py DRIVER...: each conformance driver as a user of a real redlockd: its secret, its rights, and its locks after
redlockd was killed and started again. Prints what a Check program does, for tests/run.sh."""
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile

PATIENCE_S = 20
HERE = pathlib.Path(__file__).resolve().parent
REDLOCK = os.environ.get("REDLOCK") or "build/redlock"


class Talk:
    """A program that answers lines with lines."""

    def __init__(self, argv, **environment):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env={**os.environ, **environment})

    def hear(self, pattern):
        while True:
            if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
                raise AssertionError(f"nothing came like {pattern}")
            line = self.process.stdout.readline().strip()
            if re.match(pattern, line):
                return line
            if " expiring" not in line:
                raise AssertionError(f"{line!r} is not like {pattern}")

    def ask(self, text, pattern):
        self.process.stdin.write(text + "\n")
        return self.hear(pattern)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        if self.process.wait(PATIENCE_S) != 0:
            raise AssertionError(f"{self.process.args[0]} ended with {self.process.returncode}")


def fence(line):
    return int(re.search(r"fence=(\d+)", line)[1])


def check(driver, folder):
    made = subprocess.run([REDLOCK, "mkuser", "worker"], capture_output=True, text=True, check=True)
    secret, line = made.stdout.split()
    for name, text in (("secret", secret), ("wrong", secret[::-1]), ("worker.sha256", line)):
        (folder / name).write_text(text + "\n")
        (folder / name).chmod(0o600)
    users = f"[{{name: worker, secret_file: {folder}/worker.sha256, lock: ['job*']}}]"
    world = Talk([str(HERE / "world"), "--set", f"users={users}", "--set", "max_ttl=20s"])
    try:
        places = dict(word.split("=", 1) for word in world.hear("world ").split()[1:])
        for address in (f"unix:{places['unix']}", places["tcp"]):
            known = {"REDLOCK_ADDRESS": address, "REDLOCK_USER": "worker"}
            talk = Talk([driver], **known, REDLOCK_SECRET_FILE=str(folder / "wrong"))
            talk.hear("driver ")
            talk.ask("open", "client open")
            talk.ask("lock a job wait=10s", "a error AUTH ")
            talk.close()
            talk = Talk([driver], **known, REDLOCK_SECRET_FILE=str(folder / "secret"))
            talk.hear("driver ")
            talk.ask("open", "client open")
            before = fence(talk.ask("lock a job wait=10s ttl=15s", "a locked "))
            talk.ask("lock b other", "b error DENIED ")
            world.ask("kill", "killed")
            world.ask("restart", "restarted ")
            for _ in range(PATIENCE_S * 100):
                now = talk.ask("info a", "a info state=held ")
                if fence(now) > before:
                    break
                select.select([], [], [], 0.01)
            else:
                raise AssertionError("the lock was not resumed")
            talk.ask("unlock a", "a unlocked")
            talk.close()
    finally:
        world.process.stdin.close()
        world.process.wait(PATIENCE_S)


def main():
    failures = 0
    for driver in sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="auth-") as folder:
            try:
                check(driver, pathlib.Path(folder))
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failures += 1
                print(f"{driver}: {error}")
    checks = len(sys.argv) - 1
    print(f"{100 * (checks - failures) // checks if checks else 0}%: Checks: {checks}, Failures: {failures}, Errors: 0")
    raise SystemExit(bool(failures) or not checks)


if __name__ == "__main__":
    main()
