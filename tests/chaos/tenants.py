"""The instances that come and go: each device has a tenant, who writes, deletes, and is followed by
the next one as soon as the device is back. What happened to a device is kept in its book."""
import contextlib
import http.client
import math
import threading
import time
import uuid

import mariadb  # stack/
import openstack_api as api
from services import RESOURCE_CLASS

PAUSE_S = 0.2
SELECT = """
SELECT p.uuid, i.reserved, a.consumer_id
FROM resource_providers p
JOIN inventories i ON i.resource_provider_id = p.id
LEFT JOIN allocations a ON a.resource_provider_id = p.id
"""


class Truth:
    """Placement's own tables, read past Placement, Keystone and all doors. One for each thread."""

    def __init__(self, directory):
        self.connection = mariadb.connect(directory, "placement")

    def rows(self):
        """{provider: (reserved, {consumer})}"""
        found = {}
        with self.connection.cursor() as cursor:
            cursor.execute(SELECT)
            for provider, reserved, consumer in cursor.fetchall():
                found.setdefault(provider, (reserved, set()))
                if consumer:
                    found[provider][1].add(consumer)
        return found


class Device:
    """FREE: on offer. HELD: it has a tenant. DIRTY: its tenant is gone, and his data may not be."""

    FREE, HELD, DIRTY = "free", "held", "dirty"

    def __init__(self, number, host, address, provider):
        self.number, self.host, self.address, self.provider = number, host, address, provider
        self.lock = threading.Lock()
        self.state = self.FREE
        self.since = time.monotonic()
        self.consumer = None
        self.next_consumer = str(uuid.uuid4())
        self.seed = None       # of the pattern that the tenant wrote
        self.burned_since = math.inf  # Nova has reserved it for this tenancy
        self.counted = None    # what the drive counted when the tenancy began
        self.deleting = False  # Nova frees its allocation, and may have
        self.checked = False   # that the drive counts the same is to hold now
        self.tenancies = []    # their consumers
        self.releases = []     # seconds from each deletion to reserved = 0
        self.told = 0          # deletions that the broker confirmed
        self.delete = threading.Event()

    def name(self):
        return "%s %s" % (self.host.name, self.address)

    def turn(self, state):
        self.state, self.since = state, time.monotonic()

    def is_left(self):
        """Its allocation was seen to be gone."""
        with self.lock:
            if self.state == self.HELD and self.deleting:
                self.turn(self.DIRTY)


class Tenants:
    def __init__(self, cloud, devices, watchers, say):
        self.cloud, self.devices, self.watchers, self.say = cloud, devices, watchers, say
        self.no_more = threading.Event()     # no tenant comes any more
        self.ended = threading.Event()
        self.untold = []                     # (host, consumer, device) for the bus
        self.untold_lock = threading.Lock()
        self.skipped = 0
        endpoints = cloud.endpoints
        token, _ = api.log_in(endpoints["auth_url"], "nova", endpoints["service_password"],
                              "service")
        self.placement = api.Placement(endpoints["placement_url"], token)

    def start(self):
        threads = [threading.Thread(target=self.live, args=(device,), daemon=True)
                   for device in self.devices]
        threads.append(threading.Thread(target=self.tell, daemon=True))
        for thread in threads:
            thread.start()

    def delete(self, device):
        """The tenant of the device deletes his instance, if he is there."""
        if device.state != device.HELD:
            self.skipped += 1
        else:
            device.delete.set()

    # One device, for as long as the run lasts

    def live(self, device):
        truth = Truth(self.cloud.path("openstack"))
        while not self.ended.wait(PAUSE_S):
            if device.state == device.FREE and not self.no_more.is_set():
                self.boot(device, truth)
            elif device.state == device.HELD and device.delete.is_set():
                self.remove(device, truth)

    def repeat(self, attempt, is_done):
        """Until it is seen to be done; whether it was. A client of a cloud would do the same."""
        while not is_done():
            if self.ended.is_set():
                return False
            with contextlib.suppress(api.HttpError, OSError, http.client.HTTPException):
                attempt()
            if is_done():
                return True
            self.ended.wait(PAUSE_S)
        return True

    def boot(self, device, truth):
        """Nova's order: the scheduler's allocation, the burn, and then the guest writes."""
        consumer = device.next_consumer

        def allocate():
            self.placement.once("PUT", "/allocations/" + consumer, {
                "allocations": {device.provider: {"resources": {RESOURCE_CLASS: 1}}},
                "consumer_generation": None, "project_id": "demo", "user_id": "demo"})

        def burn():
            path = "/resource_providers/%s" % device.provider
            generation = self.placement.once("GET", path)["generation"]
            self.placement.once("PUT", path + "/inventories", {
                "resource_provider_generation": generation,
                "inventories": {RESOURCE_CLASS: {"total": 1, "max_unit": 1, "reserved": 1}}})

        def allocated():
            return consumer in truth.rows()[device.provider][1] or (
                self.no_more.is_set() and "given up")
        self.repeat(allocate, allocated)
        if consumer not in truth.rows()[device.provider][1]:
            return  # the same will be asked for again: a late answer may still give it
        before = device.host.drives()[device.address]
        with device.lock:
            device.consumer, device.next_consumer = consumer, str(uuid.uuid4())
            device.checked = device.deleting = False
            device.burned_since = math.inf
            device.delete.clear()
            device.tenancies.append(consumer)
            seed = device.seed = device.number * 100000 + len(device.tenancies)
            device.turn(device.HELD)
        self.repeat(burn, lambda: truth.rows()[device.provider][0] == 1)
        with device.lock:
            device.burned_since = time.monotonic()
        after = device.host.drives()[device.address]
        self.watchers.nothing_destroyed(device, before, after, "while the tenancy began")
        device.host.emulated.fill(device.address, seed)
        with device.lock:
            device.counted = device.host.drives()[device.address]
            device.checked = True
        self.say("tenant: %s of %s" % (consumer, device.name()))

    def remove(self, device, truth):
        """Nova frees the allocation, and then says so."""
        self.watchers.tenancy_ends(device)
        with device.lock:
            device.checked, device.deleting = False, True
        self.say("delete: %s of %s" % (device.consumer, device.name()))
        consumer = device.consumer

        def is_free():
            if consumer in truth.rows()[device.provider][1]:
                return False
            device.is_left()
            return True
        self.repeat(lambda: self.placement.once("DELETE", "/allocations/" + consumer), is_free)
        with self.untold_lock:
            self.untold.append((device, consumer))

    def tell(self):
        """As oslo.messaging does: until the broker has confirmed it."""
        while not self.ended.wait(PAUSE_S):
            with self.untold_lock:
                waiting = list(self.untold)
            for device, consumer in waiting:
                try:
                    self.cloud.tell_deleted(device.host.name, consumer)
                except Exception:  # the broker is away: py-amqp has many ways to say so
                    break
                with self.untold_lock:
                    self.untold.remove((device, consumer))
                device.told += 1
