#!/usr/bin/python3
"""Two hundred slow, garbage and greedy clients of the device API, while a worker cleans a drive:
the cleaning completes, a good client is answered, and neither loop is held up."""
import os
import re
import select
import socket
import threading
import time
import unittest

import seed
from api_clients import curl
from api_node import ApiNode
from case import LONG_MS, services, tear_down_services
from cyborg_case import CyborgEndToEnd
from waiting import wait_until
from worker import Programs

CLIENTS = 200
HEAD = b"GET /v2/devices HTTP/1.1\r\nHost: api\r\nX-Auth-Token: gAAAAAnobody\r\n"
RANDOM = seed.stream("slow_clients_test")


def tearDownModule():
    tear_down_services()


# Of each kind: what it sends next, from how often it has sent; None: it only waits.
KINDS = {
    "says nothing": lambda count: None,
    "a byte at a time": lambda count: (HEAD * 40)[count:count + 1],
    "a header that never ends": lambda count: HEAD if count == 0 else b"X-%d: y\r\n" % count,
    "garbage": lambda count: RANDOM.randbytes(700),
    "TLS where there is none": lambda count: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" +
                                             RANDOM.randbytes(200),
    "a body that never comes": lambda count: b"POST /v2/devices/x/clean HTTP/1.1\r\nHost: api\r\n"
                                             b"Content-Length: 60000\r\n\r\n" if count == 0
                                             else b"x",
    "a body without a length": lambda count: b"POST /v2/devices/x/clean HTTP/1.1\r\nHost: api\r\n"
                                             b"Transfer-Encoding: chunked\r\n\r\n" if count == 0
                                             else b"1\r\nx\r\n",
    "asks and does not read": lambda count: (HEAD + b"\r\n") * 50,
    "hangs up in the middle": lambda count: HEAD[:30] if count == 0 else b"",
    "one request after the other": lambda count: HEAD + b"\r\n",
}


class Crowd:
    """Keeps that many connections open, of all kinds by turns, and goes on with each as fast as it
    is let."""

    def __init__(self, port, count):
        self.port, self.count = port, count
        self.connections = {}
        self.opened = 0
        self.sent = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def open_one(self, kind):
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect_ex(("127.0.0.1", self.port))
        self.connections[sock] = [kind, 0]
        self.opened += 1

    def run(self):
        kinds = list(KINDS)
        while not self.ended.is_set():
            while len(self.connections) < self.count:
                self.open_one(kinds[self.opened % len(kinds)])
            _, writable, _ = select.select([], list(self.connections), [], 0.05)
            for sock in writable:
                self.go_on(sock)
            time.sleep(0.01)
        for sock in self.connections:
            sock.close()

    def go_on(self, sock):
        kind, count = self.connections[sock]
        data = KINDS[kind](count)
        try:
            if kind != "asks and does not read":
                self.drain(sock)
            if data == b"":
                raise ConnectionError("hung up")
            if data is not None:
                self.sent += sock.send(data)
                self.connections[sock][1] += 1
        except BlockingIOError:
            pass
        except OSError:
            del self.connections[sock]
            sock.close()

    @staticmethod
    def drain(sock):
        try:
            if sock.recv(65536) == b"":
                raise ConnectionError("closed")
        except BlockingIOError:
            pass

    def stop(self):
        self.ended.set()
        self.thread.join()


class SlowClients(CyborgEndToEnd):
    def test_a_crowd_of_bad_clients_hinders_neither_a_cleaning_nor_a_good_client(self):
        made = self.cyborg(survey_s=5, duration_ms=LONG_MS)
        node = ApiNode(Programs(), made.services, os.path.join(made.folder, "api"), db=made.db)
        node.write_config("[api]\nhead_timeout_s = 3\n")
        self.addCleanup(node.kill)
        node.start()
        url = node.url + "/v2/devices"
        token = services().token()
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        crowd = Crowd(node.port, CLIENTS)
        self.addCleanup(crowd.stop)
        wait_until(lambda: len(crowd.connections) == CLIENTS, "the crowd is there")
        answered = []

        def ask():
            answer = curl(url, token=token, version="2.5", check=False)
            answered.append(answer.status if answer else 0)
            return answer
        ask()
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.wait_erasing(made)
        # As long as bad clients are given for a head, so that some are thrown out and come again.
        wait_until(lambda: ask() and crowd.opened > 2 * CLIENTS, "bad clients are thrown out")
        self.finish_sanitize(made)
        self.assert_released(made)
        # Placement shows the release before the worker has read it back and saved the record.
        wait_until(lambda: [device["device_state"] for device in ask().json()["devices"]] ==
                   ["available"], "the API shows the drive as available")
        self.assertEqual(set(answered), {200}, answered)
        crowd.stop()
        held = [int(ms) for ms in re.findall(r"the loop was held up for (\d+) ms",
                                             made.worker.log_text())]
        self.assertEqual(node.stop(), 0, node.log_text()[-3000:])
        print("\n%d connections opened, %d bytes sent; a good client was answered %d times; "
              "the loop's lag was over its limit %d times%s" % (
                  crowd.opened, crowd.sent, len(answered), len(held),
                  ", at most %d ms" % max(held) if held else ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
