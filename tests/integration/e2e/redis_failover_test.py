#!/usr/bin/python3
"""The master of a worker's Redis is killed in the stages of a cleaning, and a sentinel puts its
replica in its place."""
import unittest

from case import EndToEnd, tear_down_services
from failover_case import STAGES, FailoverCase
from redis_pair import RedisPair


def tearDownModule():
    tear_down_services()


class OnPair(FailoverCase):
    def make_redis(self, folder, host, *options):
        return RedisPair(folder, host, *options)


class OneStage(OnPair, EndToEnd):
    def test_the_master_is_killed(self):
        self.kill_in_stages("erasing")

    def test_the_last_writes_are_lost(self):
        self.lose_the_last_writes("releasing")


class EveryStage(OnPair, EndToEnd):
    def test_the_master_is_killed(self):
        self.kill_in_stages(*STAGES)

    def test_the_last_writes_are_lost(self):
        self.lose_the_last_writes("erasing", "looking", "releasing", "available")


if __name__ == "__main__":
    unittest.main(verbosity=2)
