#!/usr/bin/python3
"""What of a failed run of ctest may be run again: real runs of small tests, and their outputs."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import run_again  # noqa: E402

ONCE = 'test -e {mark} && exit 0; touch {mark}; echo "{says}"; exit 1'
LATE = "Traceback (most recent call last):\nAssertionError: not within 300 s: it answers"
DIRTY = 'Traceback (most recent call last):\nAssertionError: {"10"} != {"0"} : tenant_blocks_kept'


class RunAgain(unittest.TestCase):
    def run_tests(self, *tests):
        """(exit code, output) of a second run after a first one of such tests: (name, label, what
        it says when it fails the first time)."""
        with tempfile.TemporaryDirectory() as folder:
            lines = ["subdirs()"]
            for name, label, says in tests:
                script = Path(folder, name + ".sh")
                script.write_text(ONCE.format(mark=script.with_suffix(".mark"),
                                              says=says.replace('"', '\\"')), encoding="utf-8")
                lines += [f"add_test({name} sh {script})",
                          f"set_tests_properties({name} PROPERTIES LABELS {label})"]
            Path(folder, "CTestTestfile.cmake").write_text("\n".join(lines[1:]), encoding="utf-8")
            first = subprocess.run(["ctest", "--test-dir", folder], stdout=subprocess.DEVNULL,
                                   check=False)
            self.assertNotEqual(first.returncode, 0)
            done = subprocess.run([sys.executable, "-B", HERE / "run_again.py", folder],
                                  stdout=subprocess.PIPE, text=True, check=False,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
            return done.returncode, done.stdout

    def test_a_service_that_was_late_is_given_a_second_chance(self):
        code, text = self.run_tests(("redis_test", "integration", LATE))
        self.assertEqual(code, 0, text)
        self.assertIn("retried redis_test: AssertionError: not within 300 s: it answers", text)
        self.assertIn("100% tests passed", text)

    def test_what_decides_is_never_run_again(self):
        code, text = self.run_tests(("sim_test", "sim", "seed 4711 FAILED: released dirty"),
                                    ("redis_test", "integration", LATE))
        self.assertEqual(code, 1)
        self.assertIn("not run again: sim_test (it has not the label integration)", text)

    def test_dirt_is_no_services_fault(self):
        code, text = self.run_tests(("e2e_main_job_test", "integration", DIRTY))
        self.assertEqual(code, 1)
        self.assertIn('not run again: e2e_main_job_test (its failure says "tenant_blocks")', text)

    def test_only_the_failure_counts_and_not_what_else_was_printed(self):
        self.assertIsNone(run_again.broken_promise("reclaim: certificate 7 written\n\n\n" + LATE))
        self.assertEqual(run_again.broken_promise(
            "a_test.cpp:7: Failure\nExpected equality of these values:\n  media().nonzero_bytes\n"
            "    Which is: 512\n"), "nonzero_bytes")


if __name__ == "__main__":
    unittest.main(verbosity=2)
