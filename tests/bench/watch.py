#!/usr/bin/env python3
"""tests/bench/watch.py DAEMON [part ...]: who leads, and when that is known (make bench-watch).

Five masters and ten daemons of its own; each figure is the median of five runs, with the least and the most.

 - change: 1,000 clients watch one name, a tenth of them through each daemon. The leader gives the lock back, and the next
   one, who waits at another daemon, gets it. now_: from its +LOCKED to the !NOW of each watcher. Beside that, in the same
   run: handover_, from UNLOCK to +LOCKED where nobody watches; look_, an answer to WHO.
 - killed: the process of the leader is killed. next_: from then to the +LOCKED of the next one, at the same daemon.
 - held: 1,000 names are held through all daemons and watched at each of them, and nothing changes: the looks at names,
   the scripts and the PUBLISH of one master in a second; alone_: of the same names, each watched at one daemon, another
   than the holder's; unknown: how often masters answered too late, on a machine that is too busy.
"""

import os
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

MASTERS, DAEMONS, WATCHERS, NAMES = 5, 10, 1000, int(os.environ.get("NAMES", "1000"))
RUNS, CHANGES, KILLS, HELD_S = 5, int(os.environ.get("CHANGES", "20")), 20, 10
LATEST_S = 1.2


def fail(why):
    sys.exit("bench-watch: " + why)


def until(condition, what, bound_s=60):
    end = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > end:
            fail("not within %d s: %s" % (bound_s, what))
        time.sleep(0.05)


class Client:
    """A connection; its lines come with the time at which their bytes were there."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest = b""
        self.lines = []

    def say(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def read(self):
        piece = self.socket.recv(1 << 16)
        now = time.monotonic()
        if not piece:
            fail("a daemon closed a connection")
        *lines, self.rest = (self.rest + piece).split(b"\n")
        self.lines += [(now, line.decode()) for line in lines]

    def await_line(self, begins, has="", bound_s=30):
        """Returns when the next line that begins so and has that came, and the line; others are passed over."""
        self.socket.settimeout(bound_s)
        while True:
            while self.lines:
                now, line = self.lines.pop(0)
                if line.startswith(begins) and has in line:
                    return now, line
                if line.partition(" ")[2 if line.startswith("#") else 0].startswith("-"):
                    fail("refused: " + line)
            try:
                self.read()
            except socket.timeout:
                fail("no line that begins with " + begins)

    def count_waiting(self, has):
        """How many of the lines that have come have that."""
        self.socket.setblocking(False)
        try:
            while True:
                self.read()
        except BlockingIOError:
            return sum(has in line for _, line in self.lines)

    def ask(self, line, begins):
        begin = time.monotonic()
        self.say(line)
        now, answer = self.await_line(begins)
        return now - begin, answer


def word(line, key):
    return next((part[len(key) + 1:] for part in line.split() if part.startswith(key + "=")), None)


class World:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="redlockd-bench-watch-")
        self.children, self.masters, self.daemons = [], [], []

    def begin(self, daemon):
        for i in range(MASTERS):
            path = "%s/%d.sock" % (self.folder, i)
            self.start(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.folder], "%d.log" % i)
            self.masters.append(path)
            until(lambda path=path: os.path.exists(path), path)
        for i in range(DAEMONS):
            self.daemons.append("%s/d%d.sock" % (self.folder, i))
            with open("%s/d%d.yaml" % (self.folder, i), "w", encoding="ascii") as file:
                file.write("nodes: [%s]\nlisten: ['unix:%s']\n" % (", ".join("unix:" + path for path in self.masters), self.daemons[i]))
                file.write("restart_guard: off\nnode_timeout: 5s\nmin_ttl: 11s\ndefault_ttl: 30s\nmax_ttl: 30m\n")
                file.write("max_clients_per_peer: 10000\nmax_watches: 10000\nmax_locks_per_client: 10000\nmax_waits_per_client: 10000\n")
            self.start([daemon, "-c", "%s/d%d.yaml" % (self.folder, i)], "d%d.log" % i)
        for path in self.daemons:
            until(lambda path=path: self.is_ready(path), "a daemon that is ready")

    def is_ready(self, path):
        try:
            client = Client(path)
        except OSError:
            return False
        ready = client.ask("PING", "+PONG")[1].endswith("ready=1")
        client.socket.close()
        return ready

    def start(self, argv, log):
        with open(self.folder + "/" + log, "w", encoding="ascii") as out:
            self.children.append(subprocess.Popen(argv, stdout=out, stderr=out))

    def end(self):
        for child in reversed(self.children):
            child.send_signal(signal.SIGKILL)
            child.wait()
        shutil.rmtree(self.folder)

    def dial(self, daemon):
        return Client(self.daemons[daemon % DAEMONS])

    def calls(self):
        """The scripts and the PUBLISH that the first master has done, and the keys that were looked at (PTTL)."""
        counts = {"evalsha": 0, "publish": 0, "pttl": 0}
        with socket.socket(socket.AF_UNIX) as master:
            master.connect(self.masters[0])
            master.sendall(b"INFO commandstats\r\n")
            text = b""
            while not text.endswith(b"\r\n\r\n"):
                text += master.recv(1 << 16)
        for line in text.decode().splitlines():
            name = line.partition(":")[0].replace("cmdstat_", "")
            if name in counts:
                counts[name] = int(line.partition("calls=")[2].split(",")[0])
        return counts


# ---- change ----


def hand_over(leader, follower, name, data):
    """Returns how long after UNLOCK the follower had the lock, when that was, and its fence."""
    follower.say("LOCK %s wait=60s%s" % (name, data))
    time.sleep(0.03)  # it waits by then
    begin = time.monotonic()
    leader.say("UNLOCK " + name)
    now, line = follower.await_line("+LOCKED")
    leader.await_line("+UNLOCKED")
    return now - begin, now, int(word(line, "fence"))


class Watchers:
    def __init__(self, world, name):
        self.selector = selectors.DefaultSelector()
        self.clients = [world.dial(i) for i in range(WATCHERS)]
        self.backward, self.fence = 0, [0] * WATCHERS
        for client in self.clients:
            client.say("WATCH " + name)
        for i, client in enumerate(self.clients):
            client.await_line("+WATCHING")
            client.socket.setblocking(False)
            self.selector.register(client.socket, selectors.EVENT_READ, i)

    def hear(self, bound_s, seen, fence):
        """Reads what comes; seen: when each was told of this fence."""
        for key, _ in self.selector.select(bound_s):
            client = self.clients[key.data]
            client.read()
            for at, line in client.lines:
                told = int(word(line, "fence") or 0)
                self.backward += 0 < told < self.fence[key.data]
                self.fence[key.data] = max(told, self.fence[key.data])
                if told == fence and key.data not in seen:
                    seen[key.data] = at
            client.lines.clear()

    def close(self):
        for client in self.clients:
            client.socket.close()


def change_run(world, number):
    name, bare = "leader-%d" % number, "bare-%d" % number
    delays, handovers, looks, missed = [], [], [], 0
    candidates = [world.dial(i) for i in range(DAEMONS)]
    watchers = Watchers(world, name)
    for one in (name + " data=first", bare + " data=first"):
        candidates[0].ask("LOCK " + one, "+LOCKED")
    for change in range(CHANGES):
        leader, follower = candidates[change % DAEMONS], candidates[(change + 1) % DAEMONS]
        handovers.append(hand_over(leader, follower, bare, " data=x%d" % change)[0])
        looks.append(leader.ask("WHO " + bare, "+END")[0])
        seen = {}
        until_calm(watchers)
        _, locked, fence = hand_over(leader, follower, name, " data=x%d" % change)
        while len(seen) < WATCHERS and time.monotonic() < locked + 3:
            watchers.hear(0.1, seen, fence)
        missed += WATCHERS - len(seen)
        delays += [max(0, at - locked) for at in seen.values()]
    watchers.close()
    for client in candidates:
        client.socket.close()
    return {"now_p50_ms": share(delays, 0.5), "now_p99_ms": share(delays, 0.99), "now_most_ms": share(delays, 1),
            "late": sum(delay > LATEST_S for delay in delays) + missed, "fences_fell": watchers.backward,
            "handover_p50_ms": share(handovers, 0.5), "handover_p99_ms": share(handovers, 0.99),
            "look_p50_ms": share(looks, 0.5), "look_p99_ms": share(looks, 0.99)}


def until_calm(watchers):
    """Nothing that is known already is left to be read, and each daemon has looked since the last change."""
    end = time.monotonic() + 1.1
    while time.monotonic() < end:
        watchers.hear(0.05, {}, 0)


def share(values, part):
    values = sorted(values)
    return 1000 * values[min(len(values) - 1, int(part * len(values)))]


# ---- killed ----


def killed_run(world, number):
    name, times = "killed-%d" % number, []
    follower = world.dial(0)
    follower.ask("LOCK %s data=first" % name, "+LOCKED")
    for turn in range(KILLS):
        leader, follower = follower, world.dial(0)
        follower.say("LOCK %s wait=60s data=x%d" % (name, turn))
        time.sleep(0.03)
        child = os.fork()
        if child == 0:
            signal.pause()
        leader.socket.close()  # the child alone has it, and every other connection twice
        begin = time.monotonic()
        os.kill(child, signal.SIGKILL)
        now, _ = follower.await_line("+LOCKED")
        times.append(now - begin)
        os.waitpid(child, 0)
    follower.socket.close()
    return {"next_p50_ms": share(times, 0.5), "next_p99_ms": share(times, 0.99)}


# ---- held ----


def rates(world, seconds):
    before, begin = world.calls(), time.monotonic()
    time.sleep(seconds)
    after, took = world.calls(), time.monotonic() - begin
    return {key: (after[key] - before[key]) / took for key in before}


def held_all(world, prefix, daemons_a_name):
    """Watches the names, each at so many daemons, and returns what that costs a master."""
    watchers = [world.dial(i) for i in range(DAEMONS)]
    count = 0
    for i in range(NAMES):
        for k in range(daemons_a_name):
            watchers[(i + 1 + k) % DAEMONS].say("#%d WATCH %s%d" % (i, prefix, i))
            count += 1
    for client in watchers:
        for _ in range(count // DAEMONS):
            client.await_line("#", " +")
    time.sleep(2)
    found = rates(world, HELD_S)
    found["unknown"] = sum(client.count_waiting("state=unknown") for client in watchers)
    for client in watchers:
        client.socket.close()
    return found


def held_run(world, number):
    prefix = "held-%d-" % number
    holders = [world.dial(i) for i in range(DAEMONS)]
    for i in range(NAMES):
        holders[i % DAEMONS].say("#%d LOCK %s%d ttl=30m data=x" % (i, prefix, i))
    for client in holders:
        for _ in range(NAMES // DAEMONS):
            client.await_line("#", " +")
    idle = rates(world, 3)
    everywhere = held_all(world, prefix, DAEMONS)
    time.sleep(4)  # what the daemons remember of these watchers is over
    alone = held_all(world, prefix, 1)
    for client in holders:
        client.socket.close()
    found = {"idle_scripts_s": idle["evalsha"]}
    for prefix, rate in (("", everywhere), ("alone_", alone)):
        found.update({prefix + "looks_s": rate["pttl"], prefix + "scripts_s": rate["evalsha"],
                      prefix + "publish_s": rate["publish"], prefix + "unknown": rate["unknown"]})
    return found


# ---- all ----

PARTS = {"change": change_run, "killed": killed_run, "held": held_run}


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(PARTS):
        fail("usage: watch.py DAEMON [change] [killed] [held]")
    world = World()
    try:
        world.begin(sys.argv[1])
        for part in sys.argv[2:] or PARTS:
            runs = [PARTS[part](world, number) for number in range(RUNS)]
            for key in runs[0]:
                values = sorted(run[key] for run in runs)
                print("part=%s %s=%.2f least=%.2f most=%.2f" % (part, key, statistics.median(values), values[0], values[-1]), flush=True)
    finally:
        world.end()


if __name__ == "__main__":
    main()
