"""What is asserted wherever a worker's Redis fails over: its master is killed in each stage of a
cleaning, with all that was written, or without the last writes."""
import os
import uuid

from case import SEED, Setting, services
from placement_door import PlacementDoor, inventories_of

STAGES = ("pending_cleaning", "guarding", "rechecking", "preparing", "baselining", "erasing",
          "verifying", "concluding", "restoring", "looking", "releasing", "confirming")
# `concluding` has the steps after the verification.
STEP = "[step:last]\ncommand = /usr/bin/true\nstage = after\npriority = 40\ndevices = {}\n"


class OnRedis:
    """The services, of which Redis is another: it has database 0 alone."""

    def __init__(self, others, redis):
        self._others, self._redis = others, redis

    def __getattr__(self, name):
        return getattr(self._others, name)

    def redis(self, *words, db=0):
        return self._redis.cli(*words)


class FailoverCase:
    """For an EndToEnd, which says how its Redis is made."""

    def make_redis(self, folder, host, *options):
        raise NotImplementedError

    def start_on_redis(self, count):
        """A worker whose drives each have a tenant."""
        addresses = ["0000:%02x:00.0" % number for number in range(1, count + 1)]
        made = Setting(self, ["address=%s,serial=FAILOVER%d,size=32M,duration_ms=300" % pair
                              for pair in zip(addresses, range(count))], survey_s=5)
        redis = self.make_redis(os.path.join(made.folder, "redis"), made.name, "--aclfile",
                                made.services.path("redis", "users.acl"))
        self.addCleanup(redis.stop)
        made.worker.services = made.services = OnRedis(made.services, redis)
        made.operator.write_config("[redis]\nurl = %s\n" % redis.url(
            made.operator.settings["redis_user"]))
        made.operator.install()
        made.door = PlacementDoor(services().endpoints["placement_url"])
        self.addCleanup(made.door.shut_down)
        made.door.before_put = lambda body: self.before_put(made, body)
        self.kept, self.outrun = {}, None
        made.worker.settings["region"] += "\nendpoint_override = " + made.door.url
        made.worker.write_config("[redis]\nurl = %s\n%s" % (
            redis.url(made.worker.settings["redis_user"]), STEP))
        tenants = {}
        for address in addresses:
            made.host.fill(address, SEED)
            tenants[address] = str(uuid.uuid4())
            made.register(address, consumer=tenants[address])
        made.worker.start()
        for address in addresses:
            made.worker.wait_field(address, "device_state", "allocated")
        return made, redis, tenants

    def before_put(self, made, body):
        """What a drive that is about to be given back still has of its tenant. Of the drive that is
        to be outrun another client writes the provider first, once: whether it was given back has
        to be confirmed."""
        if any(inventory.get("reserved") == 0 for inventory in inventories_of(body)):
            path, _ = made.door.written[-1]
            address = next(a for a, provider in made.providers.items() if provider in path)
            kept = made.host.digest(address, SEED)["tenant_blocks_kept"]
            self.kept.setdefault(address, set()).add(kept)
            if address == self.outrun:
                self.outrun = None
                made.services.reserve(made.providers[address], 1)

    def certified(self, made, address):
        """The instance that the last certificate of the host's chain for the device names."""
        return next((each["instance"] for each in reversed(made.worker.certificates())
                     if each["address"] == address), None)

    def kill_in(self, made, redis, stage, address, tenant, lost=False):
        if lost:
            redis.part()
        if stage == "confirming":
            self.outrun = address
        made.free(tenant)
        made.publish(made.delete_messages())
        redis.wait_for_stage(address, stage)
        redis.fail_over()
        if lost:
            self.assertTrue(redis.forgot())
        made.worker.wait_field(address, "device_state", "available")
        self.assertEqual(made.reserved(address), 0)
        self.assertEqual(self.kept[address], {"0"}, "blocks of its tenant, when it was given back")
        self.assertEqual(made.host.digest(address, SEED)["tenant_blocks_kept"], "0")
        # What a stage that was cut off had done may be done again; nothing is skipped. A worker
        # that lives knows what Redis lost.
        self.assertIn(made.host.sanitizes(address), (1, 2))
        self.assertEqual(self.certified(made, address), tenant)
        code, out, err = made.worker.command("certificate", "verify", "--all")
        self.assertEqual(code, 0, out + err)
        redis.wait_until_whole()

    def kill_in_stages(self, *stages):
        made, redis, tenants = self.start_on_redis(len(stages))
        for stage, (address, tenant) in zip(stages, tenants.items()):
            with self.subTest(stage=stage):
                self.kill_in(made, redis, stage, address, tenant)

    def lose_the_last_writes(self, *stages):
        made, redis, tenants = self.start_on_redis(len(stages))
        for stage, (address, tenant) in zip(stages, tenants.items()):
            with self.subTest(stage=stage):
                self.kill_in(made, redis, stage, address, tenant, lost=True)
