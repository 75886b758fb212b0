"""What a checker has to tell, done by hand once: `--plant NAME` shows that it can fail."""
import os
import signal
import subprocess

import mariadb  # stack/
from tenants import Device

AFTER_S = 10
PLANTS = {
    "dirty": "a drive that is not clean yet is un-reserved",
    "destroyed": "a drive that has a tenant is sanitized",
    "liveness": "a worker is killed and stays down",
    "certificate": "a byte of a certificate is changed",
    "worker": "a worker dies of a signal",
    "hung": "a worker hangs when it is told to stop",
}


class Plant:
    def __init__(self, name, say):
        self.name, self.say = name, say
        self.done = False

    def carry_out(self, run):
        """Called again and again while the schedule runs."""
        if self.done or run.clock() < AFTER_S:
            return
        if self.name == "dirty":
            self.unreserve(run, self.first(run, lambda device: device.state == Device.DIRTY))
        elif self.name == "destroyed":
            self.sanitize(self.first(run, lambda device: device.checked and
                                     device.address == device.host.addresses[0]))
        elif self.name == "liveness":
            self.done = True
            run.hosts[0].kill()
        elif self.name == "worker":
            self.done = run.hosts[0].signal(signal.SIGSEGV)

    def first(self, run, is_one):
        return next((device for device in run.devices if is_one(device)), None)

    def unreserve(self, run, device):
        if not device or not device.host.kept(device.address, device.seed)[0]:
            return
        mariadb.execute(run.cloud.path("openstack"), "placement",
                        "UPDATE inventories SET reserved = 0 WHERE resource_provider_id = "
                        "(SELECT id FROM resource_providers WHERE uuid = %s)", (device.provider,))
        self.done = True
        self.say("planted: %s is un-reserved" % device.name())

    def sanitize(self, device):
        if not device:
            return
        number = device.host.addresses.index(device.address)
        subprocess.run(["nvme", "sanitize", "/dev/nvme%d" % number, "--sanact=start-crypto-erase"],
                       check=True, capture_output=True, env=device.host.worker.environment())
        self.done = True
        self.say("planted: %s is sanitized" % device.name())

    def keeps_down(self, host):
        return self.name == "liveness" and host.number == 1

    def before_stop(self, run):
        if self.name == "hung":
            run.hosts[0].signal(signal.SIGSTOP)

    def before_certificates(self, run):
        if self.name != "certificate":
            return
        folder = os.path.join(run.hosts[0].state, "certificates")
        path = os.path.join(folder, sorted(os.listdir(folder))[0])
        with open(path, "r+b") as file:
            file.seek(-10, os.SEEK_END)
            byte = file.read(1)
            file.seek(-10, os.SEEK_END)
            file.write(b"A" if byte != b"A" else b"B")
        self.say("planted: %s is changed" % path)
