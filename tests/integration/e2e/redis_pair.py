"""Two Redis servers, one the other's replica, and a sentinel that puts the one in the place of the
other."""
import os
import re
import signal
import socket
import subprocess

from service_process import die_with_parent  # stack/, which services.py has put on the path
from services import STACK, is_zombie, run, wait_until

REDIS = os.path.join(STACK, "redis.sh")


class Server:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def start(self, *options):
        run([REDIS, "start", self.folder, *options])

    def number(self, name):
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            return int(file.read())

    @property
    def port(self):
        return self.number("redis.port")

    def cli(self, *words, db=0):
        try:
            return run(["redis-cli", "-p", str(self.port), "-n", str(db), *words]).rstrip("\n")
        except RuntimeError as problem:
            with open(os.path.join(self.folder, "redis.log"), encoding="utf-8") as log:
                raise RuntimeError("%s\n%s" % (problem, log.read()[-2000:])) from None

    def asked(self, *words):
        """The answer; nothing where it does not answer yet, and nothing where the sentinel closes
        every connection, as it does when it turns a replica into a master."""
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True,
                              text=True, check=False).stdout

    def signal(self, number):
        os.kill(self.number("redis.pid"), number)

    def kill(self):
        pid = self.number("redis.pid")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists("/proc/%d" % pid) or is_zombie(pid), "it is gone")


class RedisPair:
    def __init__(self, folder, acl_file):
        self.acl = ("--aclfile", acl_file)
        self.master, self.replica = Server(folder + "/a"), Server(folder + "/b")
        self.sentinel = Server(folder + "/s")
        self.master.start(*self.acl)
        self.follow()
        self.watching = subprocess.Popen(
            [REDIS, "sentinel", self.sentinel.folder, str(self.master.port), "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent)
        self.wait_for_both()

    def stop(self):
        self.watching.kill()
        self.watching.wait()
        for server in (self.master, self.replica):
            server.signal(signal.SIGCONT)
            run([REDIS, "stop", server.folder])

    def follow(self):
        self.replica.start("--replicaof", "127.0.0.1 %d" % self.master.port, *self.acl)

    def wait_for_both(self):
        """The replica has everything, and the sentinel knows it."""
        wait_until(lambda: os.path.exists(os.path.join(self.sentinel.folder, "redis.port")),
                   "the sentinel has a port")
        wait_until(self.is_whole, "the replica follows, and the sentinel knows it")

    def is_whole(self):
        # On a machine that does much else the sentinel may have changed its mind.
        if self.ask_sentinel("get-master-addr-by-name")[1:2] == [str(self.replica.port)]:
            self.master, self.replica = self.replica, self.master
        lines = self.ask_sentinel("replicas")
        known = dict(zip(lines[::2], lines[1::2]))
        return (known.get("port") == str(self.replica.port) and known.get("flags") == "slave" and
                "state=online" in self.master.asked("info", "replication"))

    def ask_sentinel(self, what):
        return self.sentinel.asked("sentinel", what, "cloud").split("\n")

    def fail_over(self):
        """The master is killed, and comes back as the replica of the one that took its place."""
        self.master.kill()
        self.replica.signal(signal.SIGCONT)
        self.master, self.replica = self.replica, self.master
        wait_until(lambda: self.master.asked("role").startswith("master"),
                   "it was put in its place")
        self.follow()
        self.wait_for_both()

    def part(self):
        """The replica is told nothing any more, until fail_over()."""
        self.replica.signal(signal.SIGSTOP)
        self.master.cli("client", "kill", "type", "replica")

    def wait_for_stage(self, host, address, stage, db):
        """Until the device reaches it, as the journal says: told at once, not asked each while."""
        key = "reclaim:{%s}:journal" % host
        last = "0"
        with socket.create_connection(("127.0.0.1", self.master.port), timeout=60) as stream:
            send(stream, "select", str(db))
            while True:
                text = send(stream, "xread", "block", "0", "count", "1", "streams", key, last)
                last = re.search(r"\r\n(\d+-\d+)\r\n", text).group(1)
                told = dict(re.findall(r"\r\n(address|to)\r\n\$\d+\r\n([^\r]*)\r\n", text))
                if told == {"address": address, "to": stage}:
                    return


def send(stream, *words):
    """A command, and the text of an answer that comes in one piece."""
    stream.sendall(("*%d\r\n" % len(words) + "".join(
        "$%d\r\n%s\r\n" % (len(word.encode()), word) for word in words)).encode())
    return stream.recv(65536).decode(errors="replace")
