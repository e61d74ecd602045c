#!/usr/bin/env python3
"""What a fleet of idle daemons costs a master: tests/bench/fleet.py [DAEMONS ...]

One redis-server, and raw clients that send what so many idle daemons send it: each has two connections; it probes
once a second (GETEX, TIME), pings on the second connection once a second, writes itself into the list of daemons
every 10 s, and reads a page of that list with every sixth of these. What they cost is the server's CPU time by /proc,
which a busy machine changes little; rate= says whether the clients kept up."""
import hashlib
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SECONDS = int(os.environ.get('SECONDS', '30'))
TURN_S = 0.01


def daemons_script():
    """The text of the script DAEMONS as the build made it, and its SHA-1."""
    with open('build/proto/lua/daemons.lua', encoding='ascii') as file:
        text = file.read()
    return text, hashlib.sha1(text.encode()).hexdigest()


def command(*words):
    return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in (str(w).encode() for w in words))


class Daemon:
    def __init__(self, path, index, sha1):
        self.main, self.ear = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        for connection in (self.main, self.ear):
            connection.connect(path)
        self.words = [sha1, '1', 'redlock:,daemons', '%08x' % (index + 1),
                      'host=host%d version=0.1.0 since=2026-11-22T14:03:05Z listen=10.0.0.%d:7335' % (index, index % 250)]
        self.probe = command('GETEX', 'redlock:,group', 'PX', 600000) + command('TIME')
        self.ping = command('PING')
        self.seconds = random.randrange(60)
        self.ear.sendall(command('SUBSCRIBE', 'redlock:,wake:%08x' % (index + 1)))

    def second(self):
        """What it sends in one second."""
        self.ear.send(self.ping)
        self.main.send(self.probe)
        self.seconds += 1
        if self.seconds % 10 == 0:
            cursor = random.randrange(1 << 32) if self.seconds % 60 == 0 else '-'
            self.main.send(command('EVALSHA', *self.words, cursor))


def cpu_s(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def run(daemons, poll, seconds):
    """Lets each daemon have its turn once a second; returns how many seconds of daemons there were."""
    turns, begin, done = 0, time.monotonic(), 0
    while (now := time.monotonic() - begin) < seconds:
        due = int(now * len(daemons))
        for turn in range(turns, due):
            daemons[turn % len(daemons)].second()
            done += 1
        turns = due
        for fd, _ in poll.poll(TURN_S):
            os.read(fd, 65536)
    return done


def measure(count, folder):
    path = os.path.join(folder, 'socket')
    server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', path, '--save', '', '--dir', folder,
                               '--maxclients', str(2 * count + 32)], stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(path):
            time.sleep(0.01)
        text, sha1 = daemons_script()
        first = socket.socket(socket.AF_UNIX)
        first.connect(path)
        first.sendall(command('SCRIPT', 'LOAD', text) + command('SET', 'redlock:,group', '1 N=1'))
        daemons = [Daemon(path, index, sha1) for index in range(count)]
        poll = select.epoll()
        for daemon in daemons:
            for connection in (daemon.main, daemon.ear):
                poll.register(connection, select.EPOLLIN)
        run(daemons, poll, 10)  # each has written itself
        before, begin = cpu_s(server.pid), time.monotonic()
        done = run(daemons, poll, SECONDS)
        took = time.monotonic() - begin
        print('daemons=%d core=%.1f%% rate=%.0f%%' %
              (count, 100 * (cpu_s(server.pid) - before) / took, 100 * done / (took * count)), flush=True)
    finally:
        server.kill()
        server.wait()


def main():
    for count in [int(word) for word in sys.argv[1:]] or [300, 2000, 8000]:
        folder = tempfile.mkdtemp(prefix='redlockd-fleet-')
        try:
            measure(count, folder)
        finally:
            shutil.rmtree(folder)


if __name__ == '__main__':
    main()
