"""Words and lines, addresses, and the translation of clocks."""
import os
import unittest
from datetime import timedelta
from unittest import mock

import support  # noqa: F401
from redlockd import BadArgumentError, Client, UnreachableError, errors, name_of, parts_of
from redlockd._address import Place, Where, parse_place
from redlockd._clock import Sample
from redlockd._lines import Answer, checked_name, duration_ms


class Words(unittest.TestCase):
    def test_durations_are_seconds(self):
        self.assertEqual([duration_ms(x, "ttl") for x in (None, 10, 0.25, timedelta(minutes=1), 0.0001)],
                         [0, 10000, 250, 60000, 1])

    def test_durations_that_are_not(self):
        for value in (0, -1, True, "10s", float("nan"), float("inf"), 31 * 24 * 3600):
            with self.subTest(value), self.assertRaises(BadArgumentError):
                duration_ms(value, "ttl")

    def test_names(self):
        self.assertEqual(checked_name("report/2030"), "report/2030")
        self.assertEqual(checked_name(["a", "b"]), "a,b")
        for name in ("", "a b", "a\n", "ä", "#a", ":a", "a,b", 'a"', "a=b", "x" * 201, [], [""], 7, None, b"a"):
            with self.subTest(name), self.assertRaises(BadArgumentError):
                checked_name(name)

    def test_bad_options_are_refused_before_anything_is_sent(self):
        client = Client("unix:/nowhere")
        for options in ({"ttl": 0}, {"max": -1}, {"hold": "forever"}, {"note": "a b"}, {"slots": 0}, {"mode": "x y"},
                        {"blocking_timeout": -1}):
            with self.subTest(options), self.assertRaises(BadArgumentError):
                client.lock("job", **options)
        for options in ({"client": "a b"}, {"client": ""}, {"user": "me", "secret": "s\nQUIT"}, {"user": "me\nQUIT", "secret": "s"},
                        {"user": "me"}, {"timeout": 0}):
            with self.subTest(options), self.assertRaises(BadArgumentError):
                Client("unix:/nowhere", **options)
        for name, token in (("job", "abc"), ("job", "0" * 39 + "\n"), ("a b", "0" * 40), ("a,", "0" * 40)):
            with self.subTest(name=name, token=token), self.assertRaises(BadArgumentError):
                client.attach(name, token)
        self.assertEqual(client.attach("a,b", "0" * 40).name, "a,b")

    def test_an_answer(self):
        answer = Answer("#1 -NOQUORUM job votes=1/3 retry=400 : 2 votes=x are needed")
        self.assertEqual((answer.tag, answer.code, answer.name), ("1", "-NOQUORUM", "job"))
        self.assertEqual(answer.values, {"votes": "1/3", "retry": "400"})
        error = answer.refusal()
        self.assertIsInstance(error, errors.NoQuorumError)
        self.assertEqual((error.retry, error.code), (0.4, "NOQUORUM"))

    def test_errors_are_what_the_language_has(self):
        self.assertTrue(issubclass(errors.LockTimeoutError, TimeoutError))
        self.assertTrue(issubclass(errors.UnreachableError, ConnectionError))
        self.assertTrue(issubclass(errors.BadArgumentError, ValueError))


class Addresses(unittest.TestCase):
    def test_forms(self):
        for text, place in {"unix:/a/b": Place(path="/a/b"), "/a": Place(path="/a"), "host": Place("", "host", 7335),
                            "host:1": Place("", "host", 1), "[::1]:2": Place("", "::1", 2), "::1": Place("", "::1", 7335),
                            "tls://h": Place("", "h", 7336, True), "tls://h:9": Place("", "h", 9, True)}.items():
            with self.subTest(text):
                self.assertEqual(parse_place(text), place)

    def test_no_addresses(self):
        for text in ("", ":1", "host:", "host:0", "host:65536", "host:x", "a b", "unix:relative"):
            with self.subTest(text), self.assertRaises(BadArgumentError):
                if parse_place(text) and text == "host:":  # an empty port is the default port
                    raise BadArgumentError

    def test_the_way_without_an_address(self):
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual([str(place) for place in Where().places],
                             ["unix:/run/redlockd/redlockd.sock", "127.0.0.1:7335"])
            self.assertEqual(len(Where("127.0.0.1:7335").places), 1)

    def test_with_a_secret_there_is_no_fallback(self):
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual([str(place) for place in Where(user="u", secret="s").places],
                             ["unix:/run/redlockd/redlockd.sock"])

    def test_a_bad_secret_is_not_shown(self):
        with self.assertRaises(BadArgumentError) as caught:
            Where(user="u", secret="open sesame")
        self.assertNotIn("sesame", str(caught.exception))

    def test_nobody_there_says_how_to_start_one(self):
        client = Client("unix:/nowhere/at-all")
        self.addCleanup(client.close)
        with self.assertRaisesRegex(UnreachableError, "unix:/nowhere/at-all.*redlockd --dev"):
            client.lock("job").acquire()


class Names(unittest.TestCase):
    def test_what_a_name_may_not_have_is_encoded(self):
        for parts, name in {
            ("order", 17): "order:17", ("file", "a b:c"): "file:a%20b%3Ac", ("#1", '=",%'): "%231:%3D%22%2C%25",
            ("é\n",): "%C3%A9%0A", ("order", ""): "order:",
        }.items():
            self.assertEqual(name_of(*parts), name)
            self.assertEqual(parts_of(name), tuple(map(str, parts)))
        for parts in ((), ("",), ("", "x"), ("x" * 201,)):
            with self.assertRaises(BadArgumentError, msg=parts):
                name_of(*parts)


class Clocks(unittest.TestCase):
    def test_the_same_clock_is_compared_directly(self):
        sample = Sample()
        sample.take(100, 105, 110, local=True)
        self.assertEqual(sample.deadline_ms(10105), 10105)

    def test_another_clock_costs_a_thousandth_and_a_millisecond(self):
        sample = Sample()
        sample.take(100, 900005, 110, local=False)
        self.assertEqual(sample.deadline_ms(910005), 100 + 10000 - 10 - 1)

    def test_a_slow_answer_does_not_prove_another_clock(self):
        sample = Sample()
        sample.take(100, 105, 110, local=True)
        sample.take(1000, 1100, 1500, local=True)
        self.assertTrue(sample.same)

    def test_a_clock_that_stood_still_is_read_anew(self):
        sample = Sample()
        sample.take(100, 5000, 110, local=False)
        sample.take(1000, 9000, 1010, local=False)

    def test_over_tcp_no_clock_is_the_same(self):
        sample = Sample()
        sample.take(100, 105, 110, local=False)
        self.assertFalse(sample.same)


if __name__ == "__main__":
    unittest.main()
