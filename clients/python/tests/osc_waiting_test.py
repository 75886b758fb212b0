"""--wait: what a cleaning's end is, seen by looks that may miss all of it; and the bar."""
import io
import json
import unittest
from unittest import mock

from played_cloud import PlayedCloud, error, golden, run
from reclaim_openstack.osc import orders, progress, waiting
from reclaim_openstack.sdk import waiting as rules

UUID = "04f8f089-9630-5c52-aefe-19b3fb42ef84"
DEVICE = "GET /v2/devices/" + UUID
STEPS = DEVICE + "/cleaning/steps"
EARLIER, LATER = "2026-05-15T16:30:15Z", "2026-05-15T18:00:00Z"


def look(state, started=EARLIER, updated=EARLIER, **more):
    fields = dict.fromkeys(rules.Look._fields)
    fields.update(state=state, started_at=started, updated_at=updated, **more)
    return rules.Look(**fields)


class Rules(unittest.TestCase):
    def outcome(self, rule, *looks):
        """Of the looks, one a second."""
        for second, now in enumerate(looks):
            found = rule.judge(now, second)
            if found:
                return found, second
        return None

    def test_a_cleaning_that_is_seen_from_begin_to_end(self):
        for last, outcome in (("available", "done"), ("error", "failed"), ("allocated", "taken")):
            self.assertEqual(self.outcome(
                rules.Cleaning(look("error")), look("error"), look("pending_cleaning"),
                look("cleaning", LATER, LATER), look(last, LATER, LATER)), (outcome, 3))

    def test_one_that_begins_and_fails_between_two_looks(self):
        self.assertEqual(self.outcome(rules.Cleaning(look("error")), look("error"),
                                      look("error", LATER, LATER)), ("failed", 1))

    def test_one_that_begins_and_ends_well_between_two_looks(self):
        self.assertEqual(self.outcome(rules.Cleaning(look("error")), look("error"),
                                      look("available", LATER, LATER)), ("done", 1))
        # One of an available device, by hand: it is available before and after.
        self.assertEqual(self.outcome(rules.Cleaning(look("available")), look("available"),
                                      look("available", LATER, LATER)), ("done", 1))

    def test_the_state_before_the_order_is_no_end(self):
        for state in ("error", "available"):
            self.assertIsNone(self.outcome(rules.Cleaning(look(state)), *[look(state)] * 100))
        # A note that was changed is not yet a refusal: the cleaning may still begin.
        self.assertEqual(self.outcome(
            rules.Cleaning(look("error")), look("error", updated=LATER),
            look("cleaning", LATER, LATER), look("available", LATER, LATER)), ("done", 2))

    def test_an_order_that_the_host_refused_is_an_end_once_it_stays_so(self):
        self.assertEqual(self.outcome(
            rules.Cleaning(look("error", None)), *[look("error", None, LATER)] * 100),
            ("failed", rules.SETTLED_S))

    def test_abort_ends_in_error(self):
        for last, outcome in (("error", "done"), ("available", "missed"), ("allocated", "taken")):
            self.assertEqual(self.outcome(rules.Abort(look("cleaning")), look("cleaning"),
                                          look("pending_cleaning"), look(last)), (outcome, 2))


class Clock:
    """Time passes only where the command sleeps."""

    def __init__(self):
        self.now = 0

    def sleep(self, seconds):
        self.now += seconds

    def __call__(self):
        return self.now


class Waits(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        waiter = waiting.Waiter
        self.stream = io.StringIO()
        patch = mock.patch.object(waiting, "Waiter", lambda proxy, log: waiter(
            proxy, log, self.stream, self.clock, self.clock.sleep))
        patch.start()
        self.addCleanup(patch.stop)

    def device(self, state, updated=EARLIER):
        document = json.loads(golden("device-2.5.json"))
        document.update(device_state=state, updated_at=updated)
        return json.dumps(document)

    def steps(self, state, started=EARLIER, **more):
        document = json.loads(golden("steps-2.5.json"))
        document.update(device_uuid=UUID, device_state=state, started_at=started, **more)
        return json.dumps(document)

    def wait(self, command, verb, devices, steps, *words):
        cloud = PlayedCloud({DEVICE: devices, STEPS: steps,
                             "POST /v2/devices/%s/%s" % (UUID, verb): (202, "")})
        self.addCleanup(cloud.close)
        return run(command, cloud, UUID, "--wait", *words)

    def clean(self, steps, *words, devices=None):
        return self.wait(orders.CleanDevice, "clean", devices or self.device("error"), steps,
                         *words)

    def test_done(self):
        done = self.clean([self.steps("error"), self.steps("cleaning", LATER),
                           self.steps("available", LATER)])
        self.assertEqual((done.code, done.said, self.clock.now), (0, [], waiting.POLL_S))
        self.assertEqual(self.stream.getvalue(), "")  # not a terminal

    def test_a_failure_says_the_last_error_and_ends_with_3(self):
        done = self.clean([self.steps("error"), self.steps(
            "error", LATER, last_error="sanitize failed: status 0x1D; replace it")])
        self.assertEqual((done.code, done.said), (3, [
            UUID + " is in error: sanitize failed: status 0x1D; replace it"]))

    def test_without_the_rule_for_cleanings_the_devices_state_is_enough(self):
        forbidden = error(403, "Forbidden: cyborg:device:cleaning_steps")
        done = self.clean(forbidden, devices=[self.device("error"), self.device("cleaning", LATER),
                                              self.device("available", LATER)])
        self.assertEqual((done.code, done.said), (0, []))

    def test_an_api_that_is_away_for_a_while_is_asked_again(self):
        away = error(503, "Redis is unavailable; retry later")
        done = self.clean([self.steps("error"), self.steps("cleaning", LATER), away, away,
                           self.steps("available", LATER)])
        self.assertEqual((done.code, done.said), (0, []))

    def test_time_that_is_up_says_where_it_stands_and_ends_with_4(self):
        done = self.clean([self.steps("error"), self.steps("cleaning", LATER)], "--timeout", "7")
        self.assertEqual(done.code, 4)
        self.assertRegex(done.said[0], "7 s are over, and it goes on.*cleaning, step 2 of 2, "
                                       "nvme.sanitize_crypto, 42 %, 17 s left")
        self.assertEqual(self.clock.now, 8)

    def test_a_device_that_goes_away_is_an_error(self):
        with self.assertRaisesRegex(Exception, "no such device"):
            self.clean([self.steps("error"), self.steps("cleaning", LATER),
                        error(404, "NotFound: no such device")])

    def test_abort_ends_in_error_and_that_is_right(self):
        done = self.wait(orders.AbortDevice, "abort", self.device("cleaning"),
                         [self.steps("cleaning"), self.steps("error")])
        self.assertEqual((done.code, done.said), (0, []))

    def test_an_abort_that_came_too_late_ends_with_3(self):
        done = self.wait(orders.AbortDevice, "abort", self.device("cleaning"),
                         [self.steps("cleaning"), self.steps("available")])
        self.assertEqual(done.code, 3)
        self.assertIn("had ended before the order was carried out", done.said[0])

    def test_a_timeout_of_0_is_refused(self):
        with self.assertRaises(SystemExit), mock.patch("sys.stderr"):
            self.clean([], "--timeout", "0")


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Bar(unittest.TestCase):
    def test_on_a_terminal_it_is_drawn_in_one_line(self):
        stream = Terminal()
        bar = progress.Bar(stream, 2)
        bar.show("a", look("cleaning", number=2, steps=2, step="nvme.zero\x1b[2J", percent=50.0))
        bar.show("b", look("available"), ended=True)
        bar.clear()
        lines = stream.getvalue().split("\r\033[K")
        self.assertEqual(lines[1], "[%s%s] a cleaning, step 2 of 2, nvme.zero?[2J, 50 %%" % (
            "#" * 9, "." * 15))
        self.assertTrue(lines[2].startswith("[%s%s] b available" % ("#" * 21, "." * 3)), lines)
        self.assertEqual(lines[3], "")
        self.assertNotIn("\n", stream.getvalue())


if __name__ == "__main__":
    unittest.main(verbosity=2)
