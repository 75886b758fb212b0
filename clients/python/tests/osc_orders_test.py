"""The orders of the openstack client: where they go, what they carry, what is said of a refusal."""
import json
import os
import tempfile
import unittest

from osc_lib import exceptions

from played_cloud import PlayedCloud, error, golden, run
from reclaim_openstack.osc import orders
from reclaim_openstack.osc.devices import ShowDevice

UUID = "04f8f089-9630-5c52-aefe-19b3fb42ef84"
OTHER = "29fea63c-fdff-581d-adb6-18b692a7ca42"
CYBORG_ROOT = json.dumps({
    "name": "OpenStack Cyborg API", "description": "Cyborg", "versions": [{
        "id": "v2.0", "status": "CURRENT", "min_version": "2.0", "max_version": "2.3",
        "links": [{"rel": "self", "href": "http://reclaim:6667/v2"}]}]})


def path(verb, uuid=UUID):
    return "POST /v2/devices/%s/%s" % (uuid, verb)


class Case(unittest.TestCase):
    def cloud(self, answers=None, **more):
        made = PlayedCloud(answers, **more)
        self.addCleanup(made.close)
        return made

    def sent(self, cloud):
        return [(method + " " + where, version, json.loads(body) if body else None)
                for method, where, version, body in cloud.asked if method == "POST"]


class Sending(Case):
    def test_each_order_is_one_post_of_its_verb(self):
        for command, verb, words, body in (
                (orders.CleanDevice, "clean", (), None),
                (orders.AbortDevice, "abort", (), None),
                (orders.UnholdDevice, "unhold", (), None),
                (orders.SetMaintenance, "disable", (), None),
                (orders.UnsetMaintenance, "enable", (), None),
                (orders.EnrolDevice, "enrol", (), None),
                (orders.EnrolDevice, "enrol", ("--serial", "S1"), {"serial": "S1"}),
                (orders.RetireDevice, "retire", ("--as", "recycled", "--reason", "old"),
                 {"as": "recycled", "reason": "old"}),
                (orders.DisownDevice, "disown", ("--reason", "gone"), {"reason": "gone"})):
            cloud = self.cloud({path(verb): (202, "")}, highest="2.7")
            self.assertEqual(run(command, cloud, UUID, *words).code, 0)
            self.assertEqual(self.sent(cloud), [(path(verb), "accelerator-cleaning 2.7", body)])

    def test_several_devices_and_one_that_is_refused(self):
        refused = json.loads(json.loads(golden("clean-409.json"))["error_message"])["faultstring"]
        cloud = self.cloud({path("clean"): (409, golden("clean-409.json")),
                            path("clean", OTHER): (202, "")})
        done = run(orders.CleanDevice, cloud, UUID, OTHER, OTHER)
        self.assertEqual(done.code, 1)
        self.assertEqual(done.said, ["%s: %s (HTTP 409, req-played)" % (UUID, refused)])
        self.assertEqual([each[0] for each in self.sent(cloud)],
                         [path("clean"), path("clean", OTHER)])

    def test_steps_from_a_text_and_a_file(self):
        steps = [{"interface": "nvme", "step": "check_health", "args": {}}]
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "steps.json")
            with open(name, "w", encoding="utf-8") as file:
                json.dump(steps, file)
            for text in (json.dumps(steps), name):
                cloud = self.cloud({path("clean"): (202, "")})
                run(orders.CleanDevice, cloud, UUID, "--clean-steps", text)
                self.assertEqual(self.sent(cloud)[0][2], {"clean_steps": steps})

    def test_steps_that_are_wrong_are_told_and_nothing_is_asked(self):
        for text, said in (
                ("[", "--clean-steps: not JSON"), ("[]", "a step or more"),
                ("{}", "a step or more"),
                ("[1]", "element 1 is not an object"),
                ('[{"interface": "nvme"}]', "element 1: step has to be a text"),
                ('[{"interface": "nvme", "step": "a", "args": 1}]', "args has to be an object"),
                ('[{"interface": "nvme", "step": "a", "arg": 1}]', "unknown member arg"),
                ("/nonexistent", "/nonexistent: cannot be read")):
            cloud = self.cloud()
            with self.assertRaisesRegex(exceptions.CommandError, said):
                run(orders.CleanDevice, cloud, UUID, "--clean-steps", text)
            self.assertEqual(cloud.asked, [])


class Nowhere(Case):
    """An order that Reclaim would not get is not sent."""

    def nothing_sent(self, said, command=orders.CleanDevice, words=(), **more):
        cloud = self.cloud({path("clean"): (202, ""), path("disable"): (202, "")}, **more)
        with self.assertRaisesRegex(exceptions.CommandError, said):
            run(command, cloud, UUID, *words)
        self.assertEqual(cloud.asked, [])

    def test_to_cyborg_which_is_all_that_the_catalog_has(self):
        self.nothing_sent("not registered in this cloud", service="accelerator")

    def test_to_cyborg_which_is_registered_under_our_name(self):
        for highest in ("2.3", "2.6"):
            self.nothing_sent("calls itself 'OpenStack Cyborg API' and not.*Nothing was sent",
                              root=CYBORG_ROOT, highest=highest)

    def test_to_an_older_reclaim_that_has_no_such_order(self):
        self.nothing_sent("`abort` needs microversion 2.6; .* answers up to 2.5. Upgrade",
                          orders.AbortDevice, highest="2.5")
        self.nothing_sent("`disable` needs microversion 2.6", orders.SetMaintenance, highest="2.3")
        self.nothing_sent("`retire` needs microversion 2.7", orders.RetireDevice,
                          words=("--as", "recycled", "--reason", "old"))

    def test_to_one_that_is_asked_in_an_older_version(self):
        cloud = self.cloud({path("abort"): (202, "")})
        with self.assertRaisesRegex(exceptions.CommandError,
                                    "Remove accelerator_cleaning_default_microversion"):
            run(orders.AbortDevice, cloud, UUID, accelerator_cleaning_default_microversion="2.5")
        self.assertEqual(cloud.asked, [])

    def test_clean_is_sent_to_2_5(self):
        cloud = self.cloud({path("clean"): (202, "")}, highest="2.5")
        self.assertEqual(run(orders.CleanDevice, cloud, UUID).code, 0)
        self.assertEqual(self.sent(cloud)[0][1], "accelerator-cleaning 2.5")
        with self.assertRaisesRegex(exceptions.CommandError, "needs microversion 2.6"):
            run(orders.CleanDevice, cloud, UUID, "--clean-steps",
                '[{"interface": "nvme", "step": "check_health"}]')


class Errors(Case):
    def test_the_rule_or_remedy_that_the_api_names_is_shown(self):
        for status, text in ((403, "Forbidden: cyborg:device:abort disallowed by policy"),
                             (404, "NotFound: no device"), (503, "Redis is unavailable; retry")):
            cloud = self.cloud({path("abort"): error(status, text)})
            done = run(orders.AbortDevice, cloud, UUID)
            self.assertEqual(done.code, 1)
            self.assertEqual(done.said, ["%s: %s (HTTP %d, req-played)" % (UUID, text, status)])

    def test_an_api_that_is_away_is_told(self):
        cloud = self.cloud()
        away = "http://127.0.0.1:9"
        with self.assertRaisesRegex(exceptions.CommandError, away + ".*whether `reclaim api` runs"):
            run(ShowDevice, cloud, UUID, accelerator_cleaning_endpoint_override=away)
        cloud.registered = away
        with self.assertRaisesRegex(exceptions.CommandError, away + ".*whether `reclaim api` runs"):
            run(ShowDevice, cloud, UUID)


if __name__ == "__main__":
    unittest.main(verbosity=2)
