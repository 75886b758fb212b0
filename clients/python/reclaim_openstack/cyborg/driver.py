"""The class that a cyborg-agent loads for `[agent] enabled_drivers = reclaim_nvme`.

It speaks to the worker of this host alone, through a unix socket, and never to a drive.
"""
import json
import os
import time

from oslo_config import cfg
from oslo_log import log as logging

from cyborg.accelerator.drivers.driver import GenericDriver
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.objects.driver_objects import driver_attach_handle
from cyborg.objects.driver_objects import driver_attribute
from cyborg.objects.driver_objects import driver_controlpath_id
from cyborg.objects.driver_objects import driver_deployable
from cyborg.objects.driver_objects import driver_device

from reclaim_openstack.cyborg import drives
from reclaim_openstack.cyborg.cleanup import Cleanup
from reclaim_openstack.cyborg.door import Door, DoorAway, DoorError
from reclaim_openstack.cyborg.report import ADDRESS, ReportError, ReportFile

LOG = logging.getLogger(__name__)

POLL_S = 2

OPTIONS = [
    cfg.StrOpt("socket", default="/run/reclaim/agent.sock",
               help="The socket of Reclaim's worker, as its [agent_door] socket says."),
    cfg.StrOpt("report_file", default="/var/lib/cyborg/reclaim.json",
               help="Where the driver keeps what it reported. The agent's user writes it. It must "
                    "survive a restart of the host."),
    cfg.IntOpt("cleanup_timeout", default=1800, min=1,
               help="Seconds that cleanup() waits for a drive, and init_host() for the worker."),
]


def device_type():
    """NVME where this Cyborg knows it."""
    return getattr(constants, "DEVICE_NVME", constants.DEVICE_SSD)


class ReclaimError(Exception):
    """What stops the driver, with what to do."""


class ReclaimNVMeDriver(GenericDriver):
    def __init__(self):
        CONF.register_opts(OPTIONS, group="reclaim")
        options = CONF.reclaim
        for name in ("socket", "report_file"):
            if not os.path.isabs(getattr(options, name)):
                raise ReclaimError("[reclaim] %s = %r is not an absolute path" %
                                   (name, getattr(options, name)))
        self._door = Door(options.socket)
        self._file = ReportFile(options.report_file, CONF.host)
        self._timeout_s = options.cleanup_timeout

    def init_host(self):
        """Waits for the worker, unless what was reported is known without it."""
        known = self._file.load()
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                self._check_host(self._door.drives())
                return
            except DoorAway as away:
                if known is not None:
                    LOG.warning("%s; what was reported before is reported until then", away)
                    return
                if time.monotonic() >= deadline:
                    raise ReclaimError("after %d s ([reclaim] cleanup_timeout): %s" %
                                       (self._timeout_s, away)) from away
            time.sleep(POLL_S)

    def discover(self):
        """[DriverDevice]: each drive from its first verified cleaning on, and then always."""
        known = self._file.load()
        try:
            told = self._door.drives()
        except DoorAway as away:
            if known is None:
                raise ReclaimError("%s. Nothing was reported by this driver yet, so that it cannot "
                                   "be reported without the worker" % away) from away
            LOG.warning("%s; the drives are reported as they were", away)
            return self._devices(known, {})
        self._check_host(told)
        entries = drives.merged(known or {}, told["drives"])
        # Cyborg is told of nothing that is not kept already.
        if entries != known:
            self._file.save(entries)
        states = {drive.get("address"): drive.get("state") for drive in told["drives"]}
        for drive in told["drives"]:
            if drive.get("address") not in entries:
                LOG.info("%s is not reported before its first verified cleaning; it is %s: %s",
                         drive.get("address"), drive.get("state"), drive.get("status"))
        return self._devices(entries, states)

    def cleanup(self, device):
        """Returns when the drive was cleaned and verified after this call, else raises."""
        address = self._address_of(device)
        cleanup = Cleanup(address)
        deadline = time.monotonic() + self._timeout_s
        why = "the worker did not answer"
        while True:
            try:
                if cleanup.orders_now():
                    cleanup.ordered(self._door.order_cleanup(address))
                drive = self._door.drive(address, cleanup.look_after_ms())
                if cleanup.judge(drive):
                    LOG.info("%s is clean", address)
                    return
                why = "it is %s: %s" % (drive.get("state"), drive.get("status"))
            except DoorAway as away:
                why = str(away)
            if time.monotonic() >= deadline:
                raise ReclaimError("%s is not clean after %d s ([reclaim] cleanup_timeout): %s" %
                                   (address, self._timeout_s, why))
            time.sleep(POLL_S)

    def update(self, control_path, image_path):
        """No firmware is written through Cyborg."""
        return False

    def get_stats(self):
        return {}

    @staticmethod
    def _check_host(told):
        if told.get("host") != CONF.host:
            raise ReclaimError("Reclaim's worker here is of host %r, and this agent of %r: give "
                               "both the same [DEFAULT] host, which providers are named by" %
                               (told.get("host"), CONF.host))

    @staticmethod
    def _address_of(device):
        try:
            address = json.loads(device.std_board_info)["pci_address"]
        except (TypeError, ValueError, KeyError) as problem:
            raise ReclaimError("the device's std_board_info names no pci_address, so that it is "
                               "none of this driver's: %.200r" % (device.std_board_info,)) \
                from problem
        if not isinstance(address, str) or not ADDRESS.match(address):
            raise ReclaimError("%.60r is not a PCI address" % (address,))
        return address

    def _devices(self, entries, states):
        return [self._device(address, entry, states.get(address))
                for address, entry in sorted(entries.items())]

    @staticmethod
    def _device(address, entry, state):
        attributes = []
        for key, value in drives.attributes(entry):
            attribute = driver_attribute.DriverAttribute()
            attribute.key = key
            attribute.value = value
            attributes.append(attribute)

        handle = driver_attach_handle.DriverAttachHandle()
        handle.attach_type = constants.AH_TYPE_PCI
        handle.attach_info = drives.attach_info(address, entry)
        handle.in_use = False

        deployable = driver_deployable.DriverDeployable()
        deployable.name = "%s_%s" % (CONF.host, address)
        deployable.num_accelerators = 1
        deployable.driver_name = drives.DRIVER_NAME
        deployable.attribute_list = attributes
        deployable.attach_handle_list = [handle]

        path = driver_controlpath_id.DriverControlPathID()
        path.cpid_type = "PCI"
        path.cpid_info = json.dumps(drives.pci_parts(address))

        device = driver_device.DriverDevice()
        device.vendor = entry["vendor"]
        device.model = entry["product_id"]
        device.type = device_type()
        device.std_board_info = drives.board_info(address, entry)
        device.vendor_board_info = None
        device.controlpath_id = path
        device.deployable_list = [deployable]
        device.stub = False
        # Stored when the device is created. What is not known to be clean is not available.
        if "device_state" in driver_device.DriverDevice.fields:
            device.device_state = state or "error"
        return device


__all__ = ["DoorError", "ReclaimError", "ReclaimNVMeDriver", "ReportError"]
