"""The SDK's side alone, as somebody's script uses it (README.md)."""
import json
import unittest

from openstack import exceptions

from played_cloud import PlayedCloud, golden
from reclaim_openstack import sdk

UUID = "04f8f089-9630-5c52-aefe-19b3fb42ef84"


class Sdk(unittest.TestCase):
    def cloud(self, answers, **more):
        made = PlayedCloud(answers, **more)
        self.addCleanup(made.close)
        return made

    def test_a_script_finds_cleans_and_reads_through_the_proxy(self):
        cloud = self.cloud({"GET /v2/devices": golden("devices-2.5.json"),
                            "GET /v2/devices/" + UUID: golden("device-2.5.json"),
                            "POST /v2/devices/%s/clean" % UUID: (202, ""),
                            "GET /v2/devices/%s/cleaning/steps" % UUID: golden("steps-2.5.json")})
        cleaning = sdk.of(cloud.connect())
        device = [each for each in cleaning.devices(device_state="error")][1]
        self.assertEqual((device.uuid, device.device_state, device.status),
                         (UUID, "error", "enabled"))
        cleaning.clean_device(device)
        cleaning.clean_device(UUID, [{"interface": "nvme", "step": "check_health"}])
        self.assertEqual([each[3] and json.loads(each[3]) for each in cloud.asked[1:]],
                         ["", {"clean_steps": [{"interface": "nvme", "step": "check_health"}]}])
        self.assertEqual(cloud.asked[0][1], "/v2/devices?device_state=error")
        self.assertEqual(cleaning.get_device(UUID).hostname, "compute-2")
        self.assertEqual(cleaning.get_cleaning(device)["stage"], "erasing")

    def test_the_service_is_an_attribute_of_the_connection(self):
        connection = self.cloud({}).connect()
        self.assertIs(sdk.of(connection), connection.accelerator_cleaning)
        self.assertIs(sdk.of(connection), sdk.of(connection))

    def test_a_second_connection_has_its_own(self):
        first, second = (self.cloud({"GET /v2/devices": golden("devices-2.5.json")})
                         for _ in range(2))
        for cloud in (first, second):
            self.assertEqual(len(list(sdk.of(cloud.connect()).devices())), 3)
            self.assertEqual(len(cloud.asked), 1)

    def test_errors_are_the_sdks_with_the_apis_text(self):
        cloud = self.cloud({"POST /v2/devices/%s/clean" % UUID: (409, golden("clean-409.json"))})
        with self.assertRaises(exceptions.ConflictException) as caught:
            sdk.of(cloud.connect()).clean_device(UUID)
        self.assertIn("it is clean already", caught.exception.details)


if __name__ == "__main__":
    unittest.main(verbosity=2)
