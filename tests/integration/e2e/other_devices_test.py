#!/usr/bin/python3
"""PCI devices that are no drives, cleaned by the shipped worker: a network card whose firmware its
tenant changed is written again by the operator's step and given back; what the step does not put
right is quarantined; what the host uses, or no entry lists, is left alone."""
import json
import os
import unittest

from case import DELETED, EndToEnd, Setting, has_allocation, tear_down_services
from worker import commands_folder

CARD = "0000:3b:00.0"
VENDOR, PRODUCT = "8086", "1572"
ENTRY = {"vendor_id": VENDOR, "product_id": PRODUCT, "type": "NIC", "steps": ["reflash"]}


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("commands have to be root's: run it as root")


def tearDownModule():
    tear_down_services()


class OtherDevices(EndToEnd):
    def setUp(self):
        self.folder = commands_folder(self)

    def card(self, entry=None, driver="none", body=None, **more):
        """A card in use by the instance DELETED, and a worker whose operator writes its ROM again
        ("rom=1") after each tenancy."""
        made = Setting(self, [], functions=["address=%s,vendor=%s,device=%s,bound=vfio-pci,rom=1" %
                                            (CARD, VENDOR, PRODUCT)], **more)
        path = os.path.join(self.folder, "reflash")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n%s\n" % (body or "cat > %s/told\n%s set %s %s rom=1" % (
                self.folder, made.host.programs.emulator, made.host.root, CARD)))
        os.chmod(path, 0o755)
        if has_allocation(made.services):
            made.services.placement().free(DELETED)
        made.register(CARD, consumer=DELETED, vendor=VENDOR, product=PRODUCT)
        made.worker.write_config(
            "\n[devices]\ndevice_spec = %s\n[step:reflash]\ninterface = card\ncommand = %s\n"
            "priority = 60\nverifies = true\ndriver = %s\n" % (
                json.dumps(ENTRY if entry is None else entry), path, driver))
        made.worker.start()
        made.worker.wait_field(CARD, "device_state", "allocated")
        return made

    def comes_again(self, made):
        (resource_class,) = made.services.inventories(made.providers[CARD])
        made.services.placement().allocate(DELETED, made.providers[CARD], resource_class)
        made.services.reserve(made.providers[CARD], 1)
        made.worker.wait_field(CARD, "device_state", "allocated")

    def test_a_card_that_a_tenant_changed_is_written_again_and_given_back(self):
        made = self.card()
        self.assertEqual(made.worker.field(CARD, "type"), "NIC")
        plan = [step["step"] for step in json.loads(made.worker.field(CARD, "plan"))]
        self.assertEqual(plan, ["reflash", "reset", "check_config", "check_rom", "check_health"])
        made.host.set(CARD, rom=2)
        self.delete(made)
        made.worker.wait_field(CARD, "device_state", "available")
        self.assertEqual(made.reserved(CARD), 0)
        with open(self.folder + "/told", encoding="utf-8") as told:
            self.assertEqual(json.load(told)["type"], "NIC")
        certificate = made.certificate(CARD)
        self.assertEqual(certificate["method"], "operator_steps")
        self.assertEqual(certificate["evidence"]["steps"],
                         ["card.reflash", "pci.reset", "pci.check_config", "pci.check_rom",
                          "pci.check_health"])
        self.assertEqual(certificate["verification"]["verified_by"], ["card.reflash"])
        self.assertIn("flr", str(certificate["findings"]["pci.reset"]))
        self.assertNotIn("purge", json.dumps(certificate))
        code, out, err = made.worker.command("certificate", "verify")
        self.assertEqual(code, 0, out + err)
        # What it is now is the baseline: a register that its next tenant changes for good is found.
        self.assertTrue(made.worker.field(CARD, "enrolment"))

    def test_what_the_step_does_not_put_right_is_quarantined(self):
        made = self.card(body="exit 0")
        self.delete(made)
        made.worker.wait_field(CARD, "device_state", "available")
        self.comes_again(made)
        made.host.set(CARD, rom=2)
        self.delete(made)
        made.worker.wait_field(CARD, "device_state", "error")
        self.assertIn("pci.check_rom", made.worker.field(CARD, "last_error"))
        self.assertIn("write the vendor's firmware", made.worker.field(CARD, "last_error"))
        self.assertEqual(made.reserved(CARD), 1)

    def test_a_step_that_fails_keeps_it(self):
        made = self.card(body="echo '{\"result\": \"no such image\"}'; exit 1")
        self.delete(made)
        made.worker.wait_field(CARD, "device_state", "error")
        self.assertIn("card.reflash: no such image", made.worker.field(CARD, "last_error"))
        self.assertEqual(made.reserved(CARD), 1)

    def test_one_that_the_host_uses_is_not_touched(self):
        made = self.card()
        made.host.tool("bind", CARD, "i40e")
        made.host.set(CARD, up=1)
        self.delete(made)
        made.worker.wait_field(CARD, "device_state", "error")
        self.assertIn("bound to i40e, which serves the host",
                      made.worker.field(CARD, "last_error"))
        self.assertEqual(made.reserved(CARD), 1)
        self.assertFalse(os.path.exists(self.folder + "/told"))

    def test_one_that_no_entry_lists_is_only_shown(self):
        made = self.card(entry={"vendor_id": "ffff"})
        self.assertEqual(made.worker.field(CARD, "type"), "NIC")
        self.delete(made)
        made.worker.wait_field(CARD, "device_state", "available")
        self.assertEqual(made.reserved(CARD), 1)
        code, _, err = made.worker.command("device", "clean", CARD)
        self.assertNotEqual(code, 0)
        self.assertIn("no device_spec entry matches it", err)
        self.assertFalse(os.path.exists(self.folder + "/told"))


if __name__ == "__main__":
    unittest.main()
