"""Looks at Placement ten times a second, as a scheduler does, for a drive that is on offer while a
tenant's bytes are still on it."""
import threading
import time

import openstack_api as api

PERIOD_S = 0.1


class Watcher:
    """`still_dirty(address, seed)` looks at the drive, from outside."""

    def __init__(self, url, token_of, still_dirty):
        self.url, self.token_of, self.still_dirty = url, token_of, still_dirty
        self.lock = threading.Lock()
        self.providers = {}    # uuid: address
        self.classes = set()
        self.dirty = {}        # address: seed of what a tenant has written there
        self.open = {}         # address: since when it is on offer while dirty
        self.windows = []      # (address, seconds), closed
        self.looks = 0
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
                                (self.url, name), None, self.token_of(), "1.29")[1]
            except api.HttpError as error:
                if error.status == 400:  # a class that does not exist yet
                    continue
                raise
            found |= {self.providers[uuid] for uuid in body["provider_summaries"]
                      if uuid in self.providers and any(
                          uuid in request["allocations"]
                          for request in body["allocation_requests"])}
        return found

    def run(self):
        while not self.ended.wait(PERIOD_S):
            try:
                self.look(self.offered())
            except (OSError, api.HttpError):
                continue

    def look(self, offered):
        with self.lock:
            self.looks += 1
            now = time.monotonic()
            for address in list(self.dirty):
                if address not in offered:
                    if address in self.open:
                        self.windows.append((address, now - self.open.pop(address)))
                elif address not in self.open:
                    if self.still_dirty(address, self.dirty[address]):
                        self.open[address] = now
                    else:
                        del self.dirty[address]
