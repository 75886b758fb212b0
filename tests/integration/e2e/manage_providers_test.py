#!/usr/bin/python3
"""`[nvme] manage_providers`: the drives that device_spec names are registered in Placement as the
Cyborg specification says: reserved first, cleaned, and only then on offer."""
import json
import subprocess
import unittest

from case import FIRST, SECOND, SEED, services, tear_down_services
from cyborg_case import CyborgEndToEnd, CyborgSetting
from placement_door import PlacementDoor
from waiting import DEADLINE_S, wait_until

MANAGE = "[nvme]\nmanage_providers = true\n"


def tearDownModule():
    tear_down_services()


class ManageProviders(CyborgEndToEnd):
    def unregistered(self, drives=1, **settings):
        """A compute host that Nova registered, with blank drives that nobody did."""
        made = CyborgSetting(self, [
            "address=%s,serial=SERIAL%d,size=32M,duration_ms=300" % (address, number)
            for number, address in enumerate((FIRST, SECOND)[:drives], 1)], **settings)
        for address in (FIRST, SECOND)[:drives]:
            made.host.tool("fill", address, "--blank")
        root = made.services.placement().make_provider(made.name)
        made.host.write("var/lib/nova/compute_id", root["uuid"] + "\n")
        made.worker.write_config(MANAGE)
        return made

    def provider(self, made, address=FIRST):
        return made.services.placement().provider("%s_%s" % (made.name, address))

    def wait_provider(self, made, address=FIRST):
        found = wait_until(lambda: self.provider(made, address), "%s is registered (see %s)" %
                           (address, made.worker.log))
        made.providers[address] = found["uuid"]
        return found

    def wait_refused(self, made):
        """Why it is not registered."""
        return wait_until(lambda: (lambda note: note if "it has" in note else "")(
            made.worker.field(FIRST, "waiting_for")), "it says what it has")

    def test_a_blank_drive_is_registered_reserved_cleaned_and_offered(self):
        door = PlacementDoor(services().endpoints["placement_url"])
        self.addCleanup(door.shut_down)
        made = self.unregistered(survey_s=5)
        made.worker.settings["region"] += "\nendpoint_override = " + door.url
        made.worker.write_config(MANAGE)
        made.worker.start()
        row = self.wait_provider(made)
        made.worker.wait_field(FIRST, "device_state", "available")
        provider = made.providers[FIRST]
        placement = made.services.placement()
        root = placement.provider(made.name)
        self.assertEqual((row["parent_provider_uuid"], row["root_provider_uuid"]),
                         (root["uuid"], root["uuid"]))
        (name, inventory), = made.services.inventories(provider).items()
        self.assertEqual(name, "CUSTOM_NVME_144D_A80A")
        self.assertEqual((inventory["total"], inventory["reserved"], inventory["max_unit"]),
                         (1, 0, 1))
        traits = placement.call("GET", "/resource_providers/%s/traits" % provider)["traits"]
        self.assertEqual(sorted(traits), ["HW_NVME_BES", "HW_NVME_CES", "HW_NVME_WZS",
                                          "OWNER_CYBORG"])
        # Never on offer before it was clean.
        reserved = door.reserved_written(provider)
        self.assertEqual((reserved[0], reserved[-1]), (1, 0), reserved)
        self.assertEqual(reserved.count(0), 1)
        self.assertEqual(made.host.sanitizes(FIRST), 1)
        self.assertEqual(made.certificate(FIRST)["provider"], provider)

        # And from then on it is any device of Cyborg's.
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.assert_released(made, sanitizes=2)

    def test_a_drive_that_bears_a_filesystem_waits_for_its_enrolment(self):
        made = self.unregistered(survey_s=5)
        subprocess.run(["/sbin/mkfs.ext4", "-q", "-F", made.host.root + "/dev/nvme0n1"], check=True,
                       capture_output=True, timeout=DEADLINE_S)
        made.worker.start()
        note = self.wait_refused(made)
        self.assertIn("ext4", note)
        self.assertIn("--enrol", note)
        self.assertIsNone(self.provider(made))
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        code, out, err = made.worker.command("device", "set", FIRST, "--enrol")
        self.assertEqual(code, 0, out + err)
        self.wait_provider(made)
        self.assert_released(made)

    def test_partitions_of_a_tenant_wait_for_their_enrolment_too(self):
        made = self.unregistered(survey_s=5)
        made.host.fill(FIRST, SEED)  # begins with a GPT
        made.worker.start()
        note = self.wait_refused(made)
        self.assertRegex(note, "gpt|GPT|partition")
        self.assertIsNone(self.provider(made))
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"],
                         made.host.digest(FIRST, SEED)["tenant_blocks"])

    def test_somebody_elses_provider_is_an_error_of_that_device_alone(self):
        made = self.unregistered(drives=2, survey_s=5)
        made.register(SECOND, owner="nova", one_time_use=False)
        generation = made.services.generation(made.providers[SECOND])
        made.worker.start()
        self.wait_provider(made)
        self.assert_released(made)
        made.worker.wait_log("ERROR.*%s.*OWNER_CYBORG" % SECOND)
        self.assertNotIn(SECOND, made.worker.devices())
        self.assertEqual(made.services.generation(made.providers[SECOND]), generation)
        self.assertEqual(made.host.sanitizes(SECOND), 0)
        self.assertEqual(made.reserved(SECOND), 0)

    def test_a_device_of_two_claimants_stops_the_start(self):
        made = self.unregistered(survey_s=5)
        spec = json.dumps({"vendor_id": "144d", "product_id": "a80a"})
        other = json.dumps({"address": FIRST})
        for more, said in (
                (MANAGE + "device_spec = %s\n" % other, "device_spec"),
                (MANAGE + "[pci]\npassthrough_whitelist = %s\n" % spec, "passthrough_whitelist")):
            made.worker.write_config(more)
            code, out, err = made.worker.command("serve")
            self.assertEqual(code, 78, out + err)
            self.assertIn("InvalidConfiguration", err)
            self.assertIn(FIRST, err)
            self.assertIn(said, err)
            self.assertRegex(err, r"reclaim\.conf:\d+")
            code, _, checked = made.worker.command("config", "check")
            self.assertEqual(code, 1)
            self.assertIn("InvalidConfiguration: the drive %s" % FIRST, checked)
        self.assertIsNone(self.provider(made))


if __name__ == "__main__":
    unittest.main(verbosity=2)
