"""openstack accelerator device list and show, over the real SDK."""
import json
import unittest

from osc_lib import exceptions

import played_cloud
from played_cloud import PlayedCloud, golden, run
from reclaim_openstack.osc.devices import ListDevices, ShowDevice

NEW = {"cyborg_uuid": None, "held": False, "clean_step": {
    "interface": "nvme", "step": "sanitize_crypto"}, "progress": 42.5, "tags": ["db", "tier=1"],
    "waiting_for": None, "last_error": None}
UUID = "04f8f089-9630-5c52-aefe-19b3fb42ef84"


def newest(name):
    """A golden file of 2.5 with what 2.6 adds to each device."""
    document = json.loads(golden(name))
    for device in document.get("devices", [document]):
        device.update(NEW)
    return json.dumps(document)


class Case(unittest.TestCase):
    def cloud(self, answers=None, **more):
        made = PlayedCloud(answers, **more)
        self.addCleanup(made.close)
        return made

    def rows(self, command, cloud, *words, **more):
        return json.loads(run(command, cloud, "-f", "json", *words, **more).out)


class List(Case):
    def test_it_lists_with_the_state_at_the_highest_version_both_know(self):
        cloud = self.cloud({"GET /v2/devices": newest("devices-2.5.json")})
        rows = self.rows(ListDevices, cloud)
        self.assertEqual([(row["hostname"], row["type"], row["device_state"]) for row in rows],
                         [("compute-1", "NVME", "available"), ("compute-2", "NVME", "error"),
                          ("compute-2", "GPU", "allocated")])
        self.assertEqual(cloud.asked, [("GET", "/v2/devices", "accelerator-cleaning 2.6", "")])

    def test_long_has_what_2_6_adds_and_steps_as_text_in_a_table(self):
        cloud = self.cloud({"GET /v2/devices": newest("devices-2.5.json")})
        row = self.rows(ListDevices, cloud, "--long")[1]
        self.assertEqual((row["uuid"], row["clean_step"], row["tags"], row["progress"]),
                         (UUID, NEW["clean_step"], ["db", "tier=1"], 42.5))
        table = run(ListDevices, cloud, "--long", "-f", "csv").out
        self.assertIn('"last_error"', table)
        self.assertIn("nvme.sanitize_crypto", run(ListDevices, cloud, "--long").out)

    def test_2_7_tells_how_worn_a_drive_is(self):
        worn = json.dumps({**json.loads(newest("device-2.5.json")),
                           "percentage_used": 96, "available_spare": 8})
        cloud = self.cloud({"GET /v2/devices": json.dumps({"devices": [json.loads(worn)]}),
                            "GET /v2/devices/" + UUID: worn}, highest="2.7")
        for row in (self.rows(ListDevices, cloud, "--long")[0], self.rows(ShowDevice, cloud, UUID)):
            self.assertEqual((row["percentage_used"], row["available_spare"]), (96, 8))

    def test_nothing_moves_the_cursor(self):
        document = json.loads(newest("devices-2.5.json"))
        for device in document["devices"]:
            device.update({"waiting_for": "a\x1b[2Jb", "last_error": "c\u202ed", "tags": ["\x07e"],
                           "clean_step": {"interface": "f\x9bg", "step": "h\ni"}})
        cloud = self.cloud({"GET /v2/devices": json.dumps(document)})
        for form in ("table", "value", "csv"):
            shown = run(ListDevices, cloud, "--long", "-f", form).out
            for obeyed in ("\x1b", "\u202e", "\x07", "\x9b", "h\ni"):
                self.assertNotIn(obeyed, shown, form)
            self.assertIn("x1b[2Jb", shown)

    def test_filters_and_order_are_the_apis(self):
        cloud = self.cloud({"GET /v2/devices": newest("devices-2.5.json")})
        run(ListDevices, cloud, "--host", "compute-1", "--type", "NVME", "--vendor", "8086",
            "--state", "error", "--status", "enabled", "--sort", "hostname:desc", "--limit", "2",
            "--marker", UUID)
        (_, path, _, _), = cloud.asked
        self.assertEqual(sorted(path.partition("?")[2].split("&")), sorted([
            "hostname=compute-1", "type=NVME", "vendor=8086", "device_state=error",
            "status=enabled", "sort_key=hostname", "sort_dir=desc", "limit=2", "marker=" + UUID]))

    def test_a_host_that_has_no_device_is_said(self):
        cloud = self.cloud({"GET /v2/devices": newest("devices-2.5.json"),
                            "GET /v2/devices?hostname=compute-3": '{"devices": []}',
                            "GET /v2/devices?hostname=compute-1&device_state=error":
                                '{"devices": []}'})
        with self.assertRaisesRegex(exceptions.CommandError,
                                    "no device here is of the host compute-3; did you mean"):
            run(ListDevices, cloud, "--host", "compute-3")
        self.assertEqual(self.rows(ListDevices, cloud, "--host", "compute-1", "--state", "error"),
                         [])

    def test_pages_are_followed_without_a_limit(self):
        document = json.loads(newest("devices-2.5.json"))
        first, second, _ = ({"devices": [each]} for each in document["devices"])
        first["devices_links"] = [{"rel": "next",
                                   "href": "http://reclaim:6667/v2/devices?marker=1"}]
        cloud = self.cloud({"GET /v2/devices": [json.dumps(first), played_cloud.error(500, "more")],
                            "GET /v2/devices?limit=1": json.dumps(first),
                            "GET /v2/devices?marker=1": json.dumps(second)})
        self.assertEqual(len(self.rows(ListDevices, cloud)), 2)
        self.assertEqual(len(self.rows(ListDevices, cloud, "--limit", "1")), 1)

    def test_an_older_server_lists_what_it_has_and_the_rest_is_named(self):
        cloud = self.cloud({"GET /v2/devices": golden("devices-2.4.json")}, highest="2.4")
        done = run(ListDevices, cloud, "-f", "json")
        self.assertNotIn("device_state", json.loads(done.out)[0])
        self.assertEqual(done.said, ["microversion 2.4 has no device_state (from 2.5)"])
        with self.assertRaisesRegex(exceptions.CommandError,
                                    "--state or --status needs microversion 2.5; .* up to 2.4"):
            run(ListDevices, cloud, "--state", "error")

    def test_a_configured_microversion_is_kept(self):
        cloud = self.cloud({"GET /v2/devices": golden("devices-2.3.json")})
        done = run(ListDevices, cloud, "-f", "json",
                   accelerator_cleaning_default_microversion="2.3")
        self.assertEqual(cloud.asked[0][2], "accelerator-cleaning 2.3")
        self.assertEqual(done.said, ["microversion 2.3 has no device_state (from 2.5)"])


class Show(Case):
    def test_by_uuid_and_by_host_and_address(self):
        cloud = self.cloud({
            "GET /v2/devices": newest("devices-2.5.json"),
            "GET /v2/devices/" + UUID: newest("device-2.5.json")})
        for name in (UUID, UUID.upper(), "compute-2/0000:02:00.0"):
            shown = self.rows(ShowDevice, cloud, name)
            self.assertEqual((shown["uuid"], shown["device_state"], shown["held"]),
                             (UUID, "error", False))
        self.assertIn(("GET", "/v2/devices?hostname=compute-2", "accelerator-cleaning 2.6", ""),
                      cloud.asked)

    def test_what_names_no_device_is_said_before_or_by_the_api(self):
        cloud = self.cloud({"GET /v2/devices": newest("devices-2.5.json"),
                            "GET /v2/devices/" + UUID: played_cloud.error(
                                404, "NotFound: no device " + UUID)})
        for name, said in (("../x", "no device here is of the host .."),
                           ("nvme0", "accepted are a UUID"),
                           ("compute-2/0000:09:00.0", "host compute-2 has no device"),
                           (UUID, "NotFound: no device .*HTTP 404, req-played")):
            with self.assertRaisesRegex(exceptions.CommandError, said):
                run(ShowDevice, cloud, name)


class Source(Case):
    def test_cyborg_itself_is_read_only_when_asked_for(self):
        cloud = self.cloud({"GET /v2/devices": golden("devices-2.3.json")}, service="accelerator",
                           highest="2.3")
        done = run(ListDevices, cloud, "--cyborg", "-f", "json")
        self.assertEqual(len(json.loads(done.out)), 3)
        self.assertEqual(cloud.asked[0][2], "accelerator 2.3")
        with self.assertRaisesRegex(exceptions.CommandError, "not registered in this cloud.*"
                                    "accelerator_cleaning_endpoint_override"):
            run(ListDevices, cloud)

    def test_another_interface_than_the_catalogs_is_named(self):
        cloud = self.cloud({"GET /v2/devices": golden("devices-2.3.json")}, interface="internal")
        with self.assertRaisesRegex(exceptions.CommandError,
                                    "the catalog has: internal in RegionOne.*clouds.yaml"):
            run(ListDevices, cloud)
        self.assertIn("compute-1", run(ListDevices, cloud,
                                       accelerator_cleaning_interface="internal").out)

    def test_an_override_needs_no_catalog(self):
        cloud = self.cloud({"GET /v2/devices": golden("devices-2.5.json")}, service="compute")
        self.assertIn("compute-1", run(ListDevices, cloud,
                                       accelerator_cleaning_endpoint_override=cloud.url).out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
