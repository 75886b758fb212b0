"""The cloud with Nova's own one-time-use devices: two hosts of two drives, a worker on each."""
import os
import signal

from cloud import NOVA_CONF, READY_S, Cloud
import openstack_api as api
from waiting import wait_until

HOSTS = {"compute-1": ["0000:01:00.0", "0000:02:00.0"],
         "compute-2": ["0000:03:00.0", "0000:04:00.0"]}
CLASS = "CUSTOM_PCI_144D_A80A"

# What differs from nova.conf.
COMPUTE_CONF = """\
[DEFAULT]
host = {host}
compute_driver = fake.EmulatedPciDriver
state_path = {folder}/nova-{host}
[oslo_concurrency]
lock_path = {folder}/nova-{host}/lock
[pci]
report_in_placement = true
device_spec = {{"vendor_id": "144d", "product_id": "a80a", "one_time_use": true}}
"""


class NovaCloud(Cloud):
    ADDRESSES = HOSTS
    NOVA_MORE = """\
[DEFAULT]
update_resources_interval = 10
shelved_offload_time = 0
[filter_scheduler]
pci_in_placement = true
[pci]
alias = {{"name": "nvme", "vendor_id": "144d", "product_id": "a80a", "device_type": "type-PCI"}}
"""
    COMPUTE = "emulated_pci"
    RECLAIM_CONF = "[oslo_messaging_notifications]\n"

    def start(self):
        super().start()
        for name in HOSTS:
            self.start_worker(name)
        self.said("Reclaim")

    def write_files(self):
        for host in HOSTS:
            os.makedirs(os.path.join(self.folder, "nova-%s/lock" % host))
            self.write("nova-%s.conf" % host, COMPUTE_CONF, host=host)
            self.change_host(host)

    def change_host(self, host, hidden=(), starts=True):
        """What Nova finds there from now on: without the hidden, and whether guests start."""
        self.replace("nova-%s/pci.json" % host, {
            "devices": [each for each in HOSTS[host] if each not in hidden], "starts": starts})

    def finds(self, host, hidden=()):
        """The same, from a start of nova-compute on. It is killed: a graceful stop may take
        minutes."""
        self.change_host(host, hidden)
        self.end("nova-" + host, signal.SIGKILL)
        self.restart("nova-" + host)

    def delete_softly(self, on):
        """Deleted servers can be restored, for an hour, as nova-api sees it."""
        more = "[DEFAULT]\nreclaim_instance_interval = %d\n" % (3600 if on else 0)
        self.write("nova.conf", NOVA_CONF + self.NOVA_MORE + more)
        self.end("nova-api")
        self.restart("nova-api")

    def force_down(self, host, down=True):
        """As an operator says of a host that is gone."""
        (service,) = self.nova("GET", "/os-services?binary=nova-compute&host=" + host)["services"]
        self.nova("PUT", "/os-services/" + service["id"], {"forced_down": down})

    def force_up(self, host):
        """Nova takes that once the host's nova-compute has seen who was evacuated."""
        def taken():
            try:
                self.force_down(host, False)
            except api.HttpError as error:
                if error.status != 400:
                    raise
                return False
            return True
        wait_until(taken, host + " is up", READY_S)
