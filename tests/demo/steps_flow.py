"""Network cards, cleaned by an operator's own steps: firmware that a tenant changed is written
again, what the step cannot put right is quarantined, and one card waits until two operators
agree."""
import json
import os
import shutil
import tempfile

import bus
import check
import keeping
from stage import HOST, Stage, Tenant
from worker import EmulatedHost

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "examples",
                       "steps", "mlx-firmware")
# Stands in for the vendor's flash tool: a device's firmware is a file with its version and PSID.
TOOL = """#!/usr/bin/python3
import os, sys
words = [word for word in sys.argv[1:] if word != "-y"]
folder = os.path.dirname(os.path.abspath(__file__))
device = os.path.join(folder, words[1].replace(":", "-") if words[0] == "-d" else "image")
if words[-1] == "query":
    version, psid = open(device).read().split()
    print("FW Version: %s\\nPSID: %s" % (version, psid))
elif words[-1] == "burn":
    open(device, "w").write(open(os.path.join(folder, "image")).read())
"""
VENDOR, PRODUCT = "15b3", "1017"
GOOD, OLD, FOREIGN = "22.36.10 MT_0012", "22.1.1 MT_0012", "22.36.10 EVIL_01"


class StepsFlow(Stage):
    tenants = {
        "0000:01:00.0": Tenant("vm5", "4dee8fde-fe92-4c46-bd4d-bc755777eeeb", "DEMO-0001", 5),
        "0000:02:00.0": Tenant("vm4", "54e2fdaf-63d0-4f68-bff2-412445b8b40f", "DEMO-0002", 4),
        "0000:03:00.0": Tenant("vm6", "0d6c1f0e-5b0a-4a51-9c9e-8a6f5f1b3c77", "DEMO-0003", 6),
    }

    def run(self):
        if os.geteuid() != 0:
            raise AssertionError("the command of a step belongs to root: run this flow as root")
        self.cleaned, self.hostile, self.held = self.tenants
        self.start_services()
        self.make_host()
        self.make_steps()
        self.start()
        before = self.look()
        self.play()
        self.approve()
        self.show_result(before, self.look())

    def make_host(self):
        self.screen.working("Compute host", "making three network cards")
        self.host = EmulatedHost(
            self.programs, os.path.join(self.folder, "host"), [],
            ["address=%s,group=%d,vendor=%s,device=%s,bound=vfio-pci,rom=1" %
             (address, 60 + number, VENDOR, PRODUCT)
             for number, address in enumerate(self.tenants)])
        with self.services.bus() as connection:
            connection.declare_exchange()
        for address, tenant in self.tenants.items():
            self.register(address, reserved=1, consumer=tenant.instance, vendor=VENDOR,
                          product=PRODUCT)
        self.screen.step("Compute host", "%s: three emulated network cards, each in use" % HOST)

    def make_steps(self):
        # Nobody but root may be able to write a command, or a directory above it.
        self.steps = tempfile.mkdtemp(prefix="reclaim-demo-%d-" % os.getpid(), dir="/run")
        self.folders.append(self.steps)
        os.chmod(self.steps, 0o755)
        command = shutil.copy(EXAMPLE, self.steps)
        self.write("mstflint", TOOL, 0o755)
        self.write("image", GOOD)
        for address, firmware in zip(self.tenants, (OLD, FOREIGN, GOOD)):
            self.write(address.replace(":", "-"), firmware)
        self.config = (
            "\n[devices]\ndevice_spec = {\"vendor_id\": \"%s\", \"type\": \"NIC\"}\n"
            "\n[step:firmware]\ninterface = card\ncommand = %s\npriority = 95\ndevices = {}\n"
            "verifies = true\nargs = %s\n[step:eyes]\ninterface = hold\npriority = 60\n"
            "approvals = 2\ndevices = {\"address\": \"%s\"}\n" % (
                VENDOR, command, json.dumps({"image": self.steps + "/image",
                                             "tool": self.steps + "/mstflint"}), self.held))
        self.screen.step("Steps", "of the operator's own, in reclaim.conf")
        self.screen.fact("[step:firmware]", "docs/examples/steps/mlx-firmware, with a stand-in of "
                         "the vendor's flash tool")
        self.screen.fact("[step:eyes]", "a hold on %s: two operators have to agree" % self.held)
        for address, text in zip(self.tenants, ("an older firmware", "another PSID: no image of "
                                                "the operator's fits", "the firmware as it was")):
            self.screen.fact(address, "%s left %s" % (self.tenants[address].name, text),
                             self.screen.dim)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.steps, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def start(self):
        self.start_worker(self.config)
        for address in self.tenants:
            self.worker.wait_field(address, "device_state", "allocated")
        self.screen.step("reclaim serve", "ready (pid %d): three cards known, all in use" %
                         self.worker.process.pid)

    def play(self):
        self.screen.step("All are deleted", ", ".join(t.name for t in self.tenants.values()))
        for tenant in self.tenants.values():
            self.services.placement().free(tenant.instance)
        with self.services.bus() as connection:
            connection.publish_all(bus.recorded())
        story = self.story()
        self.follow(story, lambda: story.finished)
        self.worker.wait_field(self.cleaned, "device_state", "available")
        self.screen.fact("its firmware now", self.firmware(self.cleaned), self.screen.green)
        self.worker.wait_field(self.hostile, "device_state", "error")
        self.screen.step("Quarantined", "%s, %s's: not released" %
                         (self.hostile, self.tenants[self.hostile].name))
        self.screen.fact("the step says", self.note().partition(": ")[2], self.screen.red)

    def firmware(self, address):
        with open(os.path.join(self.steps, address.replace(":", "-")), encoding="utf-8") as file:
            return file.read().strip()

    def note(self):
        return self.worker.field(self.hostile, "last_error")

    def approve(self):
        self.worker.wait_field(self.held, "clean_step", "hold.eyes")
        self.screen.step("Two operators", "%s waits at its hold" % self.held)
        for user in ("alice", "alice", "bob"):
            words = ("device", "unhold", self.held)
            code, out, err = self.order_as(user, *words)
            said = (out if code == 0 else err).strip()
            self.screen.fact(user, "reclaim %s" % " ".join(words))
            self.screen.fact("", said if code else "approved", self.screen.dim if code == 0
                             else self.screen.red)
        self.worker.wait_field(self.held, "device_state", "available")
        self.screen.fact("released", "after both", self.screen.green)

    def order_as(self, user, *words):
        os.environ["SUDO_USER"] = user
        try:
            return self.worker.command(*words)
        finally:
            del os.environ["SUDO_USER"]

    def look(self):
        return {address: check.Card(
            self.worker.field(address, "device_state"),
            self.services.reserved(self.providers[address]), self.firmware(address))
                for address in self.tenants}

    def show_result(self, before, after):
        def change(of):
            return ["%s → %s" % (of(before[a]), of(after[a])) if of(before[a]) != of(after[a])
                    else "%s, same" % of(after[a]) for a in self.tenants]
        certificate, _ = self.certificate()
        self.screen.step("Before and after", "seen from outside: the cards' firmware, Placement")
        marks = {1: self.screen.green, 2: self.screen.red, 3: self.screen.green}
        self.screen.table([
            ["", *self.tenants],
            ["instance", *[tenant.name + ", deleted" for tenant in self.tenants.values()]],
            ["reserved", *change(lambda card: "%d" % card.reserved)],
            ["device state", *change(lambda card: card.state)],
            ["firmware", *change(lambda card: card.firmware)],
        ], lambda row, column: marks.get(column))
        steps = certificate["findings"]["card.firmware"]
        self.screen.step("Certificate", certificate["id"])
        self.screen.fact("ends tenancy", certificate["instance"])
        self.screen.fact("method", "%s, which claims no class of NIST's: %s" % (
            certificate["method"], ", ".join(certificate["evidence"]["steps"])))
        self.screen.fact("verified by", ", ".join(certificate["verification"]["verified_by"]))
        for finding in steps:
            if finding["surface"] in ("command", "result"):
                self.screen.fact("step " + finding["surface"], finding["found"])
        self.screen.fact("given back", certificate["released_at"])
        wrong = [] if before[self.cleaned].firmware == OLD else ["its firmware was not changed"]
        for address in (self.cleaned, self.held):
            wrong += ["%s: %s" % (address, text) for text in
                      check.wrong_with_card(after[address], "available", 0, GOOD)]
        wrong += ["%s: %s" % (self.hostile, text) for text in
                  check.wrong_with_card(after[self.hostile], "error", 1, FOREIGN)]
        wrong += ["the note does not name %s" % word for word in ("PSID", "EVIL_01")
                  if word not in self.note()]
        wrong += check.wrong_with_steps(certificate, steps)
        if wrong:
            raise AssertionError("; ".join(wrong))

    def keep(self):
        keeping.keep(self.screen, self, ["openstack resource provider list"])
