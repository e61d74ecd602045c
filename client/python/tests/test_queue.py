"""How requests become writes: at once where nothing else is on its way, and else together, once for each turn."""
import socket
import unittest

import support  # noqa: F401 (finds the package)

from redlockd._address import Where
from redlockd._connection import Connection
from redlockd._hold import Hold
from redlockd._parts import WINDOW
from redlockd._session import Session


class Engine:
    def __init__(self):
        self.due = []

    def soon(self, function, *args):
        self.due.append((function, args))

    def later(self, *_args):
        return self

    def cancel(self):
        pass

    def connect(self, _session):
        return self

    def drop_in_child(self):
        pass

    def turn(self):
        while self.due:
            function, args = self.due.pop(0)
            function(*args)


class Link(Connection):
    def __init__(self, session):
        self.ours, theirs = socket.socketpair()
        theirs.close()
        super().__init__(session, self.ours)
        self.up, self.sample.known = True, True
        self.writes = []

    def write(self, data):
        self.writes.append(data.decode().splitlines())

    def cut(self):
        self.ended = True
        self.ours.close()

    close = cut


class QueueTest(unittest.TestCase):
    def setUp(self):
        self.engine = Engine()
        self.session = Session(self.engine, Where("unix:/nowhere", None, None, None), None, 10_000)
        self.link = Link(self.session)
        self.session._connection = self.link
        self.session._connections.add(self.link)
        self.addCleanup(self.session.engine_ended, False)
        self.looks = 0
        look = self.session._connection_for

        def counted(ask):
            self.looks += 1
            return look(ask)
        self.session._connection_for = counted

    def ask(self, *numbers):
        for i in numbers:
            self.session.check(lambda error: None, self.held(f"job-{i}"))

    @staticmethod
    def held(name):
        hold = Hold(name, lease=True)
        hold.state, hold.token = "held", "0" * 40
        return hold

    def answer(self, lines):
        said = [f"{line.split()[0]} -NOQUORUM {line.split()[2]} votes=0/3\n" for line in lines]
        self.link.received("".join(said).encode())

    def test_a_single_request_does_not_wait_for_the_turn_to_end(self):
        self.ask(1)
        self.assertEqual([len(lines) for lines in self.link.writes], [1])
        self.answer(self.link.writes[0])
        self.engine.turn()
        self.ask(2)
        self.assertEqual([len(lines) for lines in self.link.writes], [1, 1])

    def test_requests_of_one_turn_go_out_in_one_write(self):
        self.ask(1, 2, 3, 4)
        self.assertEqual([len(lines) for lines in self.link.writes], [1])
        self.engine.turn()
        self.assertEqual([len(lines) for lines in self.link.writes], [1, 3])

    def test_what_waits_for_room_is_looked_at_once_for_each_turn(self):
        self.ask(*range(WINDOW + 16))
        self.engine.turn()
        sent = [line for lines in self.link.writes for line in lines]
        self.assertEqual(len(sent), WINDOW)
        self.looks = 0
        self.answer(sent[:20])
        self.engine.turn()
        self.assertEqual(len(self.link.writes[-1]), 16)
        self.assertLessEqual(self.looks, 20)

    def test_a_request_without_room_costs_one_look(self):
        self.ask(*range(WINDOW + 40))
        self.assertLessEqual(self.looks, WINDOW + 40)


if __name__ == "__main__":
    unittest.main()
