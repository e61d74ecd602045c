"""redlockd.contrib with the packages of the system, where they are installed: each test is a program of its own."""
import re
import shutil
import subprocess
import sys
import unittest

from support import PACKAGE, World, environment


def python_with(package):
    """A Python that has the package, or None."""
    for python in (sys.executable, shutil.which("python3", path="/usr/bin")):
        fits = f"import sys, {package}; sys.exit(sys.version_info < (3, 10))"
        if python and subprocess.run([python, "-c", fits], capture_output=True).returncode == 0:
            return python
    return None


CELERY = """
import sys, threading, time
import celery, redlockd
from celery.contrib.testing.worker import start_worker
from redlockd.contrib.celery import LockedTask

app = celery.Celery("app", broker="memory://", backend="cache+memory://")
app.conf.task_always_eager = False
other = redlockd.Client()

@app.task(base=LockedTask, lock_name="report:{0}", bind=True)
def report(self, customer):
    self.lock.ensure()
    return not other.lock(redlockd.name_of("report", customer)).acquire(blocking=False)

@app.task(base=LockedTask, lock_at_least=5, name="hourly")
def hourly():
    return "done"

@app.task(base=LockedTask, lock_name="retried", lock_busy=0.1, max_retries=200)
def retried():
    return "at last"

@app.task(base=LockedTask, lock_name="fails", lock_at_least=60)
def fails():
    raise KeyError("of the program")

assert report.apply(["a b"]).get() is True
assert hourly.apply().get() == "done"
assert hourly.apply().state == "IGNORED", hourly.apply().state
assert other.who("hourly")[0]["mode"] == "kept"
assert isinstance(fails.apply().result, KeyError)
assert other.lock("fails").acquire(blocking=False)
with start_worker(app, perform_ping_check=False, pool="threads"):
    assert report.delay("c").get(timeout=20) is True
    with other.lock("retried"):
        waiting = retried.delay()
        time.sleep(0.3)
    assert waiting.get(timeout=20) == "at last"
print("celery ok")
"""

DJANGO = """
import io, os, sys, types
from django.conf import settings
settings.configure(REDLOCKD={"address": os.environ["REDLOCK_ADDRESS"], "client": "django"})
import django
django.setup()
from django.core.management import call_command
from redlockd.contrib.django import LockedCommand, client, lock

with lock("invoice", 17, "x y", timeout=5, blocking_timeout=3) as held:
    assert held.name == "invoice:17:x%20y" and held.valid() > 0
    assert not lock("invoice", 17, "x y").acquire(blocking=False)

ran = []

class Command(LockedCommand):
    lock_at_least = 3

    def handle(self, *args, **options):
        self.lock.ensure()
        ran.append(client().who(self.lock.name)[0]["votes"])
        if options.get("traceback"):
            raise KeyError("of the program")

Command.__module__ = "shop.management.commands.nightly"
try:
    call_command(Command(), traceback=True)
    raise AssertionError("no error")
except KeyError:
    pass
call_command(Command())
said = io.StringIO()
call_command(Command(stderr=said), verbosity=2)
call_command(Command())
assert len(ran) == 2, ran
assert "command:nightly is locked" in said.getvalue(), said.getvalue()
print("django ok")
"""


class Contrib(unittest.TestCase):
    def run_with(self, package, text):
        python = python_with(package)
        if not python:
            self.skipTest(f"left out: {package} is not installed")
        world = World()
        self.addCleanup(world.stop)
        done = subprocess.run([python, "-c", text], text=True, capture_output=True, timeout=120,
                              env=environment(REDLOCK_ADDRESS=world.unix))
        self.assertEqual((done.returncode, done.stdout), (0, f"{package} ok\n"), done.stderr)

    def test_the_programs_of_the_readme(self):
        text, = re.findall(r"```python\n(from redlockd.contrib.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.S)
        begin = "import celery\napp = celery.Celery('app', broker='memory://')\n"
        self.run_with("celery", f"{begin}{text}\nreport.apply(['x']).get()\nhourly.apply().get()\nprint('celery ok')")

    def test_celery(self):
        self.run_with("celery", CELERY)

    def test_django(self):
        self.run_with("django", DJANGO)


if __name__ == "__main__":
    unittest.main()
