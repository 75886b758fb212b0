#!/usr/bin/python3
"""leftovers.py names what it is there for, and nothing of somebody else."""
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import leftovers

SCRIPT = os.path.abspath(leftovers.__file__)


class Leftovers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="leftovers.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def left(self, *before, **more):
        """What it prints, by line; its exit code says whether that is anything."""
        done = subprocess.run([*before, sys.executable, "-B", SCRIPT, self.folder, "0"],
                              stdout=subprocess.PIPE, text=True, check=False, **more)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 1 if lines else 0, done.stdout)
        return lines

    def plant(self, words=("cat",), **more):
        """A process that waits until it is told to end."""
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **more)
        self.addCleanup(process.communicate)
        return process

    def assert_told(self, process):
        lines = self.left()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("left behind: process %d: " % process.pid, lines[0])

    def test_nothing_is_no_finding(self):
        self.plant()
        self.assertEqual(self.left(), [])

    def test_a_file_is_told(self):
        path = os.path.join(self.folder, "explain.jsonl")
        with open(path, "w", encoding="ascii"):
            self.assertIn("left behind: file: " + path, self.left())

    def test_a_folder_elsewhere_that_bears_the_name_is_told(self):
        with tempfile.TemporaryDirectory(
                dir="/var/tmp", prefix="reclaim-%s-" % os.path.basename(self.folder)) as path:
            self.assertEqual(self.left(), ["left behind: file: " + path])

    def test_a_process_is_told_by_its_environment(self):
        self.assert_told(self.plant(env={**os.environ, "TMPDIR": self.folder}, cwd="/"))

    def test_a_process_is_told_by_its_command(self):
        self.assert_told(self.plant(("sh", "-c", "cat; : " + self.folder + "/redis")))

    def test_a_process_is_told_by_its_folder(self):
        self.assert_told(self.plant(cwd=self.folder))

    def test_a_process_is_told_by_an_open_file(self):
        with tempfile.TemporaryFile(dir=self.folder) as file:
            process = self.plant(stderr=file)
        self.assert_told(process)

    def test_mounts_and_loop_devices_of_the_folder_are_told(self):
        disk, loop = self.folder + "/disk", "/sys/block/loop7/loop/backing_file"
        said = {loop: disk + " (deleted)\n", "/proc/self/mountinfo": (
            "30 1 7:7 / %s rw - ext4 /dev/loop7 rw\n31 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n" %
            disk)}
        with mock.patch.object(leftovers, "read", lambda path: said.get(path, "")), \
                mock.patch("glob.glob", lambda pattern: [loop] if "loop*" in pattern else []):
            self.assertEqual(leftovers.left(self.folder), [
                "mount: " + disk, "loop device: /dev/loop7 of %s (deleted)" % disk])

    def test_who_asks_is_not_told(self):
        environment = {**os.environ, "TMPDIR": self.folder}
        self.assertEqual(self.left("sh", "-c", '"$@"; exit $?', "sh", env=environment), [])

    def test_what_still_ends_is_waited_for(self):
        process = self.plant(cwd=self.folder)
        with mock.patch("time.sleep", side_effect=lambda seconds: process.communicate()) as slept:
            self.assertEqual(leftovers.main(self.folder, 600), 0)
        slept.assert_called_once()


if __name__ == "__main__":
    unittest.main(verbosity=2)
