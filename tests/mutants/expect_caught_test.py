#!/usr/bin/python3
"""What expect_caught.cmake says of a mutant that is played, and that nothing of it stays.

usage: expect_caught_test.py CMAKE
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CMAKE = sys.argv.pop()


class ExpectCaught(unittest.TestCase):
    def run_mutant(self, end):
        """(whether it was caught, what is said) of one that makes a folder and ends so."""
        with tempfile.TemporaryDirectory() as folder:
            mutant = Path(folder, "mutant")
            mutant.write_text('#!/bin/sh\nmkdir "$TMPDIR/reclaim-mutant"\n' + end,
                              encoding="utf-8")
            mutant.chmod(0o755)
            temporary = Path(folder, "temporary")
            temporary.mkdir()
            done = subprocess.run(
                [CMAKE, f"-DMUTANT={mutant}", "-DTEST=A.*", "-DBREAKS=it", "-P",
                 HERE / "expect_caught.cmake"], text=True, check=False, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(temporary)})
            self.assertEqual(list(temporary.iterdir()), [])
            return done.returncode == 0, done.stdout

    def test_what_fails_is_caught_also_where_it_aborts_then(self):
        for end in ("exit 1", "kill -ABRT $$"):
            with self.subTest(end):
                caught, said = self.run_mutant('echo "[  FAILED  ] A.B"\n' + end)
                self.assertTrue(caught, said)

    def test_what_passes_or_only_aborts_is_not(self):
        for end, why in (("exit 0", "not caught by A."), ("kill -ABRT $$", "did not fail")):
            with self.subTest(end):
                caught, said = self.run_mutant(end)
                self.assertFalse(caught)
                self.assertIn(why, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
