"""Nova's fake driver on a host that has PCI devices: those that a file in its state_path names, as
libvirt would find them. The file can hide one, and say that guests do not start. The node's UUID is
in compute_id, as libvirt's is. `main` is nova-compute with this driver."""
import json
import os
import time

from nova.cmd.compute import main  # noqa: F401  (first: what it patches, all others import)
from nova import exception
from nova.virt import fake, node
import nova.conf

CONF = nova.conf.CONF


class EmulatedPciDriver(fake.FakeDriver):
    def said(self):
        with open(os.path.join(CONF.state_path, "pci.json"), encoding="utf-8") as file:
            return json.load(file)

    def get_nodenames_by_uuid(self, refresh=False):
        (name,) = self.get_available_nodes()
        return {node.get_local_node_uuid(): name}

    def get_available_resource(self, nodename):
        status = super().get_available_resource(nodename)
        status["uuid"] = node.get_local_node_uuid()
        status["pci_passthrough_devices"] = json.dumps([
            {"address": address, "vendor_id": "144d", "product_id": "a80a", "status": "available",
             "dev_type": "type-PCI", "parent_addr": None, "numa_node": None,
             "label": "label_144d_a80a"} for address in self.said()["devices"]])
        return status

    def spawn(self, context, instance, *more, **named):
        if not self.said()["starts"]:
            time.sleep(5)  # as long as a start takes
            raise exception.NovaException("the guest does not start")
        super().spawn(context, instance, *more, **named)


fake.EmulatedPciDriver = EmulatedPciDriver  # Nova looks below nova.virt only
