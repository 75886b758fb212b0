#!/usr/bin/python3
"""The demo itself: it ends well, fails when it has to, and leaves nothing behind."""
import os
import re
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check  # noqa: E402
from demo_run import Run  # noqa: E402

DIGEST = {"sha256": "aa", "tenant_blocks": "10", "tenant_blocks_kept": "10"}
ERASED = {"sha256": "bb", "tenant_blocks": "10", "tenant_blocks_kept": "0"}


class Demo(unittest.TestCase):
    def start(self, *words):
        run = Run(*words)
        self.addCleanup(run.folder.cleanup)
        return run

    def test_it_ends_well_and_leaves_nothing_behind(self):
        run = self.start()
        code, text = run.end()
        self.assertEqual(code, 0, text)
        for shown in ("event heard", "survey", "guards passed", "nvme.check_health", "sanitize",
                      "nvme.reset_namespaces", "verified", "released", "a locking range is locked",
                      "PSID", "Certificate", "whole and signed", "was changed", "byte for byte",
                      "Nova's own queues", "versioned_notifications.info 0, "):
            self.assertIn(shown, " ".join(text.split()))  # wherever its line was broken
        self.assertRegex(text, r"reserved 1 (→|->) 0")
        self.assertNotIn("\033", text)
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertEqual(run.left_behind(), [])

    def test_cyborgs_flow_ends_well_and_leaves_nothing_behind(self):
        run = self.start("--flow", "cyborg")
        code, text = run.end()
        self.assertEqual(code, 0, text)
        for shown in ("registered as Cyborg does", "Cyborg left reserved = 0",
                      "accelerator_request.bind.end", "accelerator_request.unbind.end", "survey",
                      "guards passed", "sanitize", "verified", "released", "Device API",
                      "openstack client", "device_state available", "Certificate",
                      "whole and signed", "byte for byte"):
            self.assertIn(shown, " ".join(text.split()))  # wherever its line was broken
        self.assertRegex(text, r"reserved 1 (→|->) 0")
        self.assertNotIn("\033", text)
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertEqual(run.left_behind(), [])

    @unittest.skipUnless(os.geteuid() == 0, "the command of a step belongs to root: run it as root")
    def test_the_steps_flow_ends_well_and_leaves_nothing_behind(self):
        run = self.start("--flow", "steps")
        code, text = run.end()
        self.assertEqual(code, 0, text)
        for shown in ("card.firmware", "its firmware now 22.36.10 MT_0012", "released",
                      "Quarantined", "its PSID is EVIL_01", "has approved it already",
                      "after both", "sha256:", "Certificate", "operator_steps",
                      "verified by"):
            self.assertIn(shown, " ".join(text.split()))  # wherever its line was broken
        self.assertNotIn("\033", text)
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertEqual(run.left_behind(), [])

    def test_a_drive_that_lies_makes_it_fail_and_show_the_log(self):
        run = self.start("--fault", "lies_keeps_data=1")
        code, text = run.end()
        self.assertEqual(code, 1, text)
        self.assertIn("the old content is still there", text)
        self.assertRegex(text, r"end of reclaim.serve")
        self.assertEqual(run.left_behind(), [])

    def test_an_interrupt_leaves_nothing_behind(self):
        run = self.start()
        run.wait_for_folder()
        run.process.send_signal(signal.SIGINT)
        code, text = run.end()
        self.assertEqual(code, 130, text)
        self.assertIsNone(re.search("Traceback", text), text)
        self.assertEqual(run.left_behind(), [])


class Checks(unittest.TestCase):
    """Each thing that the demo asserts, wrong once."""

    def setUp(self):
        self.before = self.drive("allocated", 1, ["x"], DIGEST, 0, b"TEXT")

    def drive(self, *facts):
        return check.Drive(*facts)

    def test_the_erased_drive(self):
        good = ["available", 0, [], ERASED, 1, b"\0\0\0\0"]
        self.assertEqual(check.wrong_with_erased(self.before, self.drive(*good)), [])
        for index, bad in ((0, "error"), (1, 1), (3, DIGEST), (4, 0), (4, 2), (5, b"TEXT")):
            facts = good[:index] + [bad] + good[index + 1:]
            self.assertNotEqual(check.wrong_with_erased(self.before, self.drive(*facts)), [], bad)

    def test_the_drive_that_is_in_use(self):
        good = ["allocated", 1, ["x"], DIGEST, 0, b"TEXT"]
        self.assertEqual(check.wrong_with_untouched(self.before, self.drive(*good)), [])
        for index, bad in ((0, "available"), (1, 0), (2, []), (3, ERASED), (4, 1)):
            facts = good[:index] + [bad] + good[index + 1:]
            self.assertNotEqual(check.wrong_with_untouched(self.before, self.drive(*facts)), [],
                                bad)

    def test_the_quarantined_drive(self):
        good = ["error", 1, [], DIGEST, 0, b"TEXT"]
        note = "nvme.reset_controller_state: opal: locked; revert it with its PSID"
        wrong = check.wrong_with_quarantined
        self.assertEqual(wrong(self.before, self.drive(*good), note), [])
        self.assertNotEqual(wrong(self.before, self.drive(*good), "broken"), [])
        for index, bad in ((0, "available"), (1, 0), (2, ["x"]), (3, ERASED), (4, 1)):
            facts = good[:index] + [bad] + good[index + 1:]
            self.assertNotEqual(wrong(self.before, self.drive(*facts), note), [], bad)

    def test_what_an_operators_step_did(self):
        good = {"method": "operator_steps", "sanitization_class": ""}
        findings = [{"surface": name} for name in ("command", "args", "time", "result")]
        self.assertEqual(check.wrong_with_steps(good, findings), [])
        self.assertNotEqual(check.wrong_with_steps({**good, "method": "x"}, findings), [])
        self.assertNotEqual(check.wrong_with_steps({**good, "sanitization_class": "purge"},
                                                   findings), [])
        self.assertNotEqual(check.wrong_with_steps(good, findings[1:]), [])

    def test_the_queues_of_novas_notifier(self):
        self.assertEqual(check.wrong_with_queues({"a.info": (0, 0), "read": (9, 1)}), [])
        self.assertEqual(check.wrong_with_queues({"a.info": (349, 0), "read": (9, 1)}),
                         ["a.info holds 349 messages that nobody reads"])
        self.assertNotEqual(check.wrong_with_queues({}), [])
        listed = "notifications.info\t349\t0\nscheduler_fanout_1\t7\t0\nreclaim_compute-1\t2\t1\n"
        self.assertEqual(check.queues_of_notifiers(listed),
                         {"notifications.info": (349, 0), "reclaim_compute-1": (2, 1)})

    def test_the_card(self):
        card = check.Card("available", 0, "1")
        self.assertEqual(check.wrong_with_card(card, "available", 0, "1"), [])
        for bad in (("error", 0, "1"), ("available", 1, "1"), ("available", 0, "2")):
            self.assertNotEqual(check.wrong_with_card(card, *bad), [], bad)

    def test_what_verify_says(self):
        good = (0, "entries 1 to 1 (1 certificate), whole and signed", 1,
                "the certificate was changed")
        self.assertEqual(check.wrong_with_verification(*good), [])
        for index, bad in ((0, 1), (1, "changed"), (2, 0), (3, "whole and signed")):
            told = good[:index] + (bad,) + good[index + 1:]
            self.assertNotEqual(check.wrong_with_verification(*told), [], bad)

    def test_the_device_api(self):
        good = ("U NVME compute-2", {"uuid": "U", "type": "NVME", "device_state": "available"},
                409, 403, "U")
        self.assertEqual(check.wrong_with_api(*good), [])
        for index, bad in ((0, ""), (1, {**good[1], "device_state": "error"}), (2, 202), (3, 202)):
            told = good[:index] + (bad,) + good[index + 1:]
            self.assertNotEqual(check.wrong_with_api(*told), [], bad)

    def test_the_certificate(self):
        good = {"serial": "S", "instance": "I", "evidence": {"global_data_erased": True},
                "verification": {"samples_counted": 3, "samples_unchanged": 0}}
        self.assertEqual(check.wrong_with_certificate(good, "S", "I"), [])
        for key, bad in (("serial", "T"), ("instance", ""), ("evidence", {}),
                         ("verification", {"samples_counted": 0, "samples_unchanged": 0}),
                         ("verification", {"samples_counted": 3, "samples_unchanged": 1})):
            self.assertNotEqual(check.wrong_with_certificate({**good, key: bad}, "S", "I"), [], bad)


if __name__ == "__main__":
    unittest.main(verbosity=2)
