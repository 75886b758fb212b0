#!/usr/bin/python3
"""A private RabbitMQ (stack/rabbitmq.sh) ends with the process that it was started for, even when
that was killed and could stop nothing."""
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
