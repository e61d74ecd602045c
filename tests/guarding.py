"""tests/guarding.py REDLOCKD REDLOCK: runs the statements of client/GUARDING.md, its blocks ```sql and ```lua, against
SQLite, PostgreSQL and Redis: a holder is paused in front of each of its steps, its lease runs out, and another holder comes.
Fences and tokens are those of a daemon with masters of its own. Prints what a Check program does, for tests/run.sh."""

import glob
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

LEASE_MS = 300
results = []


def check(title, true, said=""):
    results.append(true)
    if not true:
        print(f"{title}:\n    {said}")


def statements(page, language):
    """{"fence, read": text} of the page's blocks in this language."""
    found = {}
    for block in re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for name, text in re.findall(r"^-- ([a-z, ]+):\n(.*?)(?=^-- |\Z)", block, re.MULTILINE | re.DOTALL):
            found[name] = text.strip()
    return found


class Locks:
    """A daemon, and grants of it."""

    def __init__(self, daemon, command):
        self.command = command
        self.process = subprocess.Popen([daemon, "--dev=3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on unix:"):
                self.address = line.removeprefix("listening on ").strip()
                self.masters = self.address.removeprefix("unix:").rsplit("/", 1)[0]
                return
        sys.exit("the daemon did not start")

    def run(self, *words):
        done = subprocess.run([self.command, "-a", self.address, *words], capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout

    def grant(self, ttl_ms=20_000):
        """Waits for the lock, and so until the lease before has run out. Returns (fence, token)."""
        _, said = self.run("lock", "--lease", "-w", "20s", "-t", f"{ttl_ms}ms", "page")
        values = dict(re.findall(r"REDLOCK_([A-Z]+)='?([^'; \n]*)", said))
        return int(values["FENCE"]), values["TOKEN"]

    def is_held(self, token):
        return self.run("check", "-q", "page", token)[0] == 0

    def release(self, token):
        self.run("unlock", "page", token)

    def end(self):
        self.process.terminate()
        self.process.wait()


class Sqlite:
    name = f"SQLite {sqlite3.sqlite_version}"
    language = "sql"

    def __init__(self, folder):
        self.connection = sqlite3.connect(folder / "page.db", isolation_level=None)

    def reset(self):
        self.connection.executescript(SCHEMA)

    def run(self, statement, **values):
        cursor = self.connection.execute(statement, {"id": "front", **values})
        if cursor.description:
            row = cursor.fetchone()
            return row[0] if row else None
        return cursor.rowcount or None

    def body(self):
        return self.connection.execute("SELECT body FROM page").fetchone()[0]

    def end(self):
        self.connection.close()


class Postgres:
    language = "sql"

    @staticmethod
    def programs():
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        return folders[-1] if folders and shutil.which("psql") else None

    def __init__(self, folder):
        binaries = self.programs()
        # The server refuses to be root.
        self.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
        self.folder = folder / "postgres"
        self.folder.mkdir(mode=0o700)
        if self.prefix:
            os.chown(self.folder, 65534, 65534)
            folder.chmod(0o755)
        data = self.folder / "data"
        subprocess.run([*self.prefix, f"{binaries}/initdb", "--no-sync", "-A", "trust", "-U", "test", "-D", data],
                       check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.server = subprocess.Popen(
            [*self.prefix, f"{binaries}/postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=", "-F"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        for _ in range(300):
            if self.psql("SELECT 1").returncode == 0:
                break
            time.sleep(0.1)
        self.name = "PostgreSQL " + self.psql("SHOW server_version").stdout.split()[0]

    def psql(self, text, **values):
        named = [word for key, value in values.items() for word in ("-v", f"{key}={value}")]
        return subprocess.run(["psql", "-X", "-At", "-h", self.folder, "-U", "test", "-v", "ON_ERROR_STOP=1", *named,
                               "postgres"], input=text, capture_output=True, text=True, timeout=60, check=False)

    def reset(self):
        self.psql(SCHEMA)

    def run(self, statement, **values):
        done = self.psql(re.sub(r":([a-z]+)", r":'\1'", statement), id="front", **values)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        *rows, changed = ("\n" + done.stdout.rstrip("\n")).split("\n")[1:] if "UPDATE" in done.stdout else \
            (*done.stdout.split("\n")[:-1], "")
        if "RETURNING" in statement or statement.startswith("SELECT"):
            return rows[0] if rows else None
        return None if changed == "UPDATE 0" else changed

    def body(self):
        return self.psql("SELECT body FROM page").stdout.strip()

    def end(self):
        self.server.terminate()
        self.server.wait()


class Redis:
    """One of the daemon's masters, as a Redis of the application's own would be."""

    language = "lua"

    def __init__(self, socket):
        self.socket = socket
        version = re.search(r"(redis|valkey)_version:(\S+)", self.cli("INFO", "server"))
        self.name = "Redis " + version.group(2)

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-e", "-s", self.socket, *words], capture_output=True, text=True, check=True,
                              timeout=30).stdout.rstrip("\n")

    def reset(self):
        self.cli("DEL", "front")
        self.cli("HSET", "front", "body", "old", "signed", "nobody")

    def run(self, statement, **values):
        said = self.cli("EVAL", statement, "1", "front", *(str(value) for value in values.values()))
        return None if said in ("", "0") else said

    def body(self):
        return self.cli("HGET", "front", "body")

    def end(self):
        pass


SCHEMA = """DROP TABLE IF EXISTS page;
CREATE TABLE page (id TEXT PRIMARY KEY, body TEXT, fence BIGINT NOT NULL DEFAULT 0, signed TEXT NOT NULL);
INSERT INTO page (id, body, signed) VALUES ('front', 'old', 'nobody');
"""


class Holder:
    """Does one step of a program after the other, so that others can come in between."""

    def __init__(self, store, text, who, locks, ttl_ms):
        self.store, self.text, self.who, self.locks = store, text, who, locks
        self.fence, self.token = locks.grant(ttl_ms)
        self.refused = None

    def step(self, name, good):
        if self.refused is None and not good:
            self.refused = name
        return good


class Fenced(Holder):
    steps = ("read", "write")
    shown, looks = 0, -1  # the step by which the resource knows the holder, and by which the holder looks at its lock

    def read(self):
        self.step("read", self.store.run(self.text["fence, read"], fence=self.fence) is not None)

    def write(self):
        self.step("write", self.store.run(self.text["fence, write"], fence=self.fence, body=self.who) is not None)


class Signed(Holder):
    steps = ("read", "sign", "look", "write")
    shown, looks = 1, 2
    seen = ""

    def read(self):
        self.seen = self.store.run(self.text["token, read"])

    def sign(self):
        self.step("sign", self.store.run(self.text["token, sign"], token=self.token, seen=self.seen) is not None)

    def look(self):
        self.step("look", self.locks.is_held(self.token))

    def write(self):
        self.step("write", self.store.run(self.text["token, write"], token=self.token, body=self.who) is not None)


def take(holder, steps):
    for step in steps:
        if holder.refused is None:
            getattr(holder, step)()


def paused(kind, store, text, locks, before, until):
    """The first holder stands still in front of its step `before`, until its lease is over and the second one has done
    its steps in front of `until`; then the first one goes on to its end, and then the second one."""
    store.reset()
    first = kind(store, text, "first", locks, LEASE_MS)
    take(first, kind.steps[:before])
    second = kind(store, text, "second", locks, 20_000)
    take(second, kind.steps[:until])
    take(first, kind.steps[before:])
    meanwhile = store.body()
    take(second, kind.steps[until:])
    if second.refused is not None:  # it has the lock, and begins again
        second.refused = None
        take(second, kind.steps)
    locks.release(second.token)
    title = f"{store.name}, {kind.__name__.lower()}, paused before {before}, until the next is at {until}"
    # Before the next one was seen by the resource, a late write is as good as one in time: the next one finds it.
    came = until > kind.shown
    if came or before <= kind.looks:
        check(f"{title}: the paused one is refused", first.refused is not None, "it wrote")
        check(f"{title}: nothing of the paused one is seen", meanwhile != "first", f"the body was {meanwhile}")
    if came and before == kind.shown:
        step = kind.steps[before]
        check(f"{title}: its {step} is refused", first.refused == step, f"refused at {first.refused}")
    check(f"{title}: the next one writes", second.refused is None and store.body() == "second",
          f"refused at {second.refused}, and the body is {store.body()}")


def alone(kind, store, text, locks):
    store.reset()
    holder = kind(store, text, "alone", locks, 20_000)
    take(holder, kind.steps)
    take(holder, ["write"])
    locks.release(holder.token)
    check(f"{store.name}, {kind.__name__.lower()}: a holder that is not paused writes twice",
          holder.refused is None and store.body() == "alone", f"refused at {holder.refused}")


def main():
    daemon, command = sys.argv[1:3]
    page = pathlib.Path("client/GUARDING.md").read_text(encoding="utf-8")
    locks = Locks(daemon, command)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        stores = [Sqlite(folder), Redis(f"{locks.masters}/1.sock")]
        if Postgres.programs():
            stores.append(Postgres(folder))
        else:
            print("left out: PostgreSQL, which is not installed")
        try:
            for store in stores:
                text = statements(page, store.language)
                for kind in Fenced, Signed:
                    alone(kind, store, text, locks)
                    for before in range(len(kind.steps)):
                        for until in range(len(kind.steps) + 1):
                            paused(kind, store, text, locks, before, until)
        finally:
            for store in stores:
                store.end()
            locks.end()
    bad = results.count(False)
    print(f"{100 * (len(results) - bad) // len(results)}%: Checks: {len(results)}, Failures: {bad}, Errors: 0")
    return bad > 0


sys.exit(main())
