"""What the end-to-end tests share: one set of real services for the process, and for each test a
host and a worker (own host name, own Redis database, own queues): no test sees another's."""
import itertools
import json
import os
import shutil
import sys
import unittest
import uuid

import bus
from services import Services
from waiting import wait_until
from worker import EmulatedHost, Programs, Worker, temporary_folder

FIRST, SECOND = "0000:01:00.0", "0000:02:00.0"
# Of the recording: vm5 was deleted on compute-2, vm4 stayed.
DELETED = "4dee8fde-fe92-4c46-bd4d-bc755777eeeb"
STAYING = "54e2fdaf-63d0-4f68-bff2-412445b8b40f"
LONG_MS = 3_600_000  # a sanitize that ends when the test lets time leap
SEED = 7

_shared = {}
_numbers = itertools.count(1)


def services():
    if "services" not in _shared:
        folder = temporary_folder()
        _shared["folder"] = folder
        _shared["services"] = Services(os.path.join(folder, "services"))
        _shared["services"].start()
        with _shared["services"].bus() as connection:
            connection.declare_exchange()
    return _shared["services"]


def tear_down_services():
    if "services" in _shared:
        _shared["services"].stop()
        try:
            tell_slow_requests(_shared["services"])
        finally:
            shutil.rmtree(_shared["folder"], ignore_errors=True)
            _shared.clear()


def tell_slow_requests(services_of_test):
    """Where Keystone's and Placement's threads were when a request took a minute and more."""
    for service in ("keystone", "placement"):
        with open(services_of_test.path("openstack", service + ".out"), encoding="utf-8") as file:
            text = file.read()
        if "most recent call first" in text:
            print("%s was slow:\n%s" % (service, text[-8000:]), file=sys.stderr)


class Setting:
    """A host, its drives' providers and its worker."""

    def __init__(self, test, drives, functions=(), **settings):
        number = next(_numbers)
        self.services = services()
        self.name = "host-%d" % number
        self.folder = os.path.join(_shared["folder"], "t%d" % number)
        os.makedirs(self.folder)
        self.db = number % 16
        self.services.redis("flushdb", db=self.db)
        self.host = EmulatedHost(Programs(), os.path.join(self.folder, "host"), drives, functions)
        self.worker = self.make_worker(**settings)
        self.operator = self.worker.as_operator()
        self.operator.install()
        self.providers = {}
        self.test = test
        test.addCleanup(self.clean_up)

    def make_worker(self, name="worker", host=None, **settings):
        return Worker(Programs(), self.services, host or self.host, self.name,
                      os.path.join(self.folder, name), db=self.db, **settings)

    def clean_up(self):
        # Every test ends with an orderly stop; under AddressSanitizer that is where leaks are told.
        try:
            if self.worker.process and self.worker.process.poll() is None:
                self.test.assertEqual(self.worker.stop(), 0, self.worker.log_text()[-3000:])
        finally:
            self.worker.kill()
        with self.services.bus() as connection:
            for queue in ("reclaim_" + self.name, "reclaim_%s_dead" % self.name):
                connection.delete_queue(queue)

    def register(self, address, consumer=None, reserved=1, **more):
        made = self.services.register(self.name, address, reserved=reserved, consumer=consumer,
                                      **more)
        self.providers[address] = made["uuid"]
        self.host.write("var/lib/nova/compute_id", made["root_uuid"] + "\n")
        return made["uuid"]

    def messages(self):
        return bus.recorded("compute-2", self.name)

    def delete_messages(self):
        """The two that say that the instance DELETED is gone: versioned and legacy."""
        return [message for message in self.messages()
                if DELETED in message[2] and bus.event_of(message[2]).endswith("delete.end")]

    def publish(self, messages):
        with self.services.bus() as connection:
            connection.publish_all(messages)

    def free(self, consumer=DELETED):
        self.services.placement().free(consumer)

    def reserved(self, address):
        return self.services.reserved(self.providers[address])

    def certificate(self, address):
        """What is in Redis of the last erasure; None if there was none."""
        text = self.services.redis("get", "reclaim:{%s}:certificate:%s" % (self.name, address),
                                   db=self.db)
        return json.loads(text)["sealed"]["certificate"] if text else None


class EndToEnd(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        services()

    def setting(self, duration_ms=300, drives=1, start=True, fault="", **settings):
        """A host whose first drive the instance DELETED holds, and a worker that knows it."""
        descriptions = ["address=%s,serial=SERIAL%d,size=32M,duration_ms=%d%s" %
                        (address, number, duration_ms, fault)
                        for number, address in enumerate((FIRST, SECOND)[:drives], 1)]
        made = Setting(self, descriptions, **settings)
        made.host.fill(FIRST, SEED)
        # Placement allows one allocation a consumer: the delete of an earlier test may be missing.
        made.services.placement().free(DELETED) if has_allocation(made.services) else None
        made.register(FIRST, consumer=DELETED)
        if drives == 2:
            made.host.fill(SECOND, SEED + 1)
            made.register(SECOND, consumer=str(uuid.uuid4()))
        if start:
            made.worker.start()
            made.worker.wait_field(FIRST, "device_state", "allocated")
        return made

    def delete(self, made):
        """The tenant deletes the instance: Nova frees the allocation, then says so on the bus."""
        made.free()
        made.publish(made.delete_messages())

    def wait_erasing(self, made):
        made.worker.wait_field(FIRST, "clean_step", "nvme.sanitize_crypto")
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the drive sanitizes")

    def finish_sanitize(self, made):
        made.host.set(FIRST, advance_ms=LONG_MS + 1000)

    def assert_released(self, made, sanitizes=1):
        made.worker.wait_field(FIRST, "device_state", "available")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.sanitizes(FIRST), sanitizes)
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")

    def assert_reserved(self, made):
        self.assertEqual(made.reserved(FIRST), 1)


def has_allocation(stack):
    return bool(stack.placement().call("GET", "/allocations/" + DELETED)["allocations"])


def domain(address):
    """A libvirt domain with the function passed through."""
    bus_number, slot = address[5:7], address[8:10]
    return ("<domain type='kvm'><name>guest</name><uuid>%s</uuid><devices>"
            "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
            "<address domain='0x0000' bus='0x%s' slot='0x%s' function='0x0'/>"
            "</source></hostdev></devices></domain>\n" % (uuid.uuid4(), bus_number, slot))
