"""A server with a drive, from its boot until the drive is given back."""
import cloud  # noqa: F401  (puts what the end-to-end tests share on the path)
import openstack_api as api
from serve_ids import IMAGE
from waiting import wait_until

LONG_S = 300


class Boot(AssertionError):
    """Nova could not build the server."""


class Life:
    """Each stage has `begin`, which asks, and `wait`, which sees it done. A suite's own says how a
    server's device is found: `find_address`, None while it has none."""

    STAGES = ("boot", "take", "write", "delete", "erase", "return")

    def __init__(self, cloud, watcher, seed, flavor="nvme", **wishes):
        self.cloud, self.watcher, self.seed = cloud, watcher, seed
        self.flavor, self.wishes = flavor, wishes
        self.server = self.address = None
        self.remedies = []

    def begin(self, stage):
        getattr(self, "begin_" + stage, lambda: None)()

    def wait(self, stage):
        getattr(self, "wait_" + stage)()

    def run(self, until="return", since="boot"):
        for stage in self.STAGES[self.STAGES.index(since):self.STAGES.index(until) + 1]:
            self.begin(stage)
            self.wait(stage)
        return self

    def field(self, name):
        """Of the device's record."""
        return self.cloud.worker_of(self.address).field(self.address, name)

    def remedy(self, what):
        if what not in self.remedies:
            self.remedies.append(what)

    # boot

    def begin_boot(self):
        body = {"server": {"name": "live", "imageRef": IMAGE, "flavorRef": self.flavor,
                           "networks": "none", **self.wishes}}
        self.server = self.cloud.nova("POST", "/servers", body)["server"]["id"]

    def shown(self):
        """The server as Nova shows it."""
        return self.cloud.nova("GET", "/servers/" + self.server)["server"]

    def status(self):
        try:
            return self.shown()["status"]
        except api.HttpError as error:
            if error.status == 404:
                return "gone"
            raise

    def wait_boot(self):
        wait_until(lambda: self.status() in ("ACTIVE", "ERROR"), "the server is built", LONG_S)
        if self.status() == "ERROR":
            raise Boot(self.shown().get("fault", {}).get("message", "ERROR without a fault"))

    # take

    def wait_take(self):
        self.address = wait_until(self.find_address, "the server has a device", LONG_S)
        self.cloud.worker_of(self.address).wait_field(self.address, "device_state", "allocated",
                                                      LONG_S)
        wait_until(lambda: self.cloud.reserved(self.address) == 1,
                   "%s is reserved while it is allocated" % self.address, LONG_S)

    # write

    def wait_write(self):
        self.cloud.host_of(self.address).fill(self.address, self.seed)
        self.watcher.wrote(self.address, self.seed)

    # delete

    def begin_delete(self):
        self.cloud.nova("DELETE", "/servers/" + self.server)

    def wait_delete(self):
        wait_until(lambda: self.status() == "gone", "the server is gone", LONG_S)

    def delete_server(self):
        if self.status() != "gone":
            self.begin_delete()
        self.wait_delete()

    # erase and return

    def wait_erase(self):
        wait_until(lambda: self.field("device_state") in ("cleaning", "available", "error"),
                   "%s is being cleaned" % self.address, LONG_S)

    def wait_return(self):
        def ended():
            state = self.field("device_state")
            if state == "error" and "interrupted" in self.field("last_error"):
                self.remedy("cleaned by an operator")
                self.cloud.reclaim("device", "clean", self.address)
                wait_until(lambda: self.field("device_state") != "error", "the order is taken",
                           LONG_S)
            return state == "available" and self.address in self.watcher.offered()
        wait_until(ended, "%s is given back" % self.address, LONG_S)
        assert not self.cloud.dirty(self.address, self.seed), (
            "%s is on offer with blocks of its tenant" % self.address)
