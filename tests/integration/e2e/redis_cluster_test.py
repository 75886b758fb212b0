#!/usr/bin/python3
"""A worker on a Redis Cluster cleans a drive while the slot of its host is moved to another master,
key by key, and takes an order meanwhile."""
import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from case import FIRST, LONG_MS, SEED, EndToEnd, tear_down_services
from redis_nodes import RedisNodes
from waiting import wait_until


def tearDownModule():
    tear_down_services()


class RedisCluster(EndToEnd):
    def start_cluster(self):
        self.made = self.setting(duration_ms=LONG_MS, start=False)
        self.cluster = RedisNodes(os.path.join(self.made.folder, "redis"), self.made.name)
        self.addCleanup(self.cluster.stop)
        self.at = self.cluster.master

    def move_slot(self, between):
        """To the next node; between() is called between any two steps."""
        source = self.at
        nodes = self.cluster.nodes
        target = nodes[(nodes.index(source) + 1) % len(nodes)]
        ids = [node.cli("cluster", "myid") for node in (source, target)]
        slot = str(self.cluster.slot)
        self.assertEqual(target.cli("cluster", "setslot", slot, "importing", ids[0]), "OK")
        self.assertEqual(source.cli("cluster", "setslot", slot, "migrating", ids[1]), "OK")
        between()
        while key := source.cli("cluster", "getkeysinslot", slot, "1"):
            self.assertIn(source.cli("migrate", "127.0.0.1", str(target.port), key, "0", "60000"),
                          ("OK", "NOKEY"))
            between()
        for node in (target, source):
            self.assertEqual(node.cli("cluster", "setslot", slot, "node", ids[1]), "OK")
        self.at = target

    def wait_state(self, state):
        worker = self.made.worker
        wait_until(lambda: worker.devices().get(FIRST, {}).get("Device State") == state, state)

    def test_a_drive_is_cleaned_while_the_slot_of_its_host_moves(self):
        self.start_cluster()
        made = self.made
        # What waits for a slot that moves may wait as long as a busy machine makes of it.
        made.worker.write_config(
            "[redis]\nurl = %s\ncommand_timeout_ms = 60000\n" % self.cluster.url())
        made.worker.start()
        self.wait_state("allocated")
        before = self.at
        self.delete(made)
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the drive sanitizes")

        with ThreadPoolExecutor() as pool:
            orders = []

            def order():
                if not orders:
                    orders.append(pool.submit(made.worker.command, "device", "set", FIRST,
                                              "--maintenance", "on"))
                made.worker.command("device", "list")

            self.move_slot(order)
            code, _, err = orders[0].result()
            self.assertEqual(code, 0, err)
        self.assertIsNot(self.at, before)
        self.assert_reserved(made)
        self.finish_sanitize(made)
        wait_until(lambda: "maintenance, reserved" in made.worker.devices()[FIRST]["Note"],
                   "it is cleaned and kept out")
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")
        self.move_slot(lambda: None)
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "off")
        self.assertEqual(code, 0, err)
        wait_until(lambda: made.reserved(FIRST) == 0, "it is given back")
        self.assertEqual(made.host.sanitizes(FIRST), 1)
        code, out, err = made.worker.command("certificate", "verify", "--all")
        self.assertEqual(code, 0, out + err)
        made.worker.must_run()


if __name__ == "__main__":
    unittest.main(verbosity=2)
