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

ONCE = 'test -e {mark} && exit 0; touch {mark}; echo "{says}"; {ends}'
LATE = "Traceback (most recent call last):\nAssertionError: not within 300 s: it answers"
DIRTY = 'Traceback (most recent call last):\nAssertionError: {"10"} != {"0"} : tenant_blocks_kept'


class RunAgain(unittest.TestCase):
    def run_tests(self, *tests, ends="exit 1"):
        """(exit code, output) of a second run after a first one of such tests: (name, label, what
        it says when it fails the first time); `ends`: the command with which it fails."""
        with tempfile.TemporaryDirectory() as folder:
            lines = ["subdirs()"]
            for name, label, says in tests:
                script = Path(folder, name + ".sh")
                script.write_text(ONCE.format(mark=script.with_suffix(".mark"), ends=ends,
                                              says=says.replace('"', '\\"')), encoding="utf-8")
                lines += [f"add_test({name} sh {script})",
                          f"set_tests_properties({name} PROPERTIES LABELS {label})"]
            Path(folder, "CTestTestfile.cmake").write_text("\n".join(lines[1:]), encoding="utf-8")
            first = subprocess.run(["ctest", "--test-dir", folder, "--output-on-failure",
                                    "--output-log", folder + "/Testing/Temporary/Told.log"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
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

    def test_a_defect_is_no_services_fault_wherever_its_words_stand(self):
        for says, word in (
                ("==1==ERROR: AddressSanitizer: heap-use-after-free on", "Sanitizer:"),
                ("a.cpp:7:3: runtime error: signed integer overflow", "runtime error:"),
                ("reclaim: CHECK(token) failed at a.cpp:7", "CHECK(token) failed"),
                ("AddressSanitizer CHECK failed: a.cpp:7", "CHECK failed"),
                ("the worker: SEGFAULT", "SEGFAULT"),
                ("sh: line 1: 7 Segmentation fault", "Segmentation fault"),
                ("terminate called after throwing an instance of", "terminate called"),
                ("a.h:9: T f(): Assertion `IsObject()' failed.", "Assertion `IsObject()' failed"),
                ("Aborted (core dumped)", "Aborted"),
                ("AssertionError: it ended with -11:", "ended with -11"),
                ("AssertionError: -6 != 0 : stopped", "-6 != 0"),
                ("Command 'reclaim' died with <Signals.SIGSEGV: 11>.",
                 "died with <Signals.SIGSEGV")):
            with self.subTest(says):
                code, text = self.run_tests(("e2e_main_job_test", "integration",
                                             says.replace("`", "\\`") + "\n\n\n" + LATE))
                self.assertEqual(code, 1, text)
                self.assertIn(f'not run again: e2e_main_job_test (it printed "{word}")', text)

    def test_a_test_that_a_signal_ended_is_never_run_again(self):
        for signal in ("SEGV", "ILL", "FPE", "ABRT", "BUS"):
            with self.subTest(signal):
                code, text = self.run_tests(("redis_test", "integration", LATE),
                                            ends=f"kill -{signal} $$")
                self.assertEqual(code, 1, text)
                self.assertIn("not run again: redis_test (a signal ended it)", text)

    def test_what_judges_a_drive_has_no_service(self):
        code, text = self.run_tests(("nvme_drive_test_3", "integration", LATE))
        self.assertEqual(code, 1, text)
        self.assertIn("not run again: nvme_drive_test_3 (it judges the bytes of a drive)", text)

    def test_what_only_looks_like_a_defect_is_left_alone(self):
        for says in ("[ RUN      ] ApiOrdersTest.OnlyACleaningIsAborted",
                     "AssertionError: it ended with -9:"):  # a test kills so
            with self.subTest(says):
                code, text = self.run_tests(("redis_test", "integration", says + "\n\n" + LATE))
                self.assertEqual(code, 0, text)

    def test_only_the_failure_counts_and_not_what_else_was_printed(self):
        self.assertIsNone(run_again.broken_promise("reclaim: certificate 7 written\n\n\n" + LATE))
        self.assertEqual(run_again.broken_promise(
            "a_test.cpp:7: Failure\nExpected equality of these values:\n  media().nonzero_bytes\n"
            "    Which is: 512\n"), "nonzero_bytes")


if __name__ == "__main__":
    unittest.main(verbosity=2)
