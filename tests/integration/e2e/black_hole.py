"""A port of the loopback that swallows packets, as a firewall does that drops them."""
import contextlib
import socket


class BlackHole:
    """Listens and accepts nothing: once its queue is full, the kernel answers no SYN. Who connects
    waits until its own patience ends, or close()."""

    def __init__(self):
        self.sockets = [socket.create_server(("127.0.0.1", 0), backlog=0)]
        self.port = self.sockets[0].getsockname()[1]
        while not self.connecting():
            client = socket.socket()
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(("127.0.0.1", self.port))
            self.sockets.append(client)

    def connecting(self):
        """The local ports of those whose SYN was not answered."""
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split()[1:4] for line in file]
        return {int(local.rpartition(":")[2], 16) for local, remote, state in rows[1:]
                if state == "02" and remote.endswith(":%04X" % self.port)}

    def close(self):
        for opened in self.sockets:
            opened.close()
