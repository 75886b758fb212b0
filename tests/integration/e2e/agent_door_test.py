#!/usr/bin/python3
"""The door of Cyborg's agent, and the driver reclaim_nvme behind it: a drive is reported from its
first verified cleaning on and then always; a cleanup waits for the drive, and raises. Cyborg's own
part, which is to write Placement when it is told of a drive, is played."""
import grp
import json
import os
import stat
import sys
import threading
import types
import unittest

from case import FIRST, LONG_MS, tear_down_services
from cyborg_case import CyborgEndToEnd, CyborgSetting
from waiting import wait_until

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../clients/python")
sys.path[:0] = [PACKAGE, os.path.join(PACKAGE, "tests")]

from fake_cyborg import cyborg, whole  # noqa: E402

GROUP = grp.getgrgid(os.getegid()).gr_name


def tearDownModule():
    tear_down_services()


class Agent:
    """A cyborg-agent of the worker's host, as far as it has to do with the driver."""

    def __init__(self, test, made, socket):
        self.module = test.enterContext(cyborg(host=made.name))
        conf = self.module.CONF
        conf.register_opts(self.module.OPTIONS, group="reclaim")
        for name, value in (("socket", socket), ("cleanup_timeout", 300),
                            ("report_file", os.path.join(made.folder, "reported.json"))):
            conf.set_override(name, value, group="reclaim")
        self.driver = self.module.ReclaimNVMeDriver()

    def reported(self):
        """Plain devices by their provider's name."""
        return {device["deployable_list"][0]["name"]: device
                for device in map(whole, self.driver.discover())}

    def cleanup(self):
        """(thread, [what it ended with])"""
        device = types.SimpleNamespace(std_board_info=json.dumps({"pci_address": FIRST}))
        ended = []

        def run():
            try:
                self.driver.cleanup(device)
                ended.append(None)
            except Exception as problem:  # pylint: disable=broad-except
                ended.append(problem)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, ended


class AgentDoor(CyborgEndToEnd):
    def with_door(self, more="", fault="", duration_ms=300):
        """A host that Nova registered, a blank drive that Placement does not know, and a door."""
        made = CyborgSetting(self, ["address=%s,serial=SERIAL1,size=32M,duration_ms=%d%s" %
                                    (FIRST, duration_ms, fault)], survey_s=5)
        made.host.tool("fill", FIRST, "--blank")
        root = made.services.placement().make_provider(made.name)
        made.host.write("var/lib/nova/compute_id", root["uuid"] + "\n")
        self.socket = os.path.join(made.folder, "agent.sock")
        made.worker.write_config("[agent_door]\nsocket = %s\ngroup = %s\n%s" %
                                 (self.socket, GROUP, more))
        made.worker.start()
        return made

    def told(self, made, device):
        """What Cyborg 17 writes when it is told of a device: the inventory, unreserved."""
        name = device["deployable_list"][0]["name"]
        placement = made.services.placement()
        provider = placement.provider(name)["uuid"]
        attributes = {one["key"]: one["value"]
                      for one in device["deployable_list"][0]["attribute_list"]}
        placement.put_inventory(provider, attributes["rc"], total=1, max_unit=1, reserved=0)
        known = placement.call("GET", "/resource_providers/%s/traits" % provider)["traits"]
        self.assertEqual(sorted(known), sorted(value for key, value in attributes.items()
                                               if key.startswith("trait")))
        return provider

    def wait_looked(self, made):
        """Until a survey has seen what is written in Placement now."""
        made.worker.wait_field(FIRST, "handed_over", "false")

    def test_a_drive_is_reported_when_it_is_clean_and_then_always(self):
        made = self.with_door(duration_ms=LONG_MS)
        found = os.stat(self.socket)
        self.assertTrue(stat.S_ISSOCK(found.st_mode))
        self.assertEqual((stat.S_IMODE(found.st_mode), found.st_gid), (0o660, os.getegid()))
        agent = Agent(self, made, self.socket)
        agent.driver.init_host()
        self.wait_erasing(made)
        self.assertEqual(agent.reported(), {})
        self.finish_sanitize(made)
        made.worker.wait_field(FIRST, "device_state", "available")

        # Clean and certified, and still reserved: Cyborg does not know it yet.
        reported = wait_until(agent.reported, "it is reported (see %s)" % made.worker.log)
        (name, device), = reported.items()
        self.assertEqual(name, "%s_%s" % (made.name, FIRST))
        self.assertIn("sanitize_crypto", device["std_board_info"])
        made.providers[FIRST] = made.services.placement().provider(name)["uuid"]
        self.assert_reserved(made)
        self.assertIsNotNone(made.certificate(FIRST))
        self.assertEqual(made.worker.field(FIRST, "handed_over"), "true")
        self.assertEqual(made.worker.field(FIRST, "held"), "false")
        self.assertEqual(self.told(made, device), made.providers[FIRST])
        self.wait_looked(made)
        self.assertEqual(made.reserved(FIRST), 0)

        # Used, being cleaned, and without a worker: reported as it was.
        instance = self.bind(made)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.assertEqual(list(agent.reported()), [name])
        made.free(instance)
        self.wait_erasing(made)
        thread, ended = agent.cleanup()
        self.assertEqual(list(agent.reported()), [name])
        self.assertTrue(thread.is_alive(), ended)
        self.assertEqual(made.reserved(FIRST), 1)
        self.finish_sanitize(made)
        thread.join(300)
        self.assertEqual(ended, [None])
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.sanitizes(FIRST), 2)

        self.assertEqual(made.worker.stop(), 0)
        self.assertFalse(os.path.exists(self.socket))
        self.assertEqual(list(agent.reported()), [name])

        # A socket that a killed worker left is replaced.
        made.worker.start()
        made.worker.kill()
        self.assertTrue(os.path.exists(self.socket))
        made.worker.start()
        wait_until(lambda: agent.reported()[name]["device_state"] == "available",
                   "the worker answers again (see %s)" % made.worker.log)

    def test_a_cleanup_of_an_agent_that_owns_its_devices_fails_with_the_drive(self):
        made = self.with_door(more="[cyborg]\nowner = agent\n")
        agent = Agent(self, made, self.socket)
        agent.driver.init_host()
        (name, device), = wait_until(agent.reported, "it is reported").items()
        made.providers[FIRST] = self.told(made, device)
        self.wait_looked(made)

        # As the specification's Cyborg does: reserved at the bind, cleaned at the unbind, and then
        # un-reserved by the agent. Nobody saw this tenancy.
        made.services.reserve(made.providers[FIRST], 1)
        thread, ended = agent.cleanup()
        thread.join(300)
        self.assertEqual(ended, [None])
        self.assertEqual(made.host.sanitizes(FIRST), 2)
        self.assertEqual(made.worker.field(FIRST, "handed_over"), "true")
        self.assert_reserved(made)

        made.host.set(FIRST, lies_keeps_data=1)
        thread, ended = agent.cleanup()
        thread.join(300)
        self.assertIn("in error and stays reserved", str(ended[0]))
        self.assert_reserved(made)
        self.assertEqual(list(agent.reported()), [name])


if __name__ == "__main__":
    unittest.main(verbosity=2)
