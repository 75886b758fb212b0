#!/usr/bin/python3
"""A private RabbitMQ (stack/rabbitmq.sh) ends with the process that it was started for, even when
that was killed and could stop nothing; what is killed while it starts leaves nothing either."""
import glob
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stack", "rabbitmq.sh")
DEADLINE_S = 120


def groups():
    """The process groups in which anything but a zombie is left."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {int(group) for group, state in rows if not state.startswith("Z")}


class Owner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="reclaim-rabbitmq-owner-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.script, "kill")
        self.owner = subprocess.Popen(["sleep", "infinity"])
        self.addCleanup(self.owner.wait)
        self.addCleanup(self.owner.kill)

    def script(self, command, *more):
        return subprocess.run([SCRIPT, command, self.folder, *more], stdout=subprocess.PIPE,
                              text=True, check=True, stdin=subprocess.DEVNULL).stdout

    def started(self):
        server = json.loads(self.script("start", "--owner-pid", str(self.owner.pid)))["pid"]
        with open(os.path.join(self.folder, "epmd.pid"), encoding="ascii") as file:
            return {server, int(file.read())}

    def wait_until_gone(self, started):
        deadline = time.monotonic() + DEADLINE_S
        while started & groups():
            self.assertLess(time.monotonic(), deadline, "it runs on without its owner")
            time.sleep(0.1)

    def test_it_ends_when_its_owner_is_killed(self):
        started = self.started()
        self.assertEqual(started & groups(), started)
        self.owner.kill()
        self.owner.wait()
        self.wait_until_gone(started)

    def test_one_that_was_stopped_and_started_again_has_its_owner_still(self):
        self.started()
        self.script("stop")
        started = self.started()
        self.assertEqual(started & groups(), started)
        self.owner.kill()
        self.owner.wait()
        self.wait_until_gone(started)

    def test_one_that_is_killed_while_it_starts_leaves_nothing(self):
        # As on a machine that does much else: its processes are there before they have begun.
        late = os.path.join(self.folder, "setsid")
        with open(late, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nsleep 1\nexec %s "$@"\n' % shutil.which("setsid"))
        os.chmod(late, 0o755)
        starting = subprocess.Popen(
            [SCRIPT, "start", self.folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**os.environ, "PATH": self.folder + ":" + os.environ["PATH"]})
        self.addCleanup(starting.wait)
        self.addCleanup(starting.kill)
        deadline = time.monotonic() + DEADLINE_S
        while not os.path.exists(os.path.join(self.folder, "server.pid")):
            self.assertLess(time.monotonic(), deadline, "it does not start")
            time.sleep(0.01)
        while starting.poll() is None:
            self.script("kill")
        self.script("kill")
        home = os.fsencode("HOME=%s/home" % self.folder)
        self.assertEqual([path for path in glob.glob("/proc/[0-9]*/environ") if home in read(path)],
                         [])


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


if __name__ == "__main__":
    unittest.main(verbosity=2)
