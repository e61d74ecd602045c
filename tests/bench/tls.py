#!/usr/bin/env python3
"""The cost of TLS for the daemon, with three masters of its own: make bench-tls.

    cycle     CPU of the daemon for LOCK and UNLOCK, by TLS and plain, with 1 and with 64 connections
    idle      memory for a connection that has shaken hands and says nothing
    renewals  how long an EXTEND takes, which goes the way of a renewal, while 1,024 clients shake hands
              in a row with a certificate of RSA 2048, and while nobody does

Each figure is the least of several rounds, since other programs can only add to it. When root runs this, daemon,
masters and the client that extends come first by nice(2), and the clients that shake hands do not.
"""

import asyncio
import contextlib
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

CYCLES = 6000
ROUNDS = 7
SHAKEN_ROUNDS = 3
IDLE = 500
HANDSHAKES = 1024
SHAKERS, THREADS = 8, 8  # the daemon does 64 at once, and 8 of one address
NICE = 10


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, check, seconds=15):
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            sys.exit(f"tls.py: {what} does not answer within {seconds} s")
        time.sleep(0.02)


def connects(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class World:
    def __init__(self, folder, daemon):
        self.folder = pathlib.Path(folder)
        self.started = []
        self.masters = [free_port() for _ in range(3)]
        self.plain, self.tls = free_port(), free_port()
        self.context = None
        for port in self.masters:
            self.start("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                       "--dir", folder)
        for port in self.masters:
            wait_for("redis-server", lambda p=port: connects(p))
        self.make_certificate()
        self.daemon = self.start(daemon, "-c", self.configure())
        wait_for("redlockd", lambda: connects(self.plain) and self.is_ready())

    def start(self, *argv):
        log = open(self.folder / "log", "ab")
        self.started.append(subprocess.Popen(argv, stdout=log, stderr=log))
        return self.started[-1]

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bench",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.folder / "key.pem",
             "-out", self.folder / "cert.pem"], check=True, stderr=subprocess.DEVNULL)
        os.chmod(self.folder / "key.pem", 0o600)
        self.context = ssl.create_default_context(cafile=self.folder / "cert.pem")

    def configure(self):
        nodes = "".join(f"  - redis://127.0.0.1:{port}\n" for port in self.masters)
        (self.folder / "redlockd.yaml").write_text(
            f"nodes:\n{nodes}listen:\n  - 127.0.0.1:{self.plain}\n"
            f"  - {{address: '127.0.0.1:{self.tls}', tls: {{cert: {self.folder}/cert.pem, "
            f"key: {self.folder}/key.pem}}}}\n"
            "restart_guard: off\nnode_timeout: 2s\nmin_ttl: 5s\ndefault_ttl: 30s\n"
            "max_clients_per_peer: 10000\nlog_level: warn\n")
        return self.folder / "redlockd.yaml"

    def is_ready(self):
        with Line(self, False) as line:
            return line.ask("PING") == "+PONG ready=1"

    def cpu_ns(self):
        return int(pathlib.Path(f"/proc/{self.daemon.pid}/schedstat").read_text().split()[0])

    def memory_kib(self):
        text = pathlib.Path(f"/proc/{self.daemon.pid}/smaps_rollup").read_text()
        return sum(int(row.split()[1]) for row in text.splitlines() if row.startswith("Private_"))

    def end(self):
        for process in reversed(self.started):
            process.terminate()
            process.wait()


class Line:
    """A connection that asks one line at a time."""

    def __init__(self, world, tls):
        self.socket = socket.create_connection(("127.0.0.1", world.tls if tls else world.plain))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = world.context.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.file = self.socket.makefile("r")

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\n")
        return self.file.readline().rstrip("\n")

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- the cycle ----


async def cycles(world, tls, workers, count):
    async def work(number):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", world.tls if tls else world.plain, ssl=world.context if tls else None)
        await asyncio.sleep(0.2)  # all workers have connected: handshakes do not count
        gate.release()
        await begin.wait()
        for _ in range(count // workers):
            for line in (f"LOCK job/{number}\n", f"UNLOCK job/{number}\n"):
                writer.write(line.encode())
                answer = await reader.readline()
                if not answer.startswith(b"+"):
                    sys.exit(f"tls.py: {line.strip()}: {answer.decode().strip()}")
        writer.close()

    gate, begin = asyncio.Semaphore(0), asyncio.Event()
    tasks = [asyncio.create_task(work(number)) for number in range(workers)]
    for _ in tasks:
        await gate.acquire()
    before = world.cpu_ns()
    begin.set()
    await asyncio.gather(*tasks)
    return (world.cpu_ns() - before) / 1000 / (count // workers * workers)


def cycle(world):
    good = True
    for workers in (1, 64):
        costs = {False: [], True: []}
        for _ in range(ROUNDS):
            for tls in (False, True):
                costs[tls].append(asyncio.run(cycles(world, tls, workers, CYCLES)))
        plain, by_tls = min(costs[False]), min(costs[True])
        good &= by_tls <= 2 * plain
        print(f"cycle connections={workers} plain_us={plain:.1f} tls_us={by_tls:.1f} "
              f"ratio={by_tls / plain:.2f} goal=2", flush=True)
    return good


# ---- an idle client ----


def idle(world):
    first = [Line(world, True) for _ in range(20)]  # the first lines make what is allocated only once
    for line in first:
        line.ask("PING")
    before = world.memory_kib()
    lines = [Line(world, True) for _ in range(IDLE)]
    for line in lines:
        line.ask("PING")
    each = (world.memory_kib() - before) / IDLE
    for line in first + lines:
        line.close()
    print(f"idle clients={IDLE} kib={each:.1f} goal=24", flush=True)
    return each <= 24


# ---- handshakes in a row ----


class Extends(threading.Thread):
    """Extends a lock again and again, and notes how long each answer takes."""

    def __init__(self, world):
        super().__init__()
        self.line = Line(world, False)
        self.token = self.line.ask("LOCK renewed").split("token=")[1].split()[0]
        self.over = False
        self.ms = []

    def run(self):
        while not self.over:
            begin = time.monotonic()
            answer = self.line.ask(f"EXTEND renewed token={self.token}")
            if not answer.startswith("+EXTENDED"):
                sys.exit(f"tls.py: {answer}")
            self.ms.append((time.monotonic() - begin) * 1000)
        self.line.ask("UNLOCK renewed")
        self.line.close()


def extends_while(world, work):
    extends = Extends(world)
    extends.start()
    begin = time.monotonic()
    work()
    seconds = time.monotonic() - begin
    extends.over = True
    extends.join()
    return sorted(extends.ms), seconds


def shakers_start(world):
    """The shakers wait for a line, so that their own start does not count."""
    argv = [sys.executable, __file__, "--shake", str(world.tls), str(world.folder / "cert.pem")]
    if os.geteuid() == 0:
        argv = ["nice", "-n", str(NICE), *argv]
    shakers = [subprocess.Popen([*argv, f"127.0.0.{10 + number}"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE) for number in range(SHAKERS)]
    for shaker in shakers:
        shaker.stdout.readline()
    return shakers


def shake_hands(shakers):
    for shaker in shakers:
        shaker.stdin.write(b"\n")
        shaker.stdin.close()
    for shaker in shakers:
        shaker.wait()
    if any(shaker.returncode for shaker in shakers):
        sys.exit("tls.py: a handshake failed")


def shaker_main(port, cert, source):
    context = ssl.create_default_context(cafile=cert)
    failed = []

    def shake():
        try:
            for _ in range(HANDSHAKES // SHAKERS // THREADS):
                with socket.create_connection(("127.0.0.1", int(port)), source_address=(source, 0)) as s:
                    context.wrap_socket(s, server_hostname="127.0.0.1").close()
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=shake) for _ in range(THREADS)]
    print("ready", flush=True)
    sys.stdin.readline()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit(f"tls.py: {failed[0]}")


def renewals(world):
    longest = []
    for _ in range(SHAKEN_ROUNDS):
        shakers = shakers_start(world)
        busy, seconds = extends_while(world, lambda s=shakers: shake_hands(s))
        calm, _ = extends_while(world, lambda s=seconds: time.sleep(s))
        longest.append(busy[-1])
        for what, ms in (("none", calm), (HANDSHAKES, busy)):
            print(f"renewals handshakes={what} seconds={seconds:.1f} extends={len(ms)} "
                  f"median_ms={ms[len(ms) // 2]:.1f} p99_ms={ms[len(ms) * 99 // 100]:.1f} "
                  f"longest_ms={ms[-1]:.1f}", flush=True)
    print(f"renewals longest_ms={min(longest):.1f} goal=50", flush=True)
    return min(longest) <= 50


def main():
    if sys.argv[1] == "--shake":
        shaker_main(*sys.argv[2:])
        return
    with contextlib.suppress(PermissionError):
        os.nice(-NICE)
    with tempfile.TemporaryDirectory(prefix="redlockd-bench-") as folder:
        world = World(folder, sys.argv[1])
        try:
            missed = [part.__name__ for part in (cycle, idle, renewals) if not part(world)]
        finally:
            world.end()
    print(f"goals missed: {', '.join(missed)}" if missed else "all goals were met")


if __name__ == "__main__":
    main()
