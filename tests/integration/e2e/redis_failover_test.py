#!/usr/bin/python3
"""The master of a worker's Redis is killed in each stage of a cleaning, and a sentinel puts its
replica in its place."""
import unittest

from case import EndToEnd, tear_down_services
from failover_case import FailoverCase
from redis_pair import RedisPair


def tearDownModule():
    tear_down_services()


class RedisFailover(FailoverCase, EndToEnd):
    def make_redis(self, folder, host, *options):
        return RedisPair(folder, host, *options)

    def test_the_master_is_killed_in_every_stage(self):
        self.kill_in_every_stage()

    def test_the_last_writes_are_lost(self):
        self.lose_the_last_writes("erasing", "looking", "releasing", "available")


if __name__ == "__main__":
    unittest.main(verbosity=2)
