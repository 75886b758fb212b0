"""A server whose drive is a one-time-use PCI device of Nova's: its allocation tells the address."""
import copy

from life import LONG_S, Boot, Life
from waiting import wait_until


class NovaLife(Life):
    migration = ""  # the consumer that had the device in the end, where the server has moved
    left_at = None  # the drive that it has still allocated, and is not at any more

    def find_address(self):
        providers = self.cloud.services.placement().call(
            "GET", "/allocations/" + self.server)["allocations"]
        found = map(self.cloud.address_of, providers)
        return next((each for each in found if each not in (None, self.left_at)), None)

    def wait_take(self):
        super().wait_take()
        shown = self.shown()
        self.host = shown["OS-EXT-SRV-ATTR:host"]
        self.owner = {"project": shown["tenant_id"], "user": shown["user_id"]}

    def wait_write(self):
        super().wait_write()
        self.blocks = self.kept()

    def kept(self):
        """How many blocks of this tenant are on the drive."""
        return self.cloud.host_of(self.address).digest(
            self.address, self.seed)["tenant_blocks_kept"]

    def must_be_whole(self):
        """No byte of a tenant who still has the drive was touched."""
        assert self.kept() == self.blocks and self.cloud.reserved(self.address) == 1, (
            "%s was touched while %s has it" % (self.address, self.server))

    def cannot_boot(self):
        try:
            self.run("boot")
        except Boot:
            return
        raise AssertionError("%s was built" % self.server)

    # What becomes of a server

    def act(self, name, words=None):
        self.cloud.nova("POST", "/servers/%s/action" % self.server, {name: words})

    def wait_status(self, wanted):
        def there():
            shown = self.shown()
            assert shown["status"] != "ERROR" or wanted == "ERROR", shown.get("fault")
            return shown["status"] == wanted and shown["OS-EXT-STS:task_state"] is None
        wait_until(there, "the server is " + wanted, LONG_S)

    def moved(self, seed, left_at=None):
        """This life goes on at another drive, where the server's bytes are of that seed; returns
        what it left behind."""
        left = copy.copy(self)
        self.seed, self.left_at = seed, left_at
        self.run("write", since="take")
        return left

    def its_migration(self):
        (found,) = self.cloud.nova("GET", "/os-migrations?instance_uuid=" + self.server)[
            "migrations"]
        return found["uuid"]

    # Its end

    def wait_return(self):
        super().wait_return()
        wait_until(lambda: self.certified() == self.expected(),
                   "the certificate of %s says %s" % (self.address, self.expected()), LONG_S)

    def expected(self):
        """What the certificate of this drive has to say of its tenant."""
        return {"instance": self.server, "instance_source": "allocation",
                "migration": self.migration, **self.owner}

    def certified(self):
        """What the last one says."""
        found = [each for each in self.cloud.worker_of(self.address).certificates()
                 if each["address"] == self.address]
        return {name: found[-1].get(name, "") for name in self.expected()} if found else None
