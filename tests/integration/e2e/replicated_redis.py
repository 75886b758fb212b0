"""What every Redis has whose master can be killed."""
import contextlib
import re
import signal
import socket

from waiting import wait_until

# Of a server that is not, or not yet, the one to ask.
ASK_LATER = ("CLUSTERDOWN", "LOADING", "MASTERDOWN", "MOVED", "READONLY")


class ReplicatedRedis:
    """A worker's Redis with a `master` that can be killed and a `replica` that takes its place.
    On a machine that does much else it may do so by itself: find_master() tells."""

    def __init__(self, host):
        self.host = host
        self.mark = "{%s}:written after the replica was parted" % host

    def named_master(self):
        """The port of the host's master, as the sentinel or the cluster says."""
        raise NotImplementedError

    def is_whole(self):
        """Whether the replica has everything, and everybody knows that it may take over."""
        raise NotImplementedError

    def start_replica(self):
        raise NotImplementedError

    def find_master(self):
        if self.named_master() == self.replica.port:
            self.master, self.replica = self.replica, self.master
        return self.master

    def cli(self, *words):
        """The answer of the server that is master at that moment."""
        def answer():
            said = self.find_master().asked(*words)
            return said and not said.startswith(ASK_LATER) and said
        return wait_until(answer, " ".join(words)).removesuffix("\n")

    def wait_until_whole(self):
        wait_until(lambda: self.find_master() and self.is_whole(),
                   "the replica follows, and may take over")

    def fail_over(self):
        """The master is killed, and comes back as the replica of the one that took its place."""
        killed = self.find_master()
        killed.kill()
        self.replica.signal(signal.SIGCONT)
        wait_until(lambda: self.find_master() is not killed, "its replica took its place")
        self.start_replica()

    def part(self):
        """The replica is told nothing any more, until fail_over()."""
        self.replica.signal(signal.SIGSTOP)
        self.cli("client", "kill", "type", "replica")
        self.cli("set", self.mark, "")

    def forgot(self):
        """Whether the master lacks what was written after part()."""
        return self.cli("exists", self.mark) == "0"

    def wait_for_stage(self, address, stage):
        """Until the device reaches it, as the journal says: told at once, not asked each while."""
        wait_until(lambda: self.is_told(address, stage), "%s is %s" % (address, stage))

    def is_told(self, address, stage):
        """No: the connection ended, or nothing more was told for a minute."""
        last = "0"
        where = ("127.0.0.1", self.find_master().port)
        with contextlib.suppress(OSError), socket.create_connection(where, timeout=60) as stream:
            while True:
                text = send(stream, "xread", "block", "0", "count", "1", "streams",
                            "reclaim:{%s}:journal" % self.host, last)
                entry = re.search(r"\r\n(\d+-\d+)\r\n", text)
                if not entry:
                    break
                last = entry.group(1)
                told = dict(re.findall(r"\r\n(address|to)\r\n\$\d+\r\n([^\r]*)\r\n", text))
                if told == {"address": address, "to": stage}:
                    return True
        return False


def send(stream, *words):
    """A command, and the text of an answer that comes in one piece."""
    stream.sendall(("*%d\r\n" % len(words) + "".join(
        "$%d\r\n%s\r\n" % (len(word.encode()), word) for word in words)).encode())
    return stream.recv(65536).decode(errors="replace")
