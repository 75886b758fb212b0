#!/usr/bin/python3
"""How `./test.sh --search` ends: search.sh with a simulation and services that are played."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Search(unittest.TestCase):
    def search(self, minutes, **ends):
        """(exit code, its last lines) where these end with another exit code than 0."""
        with tempfile.TemporaryDirectory() as folder:
            for name, says in (("build/test/tests/sim/sim", "fresh worlds 47 to 11"),
                               ("tests/chaos/chaos.py", ""),
                               ("bin/ctest", "  Test #1: fuzz_ini_explore")):
                script = Path(folder, name)
                script.parent.mkdir(parents=True)
                script.write_text('#!/bin/sh\necho "%s"\nexit %d\n' % (
                    says, ends.get(script.stem, 0)), encoding="utf-8")
                script.chmod(0o755)
            Path(folder, "tests/setup").mkdir()
            shutil.copy(HERE / "search.sh", Path(folder, "tests/setup"))
            done = subprocess.run(
                [Path(folder, "tests/setup/search.sh"), str(minutes), "2"], text=True, check=False,
                stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": folder,
                                             "PATH": folder + "/bin:" + os.environ["PATH"]})
            return done.returncode, done.stdout.rpartition("\nsearched ")[2]

    def test_that_nothing_was_found_is_said(self):
        code, text = self.search(0)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"^0 s: 0 worlds, .*\nfound: nothing\n$")

    def test_who_found_something_is_named_beside_what_was_played(self):
        code, text = self.search(1, sim=1)
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r" 0 worlds, .*\nfound: something, by the simulation ")
        code, text = self.search(1, ctest=1)
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r" 10000 worlds, .*\nfound: something, by one of fuzz_ini_explore")
        self.assertIn("\nbase of the worlds: 47\n", text)
        code, text = self.search(1, chaos=1)
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r" the tests that draw 1 times.*\nfound: something, by chaos ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
