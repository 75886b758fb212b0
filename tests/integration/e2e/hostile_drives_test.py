#!/usr/bin/python3
"""Every lying or hostile drive of hostile_table.py on one host, beside each other, with the shipped
worker and real services: cleaned once well, handed to a tenant, made hostile, burned again. Each
ends as its row says; what ends in `error` stays reserved, was never asked to be anything else, and
has no new certificate."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import uuid

from case import SEED, EndToEnd, Programs, Setting, domain, services, tear_down_services
from hostile_table import ERROR, IMAGED, NO_PSID, PSID, RELEASED, ROWS, WAITS
from placement_door import PlacementDoor
from reported_drives import write_pages
from services import RESOURCE_CLASS
from waiting import wait_until

PARALLEL = 64
# Of the guest on the drive with that number.
DOMAIN, PROCESS = "run/libvirt/qemu/guest%d.xml", "proc/47%02d"
ONCE_S, AGAIN_S = 600, 900


def tearDownModule():
    tear_down_services()


def address_of(number):
    return "0000:%02x:00.0" % (number + 1)


def described(number, row, pages):
    made = {"address": address_of(number), **pages, "vendor": "0x144d",
            "serial": "HOSTILE%02d" % number, "size": "16M", "duration_ms": 200, **row.made}
    return ",".join("%s=%s" % pair for pair in made.items())


def device_specs(rows, later=False):
    return json.dumps([{"vendor_id": "144d", "product_id": "a80a", "address": address_of(number),
                        **spec} for number, row in enumerate(rows)
                       for spec in ([row.respec] if later and row.respec else row.specs)])


class HostileDrives(EndToEnd):
    """One host for all rows, since starting services for each would take longer than all else."""

    def setUp(self):
        self.rows = [row for row in ROWS if re.search(os.environ.get("RECLAIM_ROWS", ""), row.name)]
        self.door = PlacementDoor(services().endpoints["placement_url"])
        self.addCleanup(self.door.shut_down)
        self.pages = [self.pages_of(row) for row in self.rows]
        for row, pages in zip(self.rows, self.pages):
            if row.worn:
                row.hostile = {**row.hostile, "smart": pages.pop("smart")}
        self.made = Setting(self, [described(number, row, self.pages[number])
                                   for number, row in enumerate(self.rows)],
                            device_spec=device_specs(self.rows))
        settings = self.made.worker.settings
        settings["region"] += "\nendpoint_override = " + self.door.url
        self.write_config(survey_s=20)
        self.began = time.monotonic()
        self.wrong = []
        self.states, self.notes = {}, {}

    def write_config(self, **settings):
        self.made.worker.write_config(
            "[nvme]\nmax_parallel = %d\nstall_timeout_s = 30\ncleanup_timeout = 120\n"
            "firmware_images = %s\npsid_file = %s\n" %
            (PARALLEL, json.dumps(self.image()), self.psid_file()), **settings)

    def pages_of(self, row):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return write_pages(row.reported, folder) if row.reported else {}

    def psid_file(self):
        path = os.path.join(self.made.host.root, "psids")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            for number, row in enumerate(self.rows):
                if row.psid:
                    print("HOSTILE%02d" % number, row.psid, "# " + row.name, file=file)
        return path

    def image(self):
        path = os.path.join(self.made.host.root, "image.bin")
        subprocess.run([self.made.host.programs.emulator, "firmware", path, IMAGED["firmware"],
                        "20000"], check=True)
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        return {"model": IMAGED["model"], "revision": IMAGED["firmware"], "slot": 1, "path": path,
                "sha256": digest}

    def test_each_ends_as_its_row_says(self):
        self.register_all()
        self.made.worker.start()
        self.clean_all_once()
        self.hand_all_to_tenants()
        self.phase("handed to tenants")
        written = {number: len(self.reserved_written(number)) for number in range(len(self.rows))}
        sealed = {number: len(self.certificates(number)) for number in range(len(self.rows))}
        for number, row in enumerate(self.rows):
            if row.enrols and not row.guest:
                self.made.services.placement().free(self.consumers[number])
        self.kick()
        self.wait_for(lambda number, row: self.state(number) in (row.ends, ERROR, RELEASED),
                      AGAIN_S)
        self.phase("burned, and all has ended")
        for number, row in enumerate(self.rows):
            since = self.reserved_written(number)[written[number]:]
            self.judge(number, row, since, sealed[number])
        self.assert_none_wrong()
        self.mend_and_clean_again()
        self.assert_none_wrong()
        self.change_policies()
        self.assert_none_wrong()
        self.assert_no_psid_is_told()

    # the life of a drive

    def register_all(self):
        """Burned, and held by nobody: to be cleaned. With no request more than it takes."""
        placement = self.made.services.placement()
        placement.call("PUT", "/resource_classes/" + RESOURCE_CLASS)
        root = placement.make_provider(self.made.name)["uuid"]
        self.made.host.write("var/lib/nova/compute_id", root + "\n")
        for number in range(len(self.rows)):
            address = address_of(number)
            uid = placement.call("POST", "/resource_providers", {
                "name": "%s_%s" % (self.made.name, address.upper()),
                "parent_provider_uuid": root})["uuid"]
            self.put(uid, "inventories", 0, inventories={
                RESOURCE_CLASS: {"total": 1, "max_unit": 1, "reserved": 1}})
            self.put(uid, "traits", 1, traits=[
                "COMPUTE_MANAGED_PCI_DEVICE", "HW_PCI_ONE_TIME_USE", "OWNER_NOVA"])
            self.made.providers[address] = uid

    def put(self, provider, what, generation, **body):
        self.made.services.placement().call(
            "PUT", "/resource_providers/%s/%s" % (provider, what),
            {"resource_provider_generation": generation, **body})

    def clean_all_once(self):
        self.phase("registered, the worker runs")
        self.wait_for(lambda number, row: self.state(number) == (RELEASED if row.enrols else WAITS),
                      ONCE_S)
        for number, row in enumerate(self.rows):
            if self.state(number) != (RELEASED if row.enrols else WAITS):
                self.tell(number, row, "is %s after the first cleaning" % self.state(number))
        self.assert_none_wrong()

    def hand_all_to_tenants(self):
        self.phase("cleaned once")
        self.consumers = {number: str(uuid.uuid4()) for number in range(len(self.rows))}

        # What is written to a drive that nobody has would be found by a survey, and reserved.
        for number, row in enumerate(self.rows):
            if row.guest:
                self.guest_comes(number, row)
            elif row.enrols:
                provider = self.made.providers[address_of(number)]
                self.made.services.placement().allocate(self.consumers[number], provider,
                                                        RESOURCE_CLASS)
                self.made.services.reserve(provider, 1)

        def fill(number, row):
            address = address_of(number)
            if row.driver != "nvme":
                self.made.host.tool("bind", address, "nvme")
            self.made.host.fill(address, SEED)
            if row.driver != "nvme":
                self.made.host.tool("bind", address, row.driver)
        # Reserved for its guest alone, before that has written anything.
        self.kick()
        for number, row in enumerate(self.rows):
            if row.guest:
                self.await_alarm(number, row)
        self.in_parallel(fill)
        self.kick()
        self.wait_for(lambda number, row: not row.enrols or
                      self.state(number) == (WAITS if row.guest else "allocated"), ONCE_S)
        self.in_parallel(lambda number, row: self.made.host.set(address_of(number), **row.hostile)
                         if row.hostile else None)

    # guests on drives that Placement shows free

    def guest_comes(self, number, row):
        address, host = address_of(number), self.made.host
        if row.guest == "domain":
            return host.write(DOMAIN % number, domain(address))
        function = os.path.join(host.root, "sys/bus/pci/devices", address)
        group = os.path.basename(os.readlink(os.path.join(function, "iommu_group")))
        process = os.path.join(host.root, PROCESS % number)
        os.makedirs(os.path.join(process, "fd"))
        os.symlink("/dev/vfio/" + group, os.path.join(process, "fd", "20"))
        host.write((PROCESS % number) + "/comm", "qemu-system-x86\n")

    def guest_goes(self, number, row):
        if row.guest == "domain":
            return self.made.host.remove(DOMAIN % number)
        shutil.rmtree(os.path.join(self.made.host.root, PROCESS % number))

    def await_alarm(self, number, row):
        address = address_of(number)
        try:
            self.made.worker.wait_log(
                "ERROR.*%s: .*and Placement shows no allocation: it is reserved now, and cleaned "
                "when the guest is gone" % address, ONCE_S)
            wait_until(lambda: self.made.reserved(address) == 1, "it is reserved", ONCE_S)
        except AssertionError as problem:
            self.tell(number, row, "stays on offer while a guest has it: %s" % problem)

    def kick(self):
        self.made.publish([self.made.delete_messages()[0]])

    # what became of it

    def judge(self, number, row, reserved_since, sealed):
        state, reserved = self.state(number), self.made.reserved(address_of(number))
        error = self.notes[address_of(number)]
        if state not in (row.ends, row.or_ends):
            return self.tell(number, row, "is %s, not %s" % (state, row.ends))
        if self.driver(number) != row.driver:
            self.tell(number, row, "is bound to %s" % self.driver(number))
        if row.ends == RELEASED:
            return self.judge_released(number, row, reserved, sealed)
        if reserved != 1 or 0 in reserved_since:
            self.tell(number, row, "was given back: reserved is %d, asked for %s" %
                      (reserved, reserved_since))
        if row.kept:
            self.judge_kept(number, row, sealed)
        elif self.certificates(number)[sealed:]:
            self.tell(number, row, "has a certificate")
        if row.guest and self.made.host.sanitizes(address_of(number)) != 1:
            self.tell(number, row, "was erased while its guest had it")
        if not row.words or not re.search(row.words, error):
            self.tell(number, row, "does not say %r" % row.words)

    def assert_no_psid_is_told(self):
        code, audit, err = self.made.worker.command("audit", "list", "-f", "json")
        self.assertEqual(code, 0, err)
        for row in self.rows:
            if row.psid == PSID:
                self.assertIn("reverted by PSID", audit)
        records = [self.made.worker.command("device", "show", address_of(number), "-f", "json")[1]
                   for number in range(len(self.rows))]
        told = [audit, self.made.worker.log_text(), json.dumps(self.made.worker.certificates()),
                *records]
        self.assertFalse([text for text in told if PSID in text or NO_PSID in text])

    def judge_kept(self, number, row, sealed):
        certificate = self.judge_erased(number, row, sealed)
        if certificate is not None and ("released_at" in certificate or
                                        "health: " not in certificate.get("not_returned", "")):
            self.tell(number, row, "its certificate does not say that it was not returned")

    def judge_released(self, number, row, reserved, sealed):
        if reserved != 0:
            self.tell(number, row, "is still reserved")
        certificate = self.judge_erased(number, row, sealed)
        if certificate is not None and "not_returned" in certificate:
            self.tell(number, row, "its certificate says that it was not returned")

    def judge_erased(self, number, row, sealed):
        """One certificate more than the `sealed` ones, which may come a moment later."""
        kept = self.made.host.digest(address_of(number), SEED)["tenant_blocks_kept"]
        if kept != "0":
            self.tell(number, row, "has %s of the tenant's blocks" % kept)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self.certificates(number)[sealed:], "", ONCE_S)
        certificates = self.certificates(number)[sealed:]
        if len(certificates) != 1:
            self.tell(number, row, "has %d certificates" % len(certificates))
            return None
        for path, wanted in row.certificate.items():
            found = certificates[0]
            for name in path.split("."):
                found = found.get(name)
            if found != wanted:
                self.tell(number, row, "its certificate's %s is %r, not %r" % (path, found, wanted))
        findings = dict(certificates[0].get("findings") or {})
        resets = [finding["surface"] for step in findings.values() for finding in step
                  if finding.get("reset")]
        if row.reset and row.reset not in resets:
            self.tell(number, row, "its certificate names %s as reset, not %s" %
                      (resets, row.reset))
        return certificates[0]

    def mend_and_clean_again(self):
        """What the note says is done; after that it is a drive like any other."""
        mended = [(number, row) for number, row in enumerate(self.rows)
                  if row.mended_by is not None or row.guest]

        def clean(number, row):
            if row.guest:
                return self.guest_goes(number, row)
            if row.mended_by:
                self.made.host.set(address_of(number), **row.mended_by)
            code, _, err = self.made.worker.command("device", "clean", address_of(number))
            if code != 0:
                self.tell(number, row, "device clean: " + err)
        for number, row in mended:
            clean(number, row)
        self.kick()
        self.wait_for(lambda number, row: (number, row) not in mended or
                      self.state(number) == RELEASED, ONCE_S)
        for number, row in mended:
            kept = self.made.host.digest(address_of(number), SEED)["tenant_blocks_kept"]
            if self.state(number) != RELEASED or kept != "0":
                self.tell(number, row, "is not clean after %s" % (row.mended_by or "its guest"))
            if row.guest:
                reserved = self.made.reserved(address_of(number))
                self.judge_released(number, row, reserved, 1)

    def change_policies(self):
        """The configuration of free drives is changed to one that they cannot satisfy."""
        changed = [(number, row) for number, row in enumerate(self.rows) if row.respec]
        if not changed:
            return
        self.assertEqual(self.made.worker.stop(), 0)
        self.write_config(device_spec=device_specs(self.rows, later=True))
        self.made.worker.start()
        # The record comes first, the write to Placement after it.
        self.wait_for(lambda number, row: not row.respec or self.state(number) == WAITS and
                      self.made.reserved(address_of(number)) == 1, ONCE_S)
        log = self.made.worker.log_text()
        for number, row in changed:
            if not re.search(r" ERROR .*%s available -> pending_cleaning \(policy_unsatisfied\)" %
                             re.escape(address_of(number)), log):
                self.tell(number, row, "is excluded without an error in the log")
            note, reserved = self.notes[address_of(number)], self.made.reserved(address_of(number))
            if (self.state(number) != WAITS or reserved != 1 or
                    not re.search(row.excluded_words, note)):
                self.tell(number, row, "is not excluded: reserved %d" % reserved)

    # helpers

    def phase(self, text):
        print("%5.1f s: %s" % (time.monotonic() - self.began, text), flush=True)

    def in_parallel(self, do):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda each: do(*each), enumerate(self.rows)))

    def wait_for(self, condition, deadline_s):
        """All that are as wanted, or the time is over: who is not, is told of by the caller."""
        def all_are():
            self.made.worker.must_run()
            rows = self.made.worker.devices()
            self.states = {address: row["Device State"] for address, row in rows.items()}
            self.notes = {address: row["Note"] or "" for address, row in rows.items()}
            return all(condition(*each) for each in enumerate(self.rows))
        try:
            wait_until(all_are, "", deadline_s)
        except AssertionError:
            self.made.worker.must_run()

    def state(self, number):
        """As `reclaim device list` said it last."""
        return self.states.get(address_of(number), "unknown")

    def field(self, number, name):
        return self.made.worker.field(address_of(number), name)

    def driver(self, number):
        link = os.path.join(self.made.host.root, "sys/bus/pci/devices", address_of(number),
                            "driver")
        return os.path.basename(os.readlink(link)) if os.path.islink(link) else "none"

    def reserved_written(self, number):
        return self.door.reserved_written(self.made.providers[address_of(number)])

    def certificates(self, number):
        return [each for each in self.made.worker.certificates()
                if each["address"] == address_of(number)]

    def tell(self, number, row, what):
        self.wrong.append("%s %s: %s\n    state %s, step %s, note: %s" % (
            address_of(number), row, what, self.state(number), self.field(number, "clean_step"),
            self.notes.get(address_of(number))))

    def assert_none_wrong(self):
        if self.wrong:
            self.fail("%d of %d rows:\n  %s" % (len(self.wrong), len(self.rows),
                                               "\n  ".join(self.wrong)))


class Help(unittest.TestCase):
    def test_the_emulator_tells_every_setting_of_the_table(self):
        told = subprocess.run([Programs().emulator, "--help"], capture_output=True, text=True,
                              check=True).stdout
        for row in ROWS:
            for setting in {**row.made, **row.hostile, **(row.mended_by or {})}:
                self.assertIn(setting + "=", told, row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
