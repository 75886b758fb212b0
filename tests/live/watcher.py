"""Looks at Placement ten times a second, as a scheduler does, for a drive that is on offer while a
tenant's bytes are still on it."""
import threading
import time

import openstack_api as api

PERIOD_S = 0.1


class Watcher:
    """Of the devices of some resource classes. The cloud says whose provider it is, and looks at
    the drive, from outside."""

    def __init__(self, cloud, classes):
        self.cloud, self.classes = cloud, set(classes)
        self.url = cloud.services.endpoints["placement_url"]
        self.lock = threading.Lock()
        self.dirty = {}        # address: seed of what a tenant has written there
        self.open = {}         # address: since when it is on offer while dirty
        self.windows = []      # (address, seconds), closed
        self.looks = 0
        self.failed = None     # why it ended before its time
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.ended.set()
        self.thread.join(30)

    def wrote(self, address, seed):
        with self.lock:
            self.dirty[address] = seed

    def taken_windows(self):
        """Those since the last call; one that is still open counts as it is."""
        if self.failed:
            raise RuntimeError("the watcher ended") from self.failed
        with self.lock:
            now = time.monotonic()
            found = self.windows + [(address, now - since) for address, since in self.open.items()]
            self.windows, self.open = [], {}
            return found

    def offered(self):
        """Addresses that a scheduler could give away now."""
        found = set()
        for name in sorted(self.classes):
            try:
                body = api.call("GET", "%s/allocation_candidates?resources=%s:1" %
                                (self.url, name), None, self.cloud.token(), "1.29")[1]
            except api.HttpError as error:
                if error.status == 400:  # a class that does not exist yet
                    continue
                raise
            found |= {self.cloud.address_of(uuid) for request in body["allocation_requests"]
                      for uuid in request["allocations"]}
        return found - {None}

    def run(self):
        while not self.ended.wait(PERIOD_S):
            try:
                self.look(self.offered())
            except (OSError, api.HttpError):
                continue
            except Exception as error:  # a watcher that ended would find nothing any more
                self.failed = error
                return

    def look(self, offered):
        with self.lock:
            self.looks += 1
            now = time.monotonic()
            for address in list(self.dirty):
                if address not in offered:
                    if address in self.open:
                        self.windows.append((address, now - self.open.pop(address)))
                elif address not in self.open:
                    if self.cloud.dirty(address, self.dirty[address]):
                        self.open[address] = now
                    else:
                        del self.dirty[address]
