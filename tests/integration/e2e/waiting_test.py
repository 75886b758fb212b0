#!/usr/bin/python3
"""What a wait tells that takes long (waiting.py)."""
import contextlib
import io
import os
import subprocess
import tempfile
import unittest

import waiting


class Waiting(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, waiting, "SLOW_S", waiting.SLOW_S)
        waiting.SLOW_S = 0

    def waited(self, looks, **more):
        """What it told while it looked so many times."""
        left = iter(range(looks))
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            waiting.wait_until(lambda: next(left, None) is None, "the drive is there", **more)
        return told.getvalue()

    def test_what_is_there_at_once_tells_nothing(self):
        self.assertEqual(self.waited(0), "")

    def test_the_state_and_the_last_words_of_all_that_takes_part(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            with open(log, "w", encoding="utf-8") as file:
                file.writelines("line %d\n" % number for number in range(1000))
            gone = subprocess.Popen(["true"])
            gone.wait()
            waiting.takes_part("worker", log, lambda: os.getpid())
            waiting.takes_part("broker", log, lambda: gone.pid)
            waiting.takes_part("vanished", log, lambda: os.stat(log + "2"))
            waiting.takes_part("never started", log + "2")
            told = self.waited(3)
        self.assertRegex(told, r"(?m)^slow: \d+ s already, and not yet: the drive is there$")
        self.assertIn("  worker (runs)\n    line 995\n", told)
        self.assertIn("  broker (gone)\n", told)
        self.assertIn("  vanished (gone)\n", told)
        self.assertIn("    line 999", told)
        self.assertNotIn("never started", told)
        self.assertEqual(self.waited(3).count("worker"), 0, "its log is gone with the test")

    def test_in_vain(self):
        with self.assertRaisesRegex(AssertionError, "not within -1 s: the drive is there"):
            self.waited(1000, deadline_s=-1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
