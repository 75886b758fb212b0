#!/usr/bin/python3
"""The Cyborg flow end to end with Cyborg as it is today, which says nothing: a drive of Cyborg's is
bound, unbound, cleaned and given back by Nova and Placement alone."""
import json
import unittest

from case import FIRST, LONG_MS, SEED, tear_down_services
from cyborg_case import CyborgEndToEnd
from waiting import wait_until


def tearDownModule():
    tear_down_services()


class CyborgOfToday(CyborgEndToEnd):
    """Cyborg says nothing on the bus and reserves nothing: there are Nova and Placement."""

    def test_nova_and_placement_are_enough(self):
        made = self.cyborg()
        self.assertEqual(made.reserved(FIRST), 0)
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        self.assertEqual(made.worker.field(FIRST, "flow"), "cyborg")
        self.assertEqual(made.worker.field(FIRST, "instance"), instance)
        self.assertEqual(made.host.sanitizes(FIRST), 0)

        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.assert_released(made)
        self.assert_certified(made, instance)
        self.assertEqual(made.worker.field(FIRST, "type"), "NVME")

    def test_what_nobody_knows_is_cleaned_before_its_first_tenant(self):
        made = self.cyborg(start=False, first_sight="clean")
        made.worker.start()
        self.assert_released(made)
        self.assertEqual(made.certificate(FIRST)["instance"], "")

    def test_the_survey_alone_is_enough(self):
        made = self.cyborg(survey_s=5)
        instance = self.bind(made)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        made.free(instance)
        self.assert_released(made)
        self.assert_certified(made, instance)

    def test_a_missed_unbind_is_found_at_the_start(self):
        made = self.cyborg()
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        self.assertEqual(made.worker.stop(), 0)
        made.free(instance)
        made.worker.start()
        self.assert_released(made)
        self.assert_certified(made, instance)

    def test_a_tenancy_of_which_nothing_was_heard_is_cleaned_after(self):
        # Bound, used and unbound again while the worker was down: the drive's counters moved.
        made = self.cyborg()
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.assert_released(made)
        self.assertEqual(made.worker.stop(), 0)
        made.host.fill(FIRST, SEED)
        made.host.set(FIRST, host_writes=1_000_000)
        made.worker.start()
        self.wait_reserved(made)
        self.assert_released(made, sanitizes=2)

    def test_reserved_by_cyborgs_disable_is_held(self):
        made = self.cyborg(survey_s=5)
        made.services.reserve(made.providers[FIRST], 1)
        wait_until(lambda: "held" in made.worker.devices()[FIRST]["Note"], "it is shown as held")
        self.assertEqual(made.worker.field(FIRST, "device_state"), "available")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)
        _, out, err = made.worker.command("plan", "--guards", "-f", "json")
        refused = [each for each in json.loads(out) if each["Result"] != "passed"]
        self.assertEqual(refused, [], err)
        made.services.reserve(made.providers[FIRST], 0)
        wait_until(lambda: "held" not in made.worker.devices()[FIRST]["Note"], "not held any more")
        self.assertEqual(made.host.sanitizes(FIRST), 0)


class Guarded(CyborgEndToEnd):
    def cleaning(self, **more):
        """A drive that is being erased, and stays so until the test lets time leap."""
        made = self.cyborg(duration_ms=LONG_MS, **more)
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.wait_erasing(made)
        return made

    def test_a_worker_killed_in_the_middle_leaves_it_to_an_operator(self):
        made = self.cleaning()
        made.worker.kill()
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assert_reserved(made)
        self.assertIn("restarted_error", made.triggers())
        self.assertEqual(made.host.sanitize_status(FIRST), 2)
        code, out, err = made.worker.command("device", "clean", FIRST)
        self.assertEqual(code, 0, out + err)
        # The sanitize is ours and runs in the drive: it is polled, not started again.
        made.worker.wait_log(r"still_burned_adopt")
        self.finish_sanitize(made)
        self.assert_released(made, sanitizes=1)
        self.assertTrue(made.certificate(FIRST)["evidence"]["adopted"])

    def test_an_allocation_while_it_is_cleaned_is_an_error(self):
        made = self.cleaning(survey_s=5)
        instance = self.bind_behind(made)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.wait_reserved(made)
        made.free(instance)

    def test_a_bind_of_a_device_in_error_is_healed_and_reported(self):
        made = self.cyborg(fault=",lies_keeps_data=1")
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        made.worker.wait_field(FIRST, "device_state", "error")
        late = self.bind_behind(made)
        made.tell_nova(late, "create.end")
        self.wait_reserved(made)
        made.worker.wait_log(r"ERROR.*%s.*(bound|allocat)" % FIRST)
        self.assertEqual(made.worker.field(FIRST, "device_state"), "error")
        self.assertEqual(made.host.sanitizes(FIRST), 1)
        # The operator's word is not enough while somebody holds it.
        made.host.set(FIRST, lies_keeps_data=0)
        made.free(late)
        made.tell_nova(late, "delete.end")
        code, out, err = made.worker.command("device", "clean", FIRST)
        self.assertEqual(code, 0, out + err)
        self.assert_released(made, sanitizes=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
