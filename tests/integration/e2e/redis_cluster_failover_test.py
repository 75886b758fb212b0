#!/usr/bin/python3
"""A worker on a Redis Cluster: the master of its host's slot is killed in the stages of a
cleaning, and its replica takes over."""
import unittest

from case import EndToEnd, tear_down_services
from failover_case import STAGES, FailoverCase
from redis_nodes import RedisNodes


def tearDownModule():
    tear_down_services()


class OnCluster(FailoverCase):
    def make_redis(self, folder, host, *options):
        return RedisNodes(folder, host, *options, replicas=1)


class OneStage(OnCluster, EndToEnd):
    def test_the_last_writes_are_lost(self):
        self.lose_the_last_writes("erasing")


class EveryStage(OnCluster, EndToEnd):
    def test_the_master_is_killed(self):
        self.kill_in_stages(*STAGES)

    def test_the_last_writes_are_lost(self):
        self.lose_the_last_writes("erasing", "releasing")


if __name__ == "__main__":
    unittest.main(verbosity=2)
