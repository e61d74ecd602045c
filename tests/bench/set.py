#!/usr/bin/env python3
"""How far one set of masters goes: tests/bench/set.py REDLOCKD

Five redis-servers, and so many daemons with so many clients each, which lock and unlock names of their own as fast as they
are answered, for SECONDS (10); then the same daemons with nothing to do. What a cycle costs is CPU time by /proc, which a
busy machine changes little: the kernel's part is in it. A line each: master_us is one master's, daemon_us is all daemons'
(one of them is asked for a cycle). Last, one daemon whose clients hold 100,000 locks of 10 s, which it renews."""
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

MASTERS = 5
SECONDS = int(os.environ.get('SECONDS', '10'))
SHAPES = ((1, 64), (1, 4), (20, 8), (100, 1))  # daemons, clients of each


def cpu_us(processes):
    """Of all their threads; in ns where they come from, so that an idle daemon's is more than 0."""
    total = 0
    for process in processes:
        for thread in os.listdir('/proc/%d/task' % process.pid):
            with open('/proc/%d/task/%s/schedstat' % (process.pid, thread), encoding='ascii') as file:
                total += int(file.read().split()[0])
    return total / 1e3


def until(path):
    for _ in range(2000):
        try:
            with socket.socket(socket.AF_UNIX) as tried:
                tried.connect(path)
            return
        except OSError:
            time.sleep(0.02)
    sys.exit('nobody listens at ' + path)


class Client:
    def __init__(self, path, index):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lock, self.unlock = b'LOCK set:%d wait=10s\n' % index, b'UNLOCK set:%d\n' % index
        self.held = False

    def next(self):
        """Reads an answer and asks the next thing; whether that ended a cycle."""
        answer = self.socket.recv(4096)
        if not answer.startswith((b'+LOCKED', b'+UNLOCKED')):
            sys.exit('set: ' + answer.decode())
        self.held = answer.startswith(b'+LOCKED')
        self.socket.sendall(self.unlock if self.held else self.lock)
        return not self.held


def run(clients, seconds):
    poll, by_fd, cycles = select.epoll(), {}, 0
    for client in clients:
        by_fd[client.socket.fileno()] = client
        poll.register(client.socket, select.EPOLLIN)
        client.socket.sendall(client.lock)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for fd, _ in poll.poll(0.1):
            cycles += by_fd[fd].next()
    poll.close()
    for client in clients:
        client.socket.close()
    return cycles


def start(program, nodes, folder, index):
    path = os.path.join(folder, 'd%d' % index)
    with open(path + '.yaml', 'w', encoding='ascii') as file:
        file.write('listen: ["unix:%s"]\nrestart_guard: off\nlog_level: error\nnode_timeout: 2s\nmin_ttl: 5s\n'
                   'max_locks: 200000\nmax_locks_per_client: 20000\nmax_locks_per_peer: 200000\nmax_clients_per_peer: 1000\nnodes:\n%s' % (path, nodes))
    return subprocess.Popen([program, '-c', path + '.yaml'], stderr=subprocess.DEVNULL), path


def measure(program, masters, nodes, folder, count, workers):
    daemons, paths = zip(*(start(program, nodes, folder, index) for index in range(count)))
    try:
        for path in paths:
            until(path)
        time.sleep(3)
        clients = [Client(path, index * workers + each) for index, path in enumerate(paths) for each in range(workers)]
        before = cpu_us(daemons), cpu_us(masters)
        cycles = run(clients, SECONDS)
        after = cpu_us(daemons), cpu_us(masters)
        time.sleep(2)
        idle = cpu_us(daemons), cpu_us(masters), time.monotonic()
        time.sleep(SECONDS)
        took = time.monotonic() - idle[2]
        print('daemons=%d clients=%d cycles=%d daemon_us=%.1f master_us=%.1f idle_daemon_ms_a_second=%.2f '
              'idle_master_ms_a_second=%.2f' %
              (count, workers, cycles, (after[0] - before[0]) / cycles, (after[1] - before[1]) / cycles / MASTERS,
               (cpu_us(daemons) - idle[0]) / count / took / 1e3, (cpu_us(masters) - idle[1]) / MASTERS / took / 1e3),
              flush=True)
    finally:
        for daemon in daemons:
            daemon.kill()
        for daemon in daemons:
            daemon.wait()


def hold(path, count):
    """Takes so many locks over ten connections, which it returns."""
    connections = []
    for first in range(0, count, count // 10):
        connections.append(socket.socket(socket.AF_UNIX))
        connections[-1].connect(path)
        for begin in range(first, first + count // 10, 100):
            connections[-1].sendall(b''.join(b'#%d LOCK held:%d ttl=10s\n' % (each, each) for each in range(begin, begin + 100)))
            answers = b''
            while answers.count(b'\n') < 100:
                answers += connections[-1].recv(65536)
            if answers.count(b' +LOCKED ') != 100:
                sys.exit('set: ' + answers[:200].decode())
    return connections


def measure_held(program, masters, nodes, folder, count):
    daemon, path = start(program, nodes, folder, 0)
    try:
        until(path)
        time.sleep(3)
        connections = hold(path, count)
        time.sleep(10)  # until renewals are spread
        before, begin = (cpu_us([daemon]), cpu_us(masters)), time.monotonic()
        time.sleep(2 * SECONDS)
        took = (time.monotonic() - begin) * 1e4
        print('held=%d ttl_s=10 daemon_core=%.1f%% master_core=%.1f%%' %
              (count, (cpu_us([daemon]) - before[0]) / took, (cpu_us(masters) - before[1]) / MASTERS / took), flush=True)
        for connection in connections:
            connection.setblocking(False)
            try:
                lost = connection.recv(1 << 20).count(b'!LOST')
                sys.exit('set: lost %d' % lost)
            except BlockingIOError:
                connection.close()
    finally:
        daemon.kill()
        daemon.wait()


def main():
    folder = tempfile.mkdtemp(prefix='redlockd-set-')
    masters = []
    try:
        nodes = ''
        for index in range(MASTERS):
            path = os.path.join(folder, 'm%d' % index)
            masters.append(subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', path, '--save', '', '--dir', folder],
                                            stdout=subprocess.DEVNULL))
            until(path)
            nodes += '  - unix:%s\n' % path
        for count, workers in SHAPES:
            measure(sys.argv[1], masters, nodes, folder, count, workers)
        measure_held(sys.argv[1], masters, nodes, folder, 100_000)
    finally:
        for master in masters:
            master.kill()
        for master in masters:
            master.wait()
        shutil.rmtree(folder)


if __name__ == '__main__':
    main()
