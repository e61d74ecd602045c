#!/usr/bin/env python3
"""tests/bench/http.py DAEMON [LOCKS CLIENTS]: what HTTP costs the locks (make bench-http).

Three masters and one daemon of its own. First, with 100,000 locks of 10,000 clients: the CPU time of the daemon for one
scrape, beside what it uses anyway; all of that time is the loop's. Each comes more than a second after the one before,
so that none is served from the snapshot of another. Then, with few locks: the time from LOCK to +UNLOCKED of one
client, alone, beside 1,000 slow HTTP clients, and beside clients that send requests of 1 MB. Prints key=value lines.
"""

import os
import resource
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LOCKS_TTL = "3000s"  # a renewal comes after a third of it: none within the run
SCRAPES = 15
BESIDE_S = 5


def fail(why):
    sys.exit("bench-http: " + why)


def until(condition, what, bound_s=120):
    end = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > end:
            fail("not within %d s: %s" % (bound_s, what))
        time.sleep(0.05)


class World:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="redlockd-bench-http-")
        self.children = []

    def begin(self, daemon, locks, clients):
        nodes = []
        for i in range(3):
            path = "%s/%d.sock" % (self.folder, i)
            self.start(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.folder], "%d.log" % i)
            nodes.append("unix:" + path)
            until(lambda: os.path.exists(path), path)
        self.path = self.folder + "/redlockd.sock"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with open(self.folder + "/redlockd.yaml", "w", encoding="ascii") as file:
            file.write("nodes: [%s]\nlisten: ['unix:%s']\nhttp: 127.0.0.1:%d\n" % (", ".join(nodes), self.path, self.port))
            file.write("restart_guard: off\nmax_ttl: 3000s\nnode_timeout: 5s\nmin_ttl: 11s\ndefault_ttl: 30s\n")
            for key, value in (("clients", clients + 100), ("locks", locks + 100), ("waits", 1000)):
                file.write("max_%s: %d\n" % ("waiters" if key == "waits" else key, value))
                file.write("max_%s_per_peer: %d\n" % (key, value))
        self.daemon = self.start([daemon, "-c", self.folder + "/redlockd.yaml"], "redlockd.log")
        until(lambda: self.get("/readyz").startswith(b"HTTP/1.1 200"), "redlockd is ready")

    def start(self, argv, log):
        with open(self.folder + "/" + log, "w", encoding="ascii") as out:
            child = subprocess.Popen(argv, stdout=out, stderr=out)
        self.children.append(child)
        return child

    def end(self):
        for child in reversed(self.children):
            child.send_signal(signal.SIGKILL)
            child.wait()
        shutil.rmtree(self.folder)

    def dial(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.path)
        return client

    def dial_http(self):
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def get(self, path):
        answer = b""
        try:
            with self.dial_http() as client:
                client.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
                while True:
                    piece = client.recv(1 << 16)
                    if not piece:
                        return answer
                    answer += piece
        except OSError:
            return answer

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.daemon.pid, encoding="ascii") as file:
            return int(file.read().split()[0])


def ask(client, line):
    client.sendall(line.encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        piece = client.recv(4096)
        if not piece:
            fail("the daemon closed: %r" % answer)
        answer += piece
    return answer


def take_locks(world, locks, clients):
    """Each client takes its share, all at once."""
    each = locks // clients
    opened = []
    for number in range(clients):
        client = world.dial()
        client.sendall("".join("#%d LOCK many/%d/%d ttl=%s\n" % (i, number, i, LOCKS_TTL) for i in range(each)).encode())
        opened.append((client, [0]))
        if number % 100 == 99:
            for waiting, seen in opened[-100:]:
                while seen[0] < each:
                    text = waiting.recv(1 << 16)
                    if not text or b"-" == text[:1]:
                        fail("LOCK was answered %r" % text[:100])
                    seen[0] += text.count(b"\n")
    return opened


def scrapes(world, path):
    world.get(path)
    time.sleep(2)
    before, began = world.cpu_ns(), time.monotonic()
    time.sleep(SCRAPES * 1.2)
    idle = (world.cpu_ns() - before) / (time.monotonic() - began)
    costs, size = [], 0
    for _ in range(SCRAPES):
        time.sleep(1.2)
        before, began = world.cpu_ns(), time.monotonic()
        size = len(world.get(path))
        time.sleep(0.05)  # the close of the connection counts, too
        costs.append((world.cpu_ns() - before - idle * (time.monotonic() - began)) / 1e6)
    costs.sort()
    print("part=scrape path=%s bytes=%d median_ms=%.2f max_ms=%.2f idle_percent=%.2f" %
          (path, size, costs[len(costs) // 2], costs[-1], idle / 1e7), flush=True)


def cycles(world, name):
    client = world.dial()
    times, began_ns, end = [], world.cpu_ns(), time.monotonic() + BESIDE_S
    while time.monotonic() < end:
        began = time.monotonic()
        if not ask(client, "LOCK job ttl=60s wait=5s").startswith(b"+LOCKED") or not ask(client, "UNLOCK job").startswith(b"+UN"):
            fail("no lock")
        times.append(1e6 * (time.monotonic() - began))
    client.close()
    times.sort()
    print("part=beside what=%s cycles=%d median_us=%.0f p99_us=%.0f max_us=%.0f daemon_percent=%.0f" %
          (name, len(times), times[len(times) // 2], times[len(times) * 99 // 100], times[-1],
           (world.cpu_ns() - began_ns) / 1e7 / BESIDE_S), flush=True)


def slow_clients(world):
    """A thousand connections that send a byte now and then; each that is closed comes again."""
    selector = selectors.DefaultSelector()
    opened = []
    while True:
        while len(opened) < 1000:
            client = world.dial_http()
            client.setblocking(False)
            selector.register(client, selectors.EVENT_READ)
            opened.append(client)
        for key, _ in selector.select(0.05):
            selector.unregister(key.fileobj)
            opened.remove(key.fileobj)
            key.fileobj.close()
        for client in opened[:50]:
            try:
                client.send(b"G")
            except OSError:
                pass


def large_requests(world):
    megabyte = b"GET / HTTP/1.1\r\nA: " + b"a" * (1 << 20)
    while True:
        try:
            with world.dial_http() as client:
                client.sendall(megabyte)
                client.recv(4096)
        except OSError:
            pass


def beside(world, name, load):
    pid = os.fork()
    if pid == 0:
        load(world)
    try:
        time.sleep(1)
        cycles(world, name)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def main():
    daemon = os.path.abspath(sys.argv[1])
    locks, clients = (int(word) for word in sys.argv[2:4]) if len(sys.argv) > 3 else (100000, 10000)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    world = World()
    try:
        world.begin(daemon, locks, clients)
        cycles(world, "nothing")
        beside(world, "1000-slow-clients", slow_clients)
        beside(world, "requests-of-1MB", large_requests)
        cycles(world, "nothing-again")
        held = take_locks(world, locks, clients)
        print("part=scrape locks=%d clients=%d" % (locks, len(held)), flush=True)
        for path in ("/metrics", "/", "/status.json", "/livez"):
            scrapes(world, path)
    finally:
        world.end()


if __name__ == "__main__":
    main()
