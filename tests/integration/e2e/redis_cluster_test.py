#!/usr/bin/python3
"""A worker on a Redis Cluster cleans a drive while the slot of its host is moved to another master,
key by key, and takes an order meanwhile."""
import os
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from case import FIRST, LONG_MS, SEED, EndToEnd, tear_down_services
from services import STACK, wait_until

SLOTS = 16384


def tearDownModule():
    tear_down_services()


class Node:
    def __init__(self, folder):
        self.folder = folder
        subprocess.run([os.path.join(STACK, "redis.sh"), "start", folder, "--cluster-enabled",
                        "yes"], check=True, stdin=subprocess.DEVNULL)

    def port(self):
        with open(os.path.join(self.folder, "redis.port"), encoding="ascii") as file:
            return file.read().strip()

    def says(self, *words):
        return subprocess.run(["redis-cli", "-s", os.path.join(self.folder, "redis.sock"), *words],
                              stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def stop(self):
        subprocess.run([os.path.join(STACK, "redis.sh"), "stop", self.folder], check=True)


class RedisCluster(EndToEnd):
    def start_cluster(self):
        self.made = self.setting(duration_ms=LONG_MS, start=False)
        self.nodes = []
        for i in range(3):
            node = Node(os.path.join(self.made.folder, "node%d" % i))
            self.addCleanup(node.stop)
            self.nodes.append(node)
            node.says("cluster", "set-config-epoch", str(i + 1))
            node.says("cluster", "addslotsrange", str(i * SLOTS // 3),
                      str((i + 1) * SLOTS // 3 - 1))
            self.nodes[0].says("cluster", "meet", "127.0.0.1", node.port())
        for node in self.nodes:
            wait_until(lambda one=node: "cluster_state:ok" in one.says("cluster", "info") and
                       "cluster_known_nodes:3" in one.says("cluster", "info"), "the cluster is up")
        self.slot = int(self.nodes[0].says("cluster", "keyslot", "{%s}" % self.made.name))
        self.at = next(node for i, node in enumerate(self.nodes)
                       if self.slot < (i + 1) * SLOTS // 3)

    def move_slot(self, between):
        """To the next node; between() is called between any two steps."""
        source = self.at
        target = self.nodes[(self.nodes.index(source) + 1) % 3]
        ids = [node.says("cluster", "myid") for node in (source, target)]
        slot = str(self.slot)
        self.assertEqual(target.says("cluster", "setslot", slot, "importing", ids[0]), "OK")
        self.assertEqual(source.says("cluster", "setslot", slot, "migrating", ids[1]), "OK")
        between()
        while key := source.says("cluster", "getkeysinslot", slot, "1"):
            self.assertIn(source.says("migrate", "127.0.0.1", target.port(), key, "0", "60000"),
                          ("OK", "NOKEY"))
            between()
        for node in (target, source):
            self.assertEqual(node.says("cluster", "setslot", slot, "node", ids[1]), "OK")
        self.at = target

    def wait_state(self, state):
        worker = self.made.worker
        wait_until(lambda: worker.devices().get(FIRST, {}).get("Device State") == state, state)

    def test_a_drive_is_cleaned_while_the_slot_of_its_host_moves(self):
        self.start_cluster()
        made = self.made
        # What waits for a slot that moves may wait as long as a busy machine makes of it.
        made.worker.write_config(
            "[redis]\nurl = redis+cluster://%s\ncommand_timeout_ms = 60000\n" % ",".join(
                "127.0.0.1:" + node.port() for node in self.nodes))
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
