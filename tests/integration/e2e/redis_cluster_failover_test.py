#!/usr/bin/python3
"""A worker on a Redis Cluster: the master of its host's slot is killed in each stage of a cleaning,
and its replica takes over."""
import unittest

from case import EndToEnd, tear_down_services
from failover_case import FailoverCase
from redis_nodes import RedisNodes


def tearDownModule():
    tear_down_services()


class RedisClusterFailover(FailoverCase, EndToEnd):
    def make_redis(self, folder, host, *options):
        return RedisNodes(folder, host, *options, replicas=1)

    def test_the_master_is_killed_in_every_stage(self):
        self.kill_in_every_stage()

    def test_the_last_writes_are_lost(self):
        self.lose_the_last_writes("erasing", "releasing")


if __name__ == "__main__":
    unittest.main(verbosity=2)
