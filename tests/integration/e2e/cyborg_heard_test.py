#!/usr/bin/python3
"""The Cyborg flow end to end with what Cyborg could say: ARQ notifications and casts, sent by
oslo.messaging, and what its REST API shows."""
import json
import os
import unittest

import cyborg_said
from case import FIRST, LONG_MS, services, tear_down_services
from cyborg_case import CyborgApi, CyborgEndToEnd, new_uuid
from waiting import wait_until

CYBORG = """\
[cyborg]
enabled = true
endpoint_override = {endpoint}
auth_type = password
auth_url = {auth_url}
username = {username}
password = {password}
user_domain_name = Default
project_name = service
project_domain_name = Default
"""


def tearDownModule():
    tear_down_services()


class Arqs(CyborgEndToEnd):
    """What Cyborg would say: sent by oslo.messaging."""

    def listening(self, exchanges="nova,cyborg", **more):
        with services().bus() as connection:
            connection.declare_exchange("cyborg")
        return self.cyborg(more="[listener]\nexchanges = %s\n" % exchanges +
                           more.pop("more", ""), **more)

    def arq(self, made, instance, state="Bound", uuid=None, **more):
        return cyborg_said.arq(uuid or new_uuid(), made.name, FIRST, instance,
                               made.providers[FIRST], state=state, **more)

    def say(self, made, event, arq, **changed):
        cyborg_said.notify(made.services, "accelerator_request." + event, {**arq, **changed})

    def test_bind_and_unbind_are_heard_and_the_arq_is_remembered(self):
        made = self.listening()
        instance = self.bind(made)
        arq = self.arq(made, instance)
        self.say(made, "bind.start", arq, state="BindStarted")
        self.say(made, "bind.end", arq)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        wait_until(lambda: arq["uuid"] in made.arqs(), "the ARQ is in Redis")
        self.assertEqual(made.worker.field(FIRST, "arq"), arq["uuid"])
        made.free(instance)
        # As Cyborg does it: what is unbound names neither host nor device nor instance any more.
        self.say(made, "unbind.end", arq, state="Unbound", hostname=None, device_rp_uuid=None,
                 instance_uuid=None, attach_handle_type="", attach_handle_uuid=None,
                 attach_handle_info={})
        self.assert_released(made)
        self.assert_certified(made, instance)

    def test_a_bound_arq_without_an_allocation_keeps_the_drive(self):
        made = self.listening(survey_s=5)
        arq = self.arq(made, new_uuid())
        self.say(made, "bind.end", arq)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        surveys = self.surveys(made)
        wait_until(lambda: self.surveys(made) > surveys + 1, "more surveys")
        self.assertEqual(made.worker.field(FIRST, "device_state"), "allocated")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.say(made, "delete.end", arq, state="Deleting")
        self.assert_released(made)

    def test_an_unmanaged_handle_is_taken_from_vfio_and_given_back(self):
        made = self.listening(fault=",driver=vfio-pci", device_spec=json.dumps(
            {"vendor_id": "144d", "product_id": "a80a", "managed": False}))
        instance = self.bind(made)
        arq = self.arq(made, instance, managed=False)
        self.say(made, "bind.end", arq)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        self.assertEqual(made.worker.field(FIRST, "managed"), "false")
        self.assertEqual(made.driver(FIRST), "vfio-pci")
        made.free(instance)
        self.say(made, "unbind.end", arq, state="Unbound")
        self.assert_released(made)
        self.assert_certified(made, instance)
        self.assertEqual(made.driver(FIRST), "vfio-pci")
        self.assertIn("driver_restored", made.triggers())


class CyborgsApi(CyborgEndToEnd):
    """Cyborg's REST API, by which bindings are known that nobody spoke of."""

    def asking(self):
        """A worker that may ask, and a Cyborg that has one device and one ARQ."""
        made = self.cyborg(start=False)
        self.api = CyborgApi(os.path.join(made.folder, "cyborg"))
        self.addCleanup(self.api.stop)
        self.device = self.api.do("device", hostname=made.name, address=FIRST, vendor="144d",
                                  product="a80a", provider=made.providers[FIRST])
        made.worker.write_config(self.config(), survey_s=5)
        return made

    def config(self):
        endpoints = services().endpoints
        return CYBORG.format(endpoint=self.api.endpoint, auth_url=endpoints["auth_url"],
                             username=endpoints["service_username"],
                             password=endpoints["service_password"])

    def bind_arq(self, instance):
        arq = self.api.do("arq")
        self.api.do("bind", arq=arq["uuid"], device=self.device["uuid"], instance=instance)
        return arq["uuid"]

    def test_a_bind_and_an_unbind_are_learnt_without_any_allocation(self):
        made = self.asking()
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "available")
        arq = self.bind_arq(new_uuid())
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        self.assertEqual(made.worker.field(FIRST, "arq"), arq)
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        # Placement shows no allocation: to doctor it looks leaked. Cyborg has one device.
        _, out, _ = made.worker.command("doctor", "-f", "json")
        lines = {row["Check"]: row for row in json.loads(out)}
        self.assertEqual(lines["cyborg bindings"]["Result"], "warning", out)
        self.assertIn(arq, lines["cyborg bindings"]["Detail"])
        self.assertIn("1 device and 1 accelerator request of", lines["cyborg"]["Detail"])
        self.api.do("unbind", arq=arq)
        self.assert_released(made)

    def test_an_unbind_that_was_missed_is_found_at_the_start(self):
        made = self.asking()
        arq = self.bind_arq(new_uuid())
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        self.assertEqual(made.worker.stop(), 0)
        self.api.do("unbind", arq=arq)
        self.api.do("delete", arq=arq)
        made.worker.start()
        self.assert_released(made)

    def test_what_is_maintaining_is_never_unreserved(self):
        made = self.asking()
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "available")
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        self.api.do("disable", device=self.device["uuid"])
        made.worker.wait_field(FIRST, "cyborg_status", "maintaining")
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        wait_until(lambda: "maintaining" in made.worker.devices()[FIRST]["Note"], "it says why")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)
        self.api.do("enable", device=self.device["uuid"])
        self.assert_released(made)

        # Once it is erased and verified, it is not erased again for that reason.
        made.host.set(FIRST, duration_ms=LONG_MS)
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.wait_erasing(made)
        self.api.do("disable", device=self.device["uuid"])
        self.finish_sanitize(made)
        wait_until(lambda: "kept so until it can be given back" in
                   made.worker.devices()[FIRST]["Note"], "it is kept")
        self.assert_reserved(made)
        self.api.do("enable", device=self.device["uuid"])
        self.assert_released(made, sanitizes=2)


class Casts(CyborgEndToEnd):
    def test_a_cast_of_the_conductor_cleans_a_device_in_error(self):
        with services().bus() as connection:
            connection.declare_exchange("cyborg")
        made = self.cyborg(fault=",lies_keeps_data=1", more="[cyborg]\nlisten_rpc = true\n")
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        made.worker.wait_field(FIRST, "device_state", "error")
        made.host.set(FIRST, lies_keeps_data=0)
        cyborg_said.cast(made.services, made.name, "cleanup_device", {
            "device": cyborg_said.device_object(new_uuid(), made.name, FIRST)})
        self.assert_released(made, sanitizes=2)
        self.assert_certified(made, instance)


if __name__ == "__main__":
    unittest.main(verbosity=2)
