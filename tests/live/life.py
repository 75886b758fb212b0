"""A server with a drive, from its boot until the drive is given back."""
import time

import cloud  # noqa: F401  (puts what the end-to-end tests share on the path)
import openstack_api as api
from serve_ids import IMAGE
from waiting import wait_until

LONG_S = 300


class Boot(AssertionError):
    """Nova could not build the server."""


class Life:
    """Each stage has `begin`, which asks, and `wait`, which sees it done."""

    STAGES = ("boot", "take", "write", "delete", "erase", "return")

    def __init__(self, cloud, watcher, flavor, seed):
        self.cloud, self.watcher, self.flavor, self.seed = cloud, watcher, flavor, seed
        self.server = self.address = None
        self.remedies = []

    def begin(self, stage):
        getattr(self, "begin_" + stage, lambda: None)()

    def wait(self, stage):
        getattr(self, "wait_" + stage)()

    def run(self, until="return"):
        for stage in self.STAGES[:self.STAGES.index(until) + 1]:
            self.begin(stage)
            self.wait(stage)
        return self

    # boot

    def begin_boot(self):
        body = {"server": {"name": "live", "imageRef": IMAGE, "flavorRef": self.flavor,
                           "networks": "none"}}
        self.server = self.cloud.nova("POST", "/servers", body)["server"]["id"]

    def status(self):
        try:
            return self.cloud.nova("GET", "/servers/" + self.server)["server"]["status"]
        except api.HttpError as error:
            if error.status == 404:
                return "gone"
            raise

    def wait_boot(self):
        wait_until(lambda: self.status() in ("ACTIVE", "ERROR"), "the server is built", LONG_S)
        if self.status() == "ERROR":
            fault = self.cloud.nova("GET", "/servers/" + self.server)["server"].get("fault", {})
            raise Boot(fault.get("message", "ERROR without a fault"))

    def boot_patiently(self, tries=8):
        """With an operator's remedy where Nova or Cyborg was not there: delete, and boot again."""
        for number in range(tries):
            try:
                if number or not self.server:
                    self.begin_boot()
                self.wait_boot()
                return
            except Boot as problem:
                self.remedy("booted again")
                self.last_problem = problem
                self.delete_server()
                self.delete_leaked()
                time.sleep(2 * number)
        raise AssertionError("not booted in %d tries: %s" % (tries, self.last_problem))

    def remedy(self, what):
        if what not in self.remedies:
            self.remedies.append(what)

    # take

    def arq(self):
        found = self.cloud.cyborg("GET", "/accelerator_requests?instance=" + self.server)["arqs"]
        return found[0] if found else None

    def wait_take(self):
        info = wait_until(lambda: (self.arq() or {}).get("attach_handle_info"), "an ARQ is bound",
                          LONG_S)
        self.address = "%s:%s:%s.%s" % tuple(info[name] for name in (
            "domain", "bus", "device", "function"))
        self.cloud.worker.wait_field(self.address, "device_state", "allocated", LONG_S)
        wait_until(lambda: self.cloud.reserved(self.address) == 1,
                   "%s is reserved while it is allocated" % self.address, LONG_S)

    # write

    def wait_write(self):
        self.cloud.host.fill(self.address, self.seed)
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

    def leaked(self):
        """ARQs that Cyborg keeps for servers that are gone."""
        return [arq for arq in self.cloud.cyborg("GET", "/accelerator_requests")["arqs"]
                if arq["instance_uuid"] and self.cloud.server_is_gone(arq["instance_uuid"])]

    def delete_leaked(self):
        for arq in self.leaked():
            self.cloud.delete_arq(arq["uuid"])
            self.remedy("leaked ARQ deleted")

    # erase and return

    def wait_erase(self):
        def on_its_way():
            state = self.cloud.worker.field(self.address, "device_state")
            return state in ("cleaning", "available", "error")
        wait_until(on_its_way, "%s is being cleaned" % self.address, LONG_S)

    def wait_return(self):
        def ended():
            state = self.cloud.worker.field(self.address, "device_state")
            if state == "error" and "interrupted" in self.cloud.worker.field(self.address,
                                                                            "last_error"):
                self.remedy("cleaned by an operator")
                self.cloud.reclaim("device", "clean", self.address)
                wait_until(lambda: self.cloud.worker.field(self.address, "device_state") != "error",
                           "the order is taken", LONG_S)
            return state == "available" and self.address in self.watcher.offered()
        wait_until(ended, "%s is given back" % self.address, LONG_S)
        kept = self.cloud.host.digest(self.address, self.seed)["tenant_blocks_kept"]
        assert kept == "0", "%s is on offer with %s blocks of its tenant" % (self.address, kept)
