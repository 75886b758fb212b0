#!/usr/bin/python3
"""The master of a worker's Redis is killed in each stage of a cleaning, and sentinels put its
replica in its place: with all that was written, or without the last writes."""
import json
import os
import unittest
import uuid

from case import SEED, EndToEnd, Setting, tear_down_services
from redis_pair import RedisPair

STAGES = ("pending_cleaning", "guarding", "rechecking", "preparing", "baselining", "erasing",
          "verifying", "restoring", "looking", "releasing")


def tearDownModule():
    tear_down_services()


class OnPair:
    """The services, of which Redis is a pair behind a sentinel."""

    def __init__(self, services, pair):
        self._services, self.pair = services, pair

    def __getattr__(self, name):
        return getattr(self._services, name)

    def redis(self, *words, db=0):
        return self.pair.master.cli(*words, db=db)


class RedisFailover(EndToEnd):
    def start_on_pair(self, count):
        """A worker whose drives each have a tenant."""
        addresses = ["0000:%02x:00.0" % number for number in range(1, count + 1)]
        made = Setting(self, ["address=%s,serial=FAILOVER%d,size=32M,duration_ms=300" % pair
                              for pair in zip(addresses, range(count))], survey_s=5)
        pair = RedisPair(os.path.join(made.folder, "pair"),
                         made.services.path("redis", "users.acl"))
        self.addCleanup(pair.stop)
        made.worker.services = made.services = OnPair(made.services, pair)
        made.worker.write_config("[redis]\nurl = redis+sentinel://%s@127.0.0.1:%d/cloud/%d\n" % (
            made.worker.settings["redis_user"], pair.sentinel.port, made.db))
        tenants = {}
        for address in addresses:
            made.host.fill(address, SEED)
            tenants[address] = str(uuid.uuid4())
            made.register(address, consumer=tenants[address])
        made.worker.start()
        for address in addresses:
            made.worker.wait_field(address, "device_state", "allocated")
        return made, pair, tenants

    def leave(self, made, tenant):
        made.free(tenant)
        made.publish(made.delete_messages())

    def certified(self, made, address):
        """The instance that the last certificate of the host's chain for the device names."""
        folder = os.path.join(made.worker.settings["state"], "certificates")
        for name in sorted(os.listdir(folder), reverse=True):
            if not name.endswith(".json"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                certificate = json.load(file)["sealed"].get("certificate")
            if certificate and certificate["address"] == address:
                return certificate["instance"]
        return None

    def wait_until_clean(self, made, address):
        def is_back():
            made.worker.must_run()
            if made.reserved(address) != 0:
                return False
            kept = made.host.digest(address, SEED)["tenant_blocks_kept"]
            self.assertEqual(kept, "0", "it is on offer with blocks of its tenant")
            return True
        made.worker.wait_until(is_back, "%s is on offer again" % address)
        made.worker.wait_field(address, "device_state", "available")

    def test_the_master_is_killed_in_every_stage(self):
        made, pair, tenants = self.start_on_pair(len(STAGES))
        for stage, (address, tenant) in zip(STAGES, tenants.items()):
            with self.subTest(stage=stage):
                self.leave(made, tenant)
                pair.wait_for_stage(made.name, address, stage, made.db)
                pair.fail_over()
                self.wait_until_clean(made, address)
                # What a stage that was cut off had done may be done again; nothing is skipped.
                self.assertIn(made.host.sanitizes(address), (1, 2))
                self.assertEqual(self.certified(made, address), tenant)

    def test_the_last_writes_are_lost(self):
        stages = ("erasing", "looking", "releasing", "available")
        made, pair, tenants = self.start_on_pair(len(stages))
        for stage, (address, tenant) in zip(stages, tenants.items()):
            with self.subTest(stage=stage):
                pair.part()
                self.leave(made, tenant)
                pair.wait_for_stage(made.name, address, stage, made.db)
                pair.fail_over()
                self.wait_until_clean(made, address)
                # A worker that lives knows what Redis lost.
                self.assertIn(made.host.sanitizes(address), (1, 2))
                self.assertEqual(self.certified(made, address), tenant)


if __name__ == "__main__":
    unittest.main(verbosity=2)
