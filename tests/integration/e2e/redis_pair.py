"""Two Redis servers, one the other's replica, and a sentinel that puts the one in the place of the
other."""
import os
import subprocess

from replicated_redis import ReplicatedRedis
from service_process import die_with_parent  # stack/, which services.py has put on the path
from services import REDIS, RedisServer
from waiting import wait_until


class RedisPair(ReplicatedRedis):
    def __init__(self, folder, host, *options):
        super().__init__(host)
        self.options = ("--repl-diskless-sync-delay", "0", *options)
        self.master, self.replica = RedisServer(folder + "/a"), RedisServer(folder + "/b")
        self.sentinel = RedisServer(folder + "/s")
        self.master.start(*self.options)
        self.start_replica()
        self.watching = subprocess.Popen(
            [REDIS, "sentinel", self.sentinel.folder, str(self.master.port), "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent)
        wait_until(lambda: os.path.exists(os.path.join(self.sentinel.folder, "redis.port")),
                   "the sentinel has a port")
        # It begins the next failover after twice that time at the earliest.
        wait_until(lambda: self.sentinel.asked("sentinel", "set", "cloud", "failover-timeout",
                                               "3000") == "OK\n", "the sentinel answers")
        self.wait_until_whole()

    def stop(self):
        self.watching.kill()
        self.watching.wait()
        for server in (self.master, self.replica):
            server.stop()

    def url(self, user):
        return "redis+sentinel://%s@%s/cloud/0" % (user, self.sentinel.address)

    def start_replica(self):
        self.replica.start("--replicaof", "127.0.0.1 %d" % self.master.port, *self.options)

    def named_master(self):
        lines = self.ask_sentinel("get-master-addr-by-name")
        return int(lines[1]) if len(lines) > 1 and lines[1] else None

    def is_whole(self):
        lines = self.ask_sentinel("replicas")
        known = dict(zip(lines[::2], lines[1::2]))
        return (known.get("port") == str(self.replica.port) and known.get("flags") == "slave" and
                "state=online" in self.master.asked("info", "replication"))

    def ask_sentinel(self, what):
        return self.sentinel.asked("sentinel", what, "cloud").split("\n")
