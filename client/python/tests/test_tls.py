"""tls:// and the secret, against a fake with a certificate of its own."""
import os
import shutil
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

import support  # noqa: F401
from redlockd import Client, UnreachableError


class Fake(socketserver.StreamRequestHandler):
    """redlockd as far as one LOCK and its UNLOCK; it keeps the lines that it heard."""

    def handle(self):
        try:
            for line in self.rfile:
                tag, verb, *words = line.decode().split()
                self.server.heard.append(" ".join([verb, *words]))
                now_ms = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
                name = words[0] if words else ""
                answer = {"AUTH": "+OK", "HELLO": f"+HELLO proto=1 server=fake session=1 now={now_ms} behind=0",
                          "LOCK": f"+LOCKED {name} token={'5f' * 20} fence=1 valid=9 until={now_ms + 9000}",
                          "UNLOCK": f"+UNLOCKED {name} confirmed=3/3", "QUIT": "+BYE"}[verb]
                self.wfile.write(f"{tag} {answer}\n".encode())
                if verb == "QUIT":
                    return
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def get_request(self):
        connection, address = super().get_request()
        return self.context.wrap_socket(connection, server_side=True), address

    def handle_error(self, *_client):
        pass


@unittest.skipUnless(shutil.which("openssl"), "left out: openssl is not installed")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.certificate, key = f"{folder.name}/cert.pem", f"{folder.name}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cls.certificate],
                       check=True, capture_output=True)
        cls.secret = f"{folder.name}/secret"
        with open(cls.secret, "w", encoding="ascii") as file:
            file.write("open-sesame\n")
        cls.server = Server(("127.0.0.1", 0), Fake)
        cls.server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.server.context.load_cert_chain(cls.certificate, key)
        thread = threading.Thread(target=cls.server.serve_forever, daemon=True)
        thread.start()
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)

    def setUp(self):
        self.server.heard = []

    def client(self, host="localhost", **environment):
        with mock.patch.dict(os.environ, environment):
            client = Client(f"tls://{host}:{self.server.server_address[1]}")
            self.addCleanup(client.close)
            client._engine.session.where.tls()  # reads the environment
        return client

    def test_the_secret_is_the_first_line(self):
        client = self.client(REDLOCK_CA=self.certificate, REDLOCK_USER="worker", REDLOCK_SECRET_FILE=self.secret)
        with client.lock("job", ttl=9) as lock:
            self.assertGreater(lock.valid(), 5)
        client.close()
        self.assertEqual(self.server.heard[0], "AUTH worker open-sesame")
        self.assertEqual([line.split()[0] for line in self.server.heard if not line.startswith("HELLO")],
                         ["AUTH", "LOCK", "UNLOCK", "QUIT"])

    def test_an_unknown_certificate_is_refused(self):
        with self.assertRaisesRegex(UnreachableError, "(?i)certificate"):
            self.client(REDLOCK_USER="worker", REDLOCK_SECRET_FILE=self.secret).lock("job").acquire()
        self.assertEqual(self.server.heard, [])

    def test_another_name_is_refused(self):
        with self.assertRaisesRegex(UnreachableError, "(?i)mismatch|not valid for"):
            self.client("127.0.0.1", REDLOCK_CA=self.certificate).lock("job").acquire()
        self.assertEqual(self.server.heard, [])


if __name__ == "__main__":
    unittest.main()
