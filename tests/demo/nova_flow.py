"""Nova's flow: an instance with a one-time-use drive is deleted, another one's stays, and a third
tenant left its drive locked."""
import os
import shutil

import bus
import check
import keeping
from stage import HOST, Stage, Tenant


class NovaFlow(Stage):
    tenants = {
        # Of the recording: vm5 was deleted on compute-2, vm4 stayed.
        "0000:01:00.0": Tenant("vm5", "4dee8fde-fe92-4c46-bd4d-bc755777eeeb", "DEMO-0001", 5),
        "0000:02:00.0": Tenant("vm4", "54e2fdaf-63d0-4f68-bff2-412445b8b40f", "DEMO-0002", 4),
        # Of no recording: its message got lost, and the survey finds it.
        "0000:03:00.0": Tenant("vm6", "0d6c1f0e-5b0a-4a51-9c9e-8a6f5f1b3c77", "DEMO-0003", 6),
    }

    def run(self):
        self.cleaned, self.left, self.hostile = self.tenants
        self.start_services()
        self.make_host()
        self.start()
        before = self.look()
        self.play()
        self.show_result(before, self.look())

    def make_host(self):
        self.screen.working("Compute host", "making three drives and their tenants' data")
        self.make_drives()
        for address, tenant in self.tenants.items():
            self.fill(address)
            self.register(address, reserved=1, consumer=tenant.instance)
        self.host.set(self.hostile, opal_enabled=1, opal_locked=1)
        self.screen.step("Compute host", "%s: three emulated drives, registered as Nova does" %
                         HOST)
        for address, tenant in self.tenants.items():
            self.screen.fact(address, "%s, 64 MiB; %s (%s) has it: allocated, reserved = 1" % (
                tenant.serial, tenant.name, tenant.instance[:8]))
        self.screen.fact("", "%s is hostile: it took Opal ownership and locked its drive" %
                         self.tenants[self.hostile].name, self.screen.dim)

    def start(self):
        self.start_worker()
        for address in self.tenants:
            self.worker.wait_field(address, "device_state", "allocated")
        self.screen.step("reclaim serve", "ready (pid %d): three drives known, all in use" %
                         self.worker.process.pid)

    def play(self):
        gone, hostile = self.tenants[self.cleaned], self.tenants[self.hostile]
        messages = bus.recorded()
        self.screen.step("%s is deleted" % gone.name,
                         "and %s too; %d recorded Nova 2026.2 messages report the first" %
                         (hostile.name, len(messages)))
        for each in (gone, hostile):
            self.services.placement().free(each.instance)
        with self.services.bus() as connection:
            connection.publish_all(messages)
        story = self.story()
        self.follow(story, lambda: story.finished)
        self.worker.wait_field(self.cleaned, "device_state", "available")
        self.worker.wait_field(self.hostile, "device_state", "error")
        self.show_quarantine()

    def show_quarantine(self):
        self.screen.step("Quarantined", "%s, %s's: not erased, not released" %
                         (self.hostile, self.tenants[self.hostile].name))
        # "quarantined: nvme.STEP: SURFACE: what was found; what to do".
        step, _, rest = self.note().partition(": ")[2].partition(": ")
        found, _, remedy = rest.partition("; ")
        self.screen.fact("clean step", step)
        self.screen.fact("found", found, self.screen.red)
        self.screen.fact("what to do", remedy)

    def note(self):
        return self.worker.field(self.hostile, "last_error")

    def show_result(self, before, after):
        certificate, path = self.certificate()
        names = [tenant.name for tenant in self.tenants.values()]
        self.show_table(before, after, [names[0] + ", deleted", names[1] + ", running",
                                        names[2] + ", deleted"],
                        {1: self.screen.green, 3: self.screen.red})
        self.show_certificate(certificate)
        verified = self.verify(os.path.dirname(path))
        tampered = self.verify(self.tamper(path))
        self.show_verification(verified, tampered)
        cleaned = self.tenants[self.cleaned]
        wrong = ["%s: %s" % (self.cleaned, text) for text in
                 check.wrong_with_erased(before[self.cleaned], after[self.cleaned]) +
                 check.wrong_with_certificate(certificate, cleaned.serial, cleaned.instance) +
                 check.wrong_with_verification(*verified, *tampered)]
        wrong += ["%s: %s" % (self.left, text) for text in
                  check.wrong_with_untouched(before[self.left], after[self.left])]
        wrong += ["%s: %s" % (self.hostile, text) for text in
                  check.wrong_with_quarantined(before[self.hostile], after[self.hostile],
                                               self.note())]
        wrong += self.wrong_with_queues()
        if wrong:
            raise AssertionError("; ".join(wrong))
        self.screen.step("Left alone", "%s is as it was, byte for byte: sha256 %s…" %
                         (self.left, after[self.left].sha256[:16]))

    def tamper(self, path):
        """A copy of the folder, in which the certificate is of another drive by one byte."""
        copy = os.path.join(self.folder, "tampered")
        shutil.copytree(os.path.dirname(path), copy)
        with open(os.path.join(copy, os.path.basename(path)), "r+", encoding="utf-8") as file:
            text = file.read().replace(self.tenants[self.cleaned].serial,
                                       self.tenants[self.left].serial)
            file.seek(0)
            file.write(text)
        return copy

    def show_verification(self, verified, tampered):
        self.screen.fact("verified", verified[1].replace(self.folder, ""), self.screen.green)
        self.screen.fact("one byte changed", "%s → %s in a copy: %s" % (
            self.tenants[self.cleaned].serial, self.tenants[self.left].serial,
            tampered[1].replace(self.folder, "")), self.screen.red)

    def keep(self):
        keeping.keep(self.screen, self, [
            "openstack resource provider list",
            "openstack resource provider inventory list $PROVIDER"])
