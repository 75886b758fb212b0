#!/usr/bin/python3
"""Both flows at once on one host: a one-time-use device of Nova's and a device of Cyborg's, each
cleaned by its own rules, neither touching the other's; and what is nobody's to clean."""
import unittest

from case import FIRST, LONG_MS, SECOND, SEED, services, tear_down_services
from cyborg_case import CyborgEndToEnd, CyborgSetting, new_uuid
from placement_door import PlacementDoor
from waiting import wait_until

THIRD, FOURTH, FIFTH = "0000:03:00.0", "0000:04:00.0", "0000:05:00.0"
BOTH_OWNERS = {"owner": "nova", "traits": ["OWNER_CYBORG"]}


def tearDownModule():
    tear_down_services()


class TwoFlows(CyborgEndToEnd):
    """FIRST is Nova's and burned, SECOND Cyborg's and allocated, THIRD has both traits, and of
    FOURTH, which is Cyborg's, and FIFTH, which is Nova's, no device_spec entry speaks."""

    def host(self, duration_ms=300):
        door = PlacementDoor(services().endpoints["placement_url"])
        self.addCleanup(door.shut_down)
        made = CyborgSetting(self, [
            "address=%s,serial=SERIAL%d,size=32M,duration_ms=%d%s" % (
                address, number, duration_ms,
                ",device=0xa808" if address in (FOURTH, FIFTH) else "")
            for number, address in enumerate((FIRST, SECOND, THIRD, FOURTH, FIFTH), 1)])
        made.door = door
        made.worker.settings["region"] += "\nendpoint_override = " + door.url
        made.worker.write_config()
        self.instances = {address: new_uuid() for address in (FIRST, SECOND)}
        for address in (FIRST, SECOND):
            made.host.fill(address, SEED)
        made.register(FIRST, owner="nova", reserved=1, consumer=self.instances[FIRST])
        made.register(SECOND, consumer=self.instances[SECOND])
        made.register(THIRD, reserved=1, **BOTH_OWNERS)
        made.register(FOURTH)
        made.register(FIFTH, owner="nova", reserved=1)
        self.generations = {address: made.services.generation(made.providers[address])
                            for address in (THIRD, FOURTH)}
        made.worker.start()
        for address in (FIRST, SECOND):
            made.worker.wait_field(address, "device_state", "allocated")
        return made

    def delete_both(self, made):
        for address, instance in self.instances.items():
            made.free(instance)
            made.tell_nova(instance, "delete.end")

    def assert_given_back(self, made, address, flow):
        made.worker.wait_field(address, "device_state", "available")
        self.assertEqual(made.reserved(address), 0)
        self.assertEqual(made.host.digest(address, SEED)["tenant_blocks_kept"], "0")
        certificate = made.certificate(address)
        self.assertEqual((certificate["flow"], certificate["instance"], certificate["provider"]),
                         (flow, self.instances[address], made.providers[address]))

    def test_each_is_cleaned_and_neither_touches_the_others(self):
        made = self.host()
        self.wait_reserved(made, SECOND)
        # Nova has burned its own; Cyborg of today has not, and Reclaim did it at once.
        self.assertEqual(made.door.reserved_written(made.providers[FIRST]), [])
        self.assertEqual(made.door.reserved_written(made.providers[SECOND]), [1])
        self.delete_both(made)
        self.assert_given_back(made, FIRST, "nova")
        self.assert_given_back(made, SECOND, "cyborg")
        self.assertEqual([made.host.sanitizes(address) for address in (FIRST, SECOND)], [1, 1])

        # Cyborg's deployable of which no device_spec entry speaks is not even reserved; what two
        # claim is refused and stays as it is.
        for address, generation in self.generations.items():
            self.assertEqual(made.services.generation(made.providers[address]), generation, address)
            self.assertEqual(made.door.reserved_written(made.providers[address]), [], address)
            self.assertEqual(made.host.sanitizes(address), 0)
        self.assertEqual(made.reserved(THIRD), 1)
        self.assertEqual(made.reserved(FOURTH), 0)
        rows = made.worker.devices()
        self.assertRegex(rows[THIRD]["Note"], "OWNER_CYBORG|both|two")
        self.assertNotIn(FOURTH, rows)

    def test_what_no_device_spec_entry_matches_is_its_operators(self):
        made = self.host()
        made.worker.wait_field(FIFTH, "type", "SSD")
        self.assertEqual(made.worker.field(FIFTH, "device_state"), "available")
        # He has cleaned it by a workflow of his own; whatever is surveyed now, it stays as he says.
        made.services.reserve(made.providers[FIFTH], 0)
        generation = made.services.generation(made.providers[FIFTH])
        self.delete_both(made)
        self.assert_given_back(made, FIRST, "nova")
        self.assert_given_back(made, SECOND, "cyborg")
        self.assertEqual(made.reserved(FIFTH), 0)
        self.assertEqual(made.services.generation(made.providers[FIFTH]), generation)
        self.assertEqual([path for path, _ in made.door.written if made.providers[FIFTH] in path],
                         [])
        self.assertEqual(made.host.sanitizes(FIFTH), 0)

    def test_after_a_kill_novas_goes_on_and_cyborgs_waits_for_an_operator(self):
        made = self.host(duration_ms=LONG_MS)
        self.delete_both(made)
        for address in (FIRST, SECOND):
            wait_until(lambda: made.host.sanitize_status(address) == 2, address + " sanitizes")
        made.worker.kill()
        made.worker.start()
        made.worker.wait_field(SECOND, "device_state", "error")
        made.worker.wait_log(r"still_burned_adopt")
        made.host.set(FIRST, advance_ms=LONG_MS + 1000)
        self.assert_given_back(made, FIRST, "nova")
        self.assertEqual(made.worker.field(SECOND, "device_state"), "error")
        self.assertEqual(made.reserved(SECOND), 1)
        code, out, err = made.worker.command("device", "clean", SECOND)
        self.assertEqual(code, 0, out + err)
        made.worker.wait_log(SECOND + r".*still_burned_adopt")
        made.host.set(SECOND, advance_ms=LONG_MS + 1000)
        self.assert_given_back(made, SECOND, "cyborg")
        self.assertEqual([made.host.sanitizes(address) for address in (FIRST, SECOND)], [1, 1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
