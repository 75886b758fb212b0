"""A Redis Cluster of three masters, each with as many replicas as wanted."""
from concurrent.futures import ThreadPoolExecutor

from replicated_redis import ReplicatedRedis
from services import RedisServer
from waiting import wait_until

MASTERS = 3
SLOTS = 16384
# A replica takes over soon, and however old its data are.
FAILOVER = ("--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0",
            "--repl-diskless-sync-delay", "0")


class RedisNodes(ReplicatedRedis):
    """`master` and, where there are any, `replica` are those of the slot of `host`."""

    def __init__(self, folder, host, *options, replicas=0):
        super().__init__(host)
        self.options = ("--cluster-enabled", "yes", *(FAILOVER if replicas else ()), *options)
        self.nodes = [RedisServer("%s/%d" % (folder, i)) for i in range(MASTERS * (1 + replicas))]
        self.masters = self.nodes[:MASTERS]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.start(*self.options), self.nodes))
        for i, node in enumerate(self.nodes):
            node.cli("cluster", "set-config-epoch", str(i + 1))
            self.nodes[0].cli("cluster", "meet", "127.0.0.1", str(node.port))
        for i, node in enumerate(self.masters):
            node.cli("cluster", "addslotsrange", str(i * SLOTS // MASTERS),
                     str((i + 1) * SLOTS // MASTERS - 1))
        self.slot = int(self.nodes[0].cli("cluster", "keyslot", "{%s}" % host))
        self.master = next(node for i, node in enumerate(self.masters)
                           if self.slot < (i + 1) * SLOTS // MASTERS)
        self.replica = None
        for i, node in enumerate(self.nodes[MASTERS:]):
            self.replicate(node, self.masters[i % MASTERS])
        wait_until(self.agrees, "every node knows each other")
        if replicas:
            self.wait_until_whole()

    def replicate(self, node, master):
        identity = master.cli("cluster", "myid")
        # It takes a moment until the node knows the other.
        wait_until(lambda: node.asked("cluster", "replicate", identity) == "OK\n", "a replica")
        if master is self.master:
            self.replica = node

    def stop(self):
        # Each waits for its replica, or for its master.
        with ThreadPoolExecutor() as pool:
            list(pool.map(RedisServer.stop, self.nodes))

    def url(self, user=""):
        return "redis+cluster://%s%s" % (user and user + "@",
                                         ",".join(node.address for node in self.nodes))

    def start_replica(self):
        # It knows the cluster, and learns there that another has its slots.
        self.replica.start(*self.options)

    def named_master(self):
        """As a node says that has no part in it."""
        witness = next(node for node in self.masters if node not in (self.master, self.replica))
        return next((known.port for known in known_to(witness).values() if self.slot in known),
                    None)

    def is_whole(self):
        """Every node says so: who does not know of the replica does not vote for it."""
        def knows(node):
            known = known_to(node)
            master, replica = known.get(self.master.port), known.get(self.replica.port)
            return (master and replica and master.flags == {"master"} and
                    replica.flags == {"slave"} and replica.master == master.identity)
        return (self.agrees() and all(knows(node) for node in self.nodes) and
                "master_link_status:up" in self.replica.asked("info", "replication"))

    def agrees(self):
        return all("cluster_state:ok" in node.asked("cluster", "info") and
                   len(known_to(node)) == len(self.nodes) for node in self.nodes)


class Known:
    """A line of CLUSTER NODES; `in` tells whether it has a slot."""

    def __init__(self, line):
        words = line.split()
        self.identity, address, flags, self.master = words[:4]
        self.port = int(address.partition("@")[0].rpartition(":")[2])
        self.flags = set(flags.split(",")) - {"myself"}
        self.slots = [word.split("-") for word in words[8:] if not word.startswith("[")]

    def __contains__(self, slot):
        return any(int(slots[0]) <= slot <= int(slots[-1]) for slots in self.slots)


def known_to(node):
    """{port: what the node knows}, without those whose hand it has not shaken yet."""
    found = [Known(line) for line in node.asked("cluster", "nodes").splitlines() if "@" in line]
    return {known.port: known for known in found if "handshake" not in known.flags}
