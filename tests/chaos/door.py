"""A TCP door in front of a service: what goes through it can be late, cut off, kept back or reset.
The service itself notices nothing, and who watches goes past the door."""
import contextlib
import socket
import struct
import threading
import time

PIECE_BYTES = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST


class Door:
    """Listens on a port of its own that stays the same. One fault at a time; set and ended by any
    thread."""

    def __init__(self, port):
        self.behind = port
        self.changed = threading.Condition()
        self.fault, self.how = None, {}
        self.connections = set()
        self.counts = {"connections": 0, "cut": 0, "reset": 0, "late": 0}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def begin(self, fault, **how):
        with self.changed:
            self.fault, self.how = fault, how
            open_now = list(self.connections) if fault == "refuse" else []
            for connection in self.connections:
                connection.answered = 0
        for connection in open_now:
            self.counts["reset"] += 1
            connection.reset()

    def end(self):
        with self.changed:
            self.fault, self.how = None, {}
            self.changed.notify_all()

    def close(self):
        self.end()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.listener.close()
        for connection in list(self.connections):
            connection.reset()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.counts["connections"] += 1
            if self.fault == "refuse":
                self.counts["reset"] += 1
                reset(client)
                continue
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.behind), 10)
        except OSError:
            reset(client)  # as the kernel answers where nobody listens
            return
        server.settimeout(None)
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self, client, server)
        with self.changed:
            self.connections.add(connection)
        back = threading.Thread(target=connection.pump, args=(server, client, True), daemon=True)
        back.start()
        connection.pump(client, server, False)
        back.join()
        with self.changed:
            self.connections.discard(connection)
        for each in (client, server):
            each.close()


class Connection:
    def __init__(self, door, client, server):
        self.door, self.client, self.server = door, client, server
        self.answered = 0  # bytes of answers since a fault began

    def reset(self):
        for each in (self.client, self.server):
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                each.shutdown(socket.SHUT_RDWR)

    def pump(self, source, sink, is_answer):
        """What a client sent before it went away is delivered all the same, also late."""
        while True:
            try:
                piece = source.recv(PIECE_BYTES)
            except OSError:
                piece = b""
            piece = self.pass_door(piece, is_answer)
            if piece is None:
                self.door.counts["cut"] += 1
                return self.reset()
            try:
                if not piece:
                    return sink.shutdown(socket.SHUT_WR)
                sink.sendall(piece)
            except OSError:
                # Nobody is there any more; the other direction goes on by itself.
                with contextlib.suppress(OSError):
                    source.shutdown(socket.SHUT_RD)
                return None

    def pass_door(self, piece, is_answer):
        """What is to be sent on; None where the connection ends here."""
        door = self.door
        with door.changed:
            if door.fault == "hole":
                door.counts["late"] += 1
                door.changed.wait_for(lambda: door.fault != "hole")
            fault, how = door.fault, door.how
            if fault == "cut" and is_answer and piece:
                left = how["after_bytes"] - self.answered
                self.answered += len(piece)
                if len(piece) > left:
                    with contextlib.suppress(OSError):
                        self.client.sendall(piece[:max(left, 0)])
                    return None
        if fault == "slow" and piece:
            door.counts["late"] += 1
            time.sleep(how["delay_ms"] / 1000)
        return piece


def reset(sock):
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        sock.close()
