"""The checkers: what must hold whatever happens, read past all doors, from Placement's tables and
from the drives themselves."""
import json
import subprocess
import threading
import time
from collections import namedtuple

from tenants import Device, Truth

PERIOD_S = 0.1
DRIVES_EVERY = 5  # of the looks, one also at what the drives count

# `checker`: dirty, destroyed, liveness, certificate, worker. `in_force`: the faults of the moment.
Violation = namedtuple("Violation", "checker at_s in_force text")


class Watchers:
    def __init__(self, cloud, hosts, devices, clock, in_force, say):
        self.cloud, self.hosts, self.devices = cloud, hosts, devices
        self.clock, self.in_force, self.say = clock, in_force, say
        self.violations = []
        self.looks = 0
        self.told = set()  # (checker, device, tenancy): once is enough
        self.ended = threading.Event()

    def violated(self, checker, device, text):
        key = (checker, device.number, len(device.tenancies)) if device else (checker, text)
        if key in self.told:
            return
        self.told.add(key)
        name = device.name() + ": " if device else ""
        found = Violation(checker, round(self.clock(), 1), self.in_force(), name + text)
        self.violations.append(found)
        self.say("VIOLATION (%s) at %.1f s, in force: %s: %s" % found)

    # All the time

    def start(self):
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        truth = Truth(self.cloud.path("openstack"))
        while not self.ended.wait(PERIOD_S):
            read_at = time.monotonic()
            self.look(truth.rows(), read_at)
            if self.looks % DRIVES_EVERY == 0:
                self.look_at_drives()
            self.looks += 1

    def look(self, rows, read_at):
        """What was read before Nova burned the device, or before its tenant left, says nothing."""
        for device in self.devices:
            reserved, consumers = rows[device.provider]
            if device.consumer not in consumers:
                device.is_left()
            with device.lock:
                if reserved == 0 and device.burned_since < read_at and device.state == Device.HELD:
                    self.violated("dirty", device, "reserved = 0 while %s has it" % device.consumer)
                if reserved == 0 and device.since < read_at and device.state == Device.DIRTY:
                    self.offered(device)

    def offered(self, device):
        """It is on offer: nothing of its last tenant may be on it, and no erase under way."""
        kept, blocks = device.host.kept(device.address, device.seed)
        drive = device.host.drives()[device.address]
        if kept:
            self.violated("dirty", device, "reserved = 0 with %d of %d blocks of %s on it" % (
                kept, blocks, device.consumer))
            return
        if drive.running:
            self.violated("dirty", device, "reserved = 0 while a sanitize runs")
        took = time.monotonic() - device.since
        device.releases.append(took)
        device.turn(Device.FREE)
        self.say("released: %s after %.1f s" % (device.name(), took))

    def look_at_drives(self):
        for host in self.hosts:
            # A tenancy that begins while the drives are looked at counts more than this look tells.
            counted = {device: device.counted for device in self.devices
                       if device.host is host and device.checked}
            now = host.drives()
            for device, before in counted.items():
                with device.lock:
                    if device.checked and device.counted is before:
                        self.nothing_destroyed(device, before, now[device.address], "in a tenancy")

    def nothing_destroyed(self, device, before, after, when):
        if after != before or after.running:
            self.violated("destroyed", device, "%s: the drive counts %s, and before %s" % (
                when, after, before))

    def tenancy_ends(self, device):
        """The last moment of a tenancy: all that the tenant wrote is there."""
        if not device.checked:
            return
        self.nothing_destroyed(device, device.counted, device.host.drives()[device.address],
                               "at the end of a tenancy")
        kept, blocks = device.host.kept(device.address, device.seed)
        if kept != blocks:
            self.violated("destroyed", device, "%d of %d blocks of %s are left" % (
                kept, blocks, device.consumer))

    # At the end, when no fault is in force any more

    def all_return(self, bound_s):
        """Every device without a tenant has to come back."""
        truth = Truth(self.cloud.path("openstack"))
        ends = time.monotonic() + bound_s
        while True:
            rows = truth.rows()
            left = [device for device in self.devices if device.state == Device.DIRTY or (
                device.state == Device.FREE and rows[device.provider][0] != 0)]
            if not left or time.monotonic() > ends:
                break
            time.sleep(PERIOD_S)
        for device in left:
            self.violated("liveness", device, "not back within %d s; %s since %.0f s; %s" % (
                bound_s, device.state, time.monotonic() - device.since, said_of(device)))

    def wait_for_certificates(self, bound_s):
        """A certificate is sealed after the release that was seen already."""
        ends = time.monotonic() + bound_s
        while self.uncertified() and time.monotonic() < ends:
            time.sleep(PERIOD_S)

    def uncertified(self):
        """Of the devices with more releases than certificates: (device, certificates)."""
        found = []
        for host in self.hosts:
            addresses = [each["address"] for each in host.worker.certificates()]
            found += [(device, addresses.count(device.address)) for device in self.devices
                      if device.host is host and
                      addresses.count(device.address) < len(device.releases)]
        return found

    def certificates(self):
        """The chain of each host verifies, and every release has its certificate."""
        for device, count in self.uncertified():
            self.violated("certificate", device, "%d releases, %d certificates" % (
                len(device.releases), count))
        for host in self.hosts:
            code, out, err = host.worker.command("certificate", "verify")
            if code != 0:
                self.violated("certificate", None, "%s: certificate verify ended with %d: %s" % (
                    host.name, code, (out + err)[-600:]))
            sealed = host.worker.certificates()
            for device in self.devices:
                if device.host is not host:
                    continue
                for each in sealed:
                    if each["address"] != device.address:
                        continue
                    if each["instance"] and each["instance"] not in device.tenancies:
                        self.violated("certificate", device,
                                      "certificate of %s, which never had it" % each["instance"])
                    if not each["verified_at"]:
                        self.violated("certificate", device, "a certificate without verification")


def said_of(device):
    """The worker's own words."""
    try:
        code, out, err = device.host.worker.command("device", "show", device.address, "-f", "json")
    except subprocess.TimeoutExpired:
        return "reclaim device show does not answer"
    if code != 0:
        return err.strip()
    shown = json.loads(out)
    return "Reclaim says: " + ", ".join("%s = %s" % (name, shown.get(name)) for name in (
        "device_state", "clean_step", "last_error", "reserved", "since"))
