"""What the tests of an adversary share: his login to Redis, and whether a worker hears on and can
clean after what he did."""
import contextlib
import socket
import uuid

from case import FIRST, SEED, EndToEnd
from waiting import DEADLINE_S, wait_until


class Login:
    """One connection to Redis that says what redis-cli cannot: values of any length."""

    def __init__(self, made, user=None):
        self.socket = socket.create_connection(("127.0.0.1", made.services.redis_port()),
                                               DEADLINE_S)
        self.file = self.socket.makefile("rb")
        if user:
            self("AUTH", *user.split(":"))
        self("SELECT", made.db)

    def __call__(self, *words):
        self.socket.sendall(self.said(words))
        return self.answer()

    def all_at_once(self, commands):
        """As fast as Redis takes them."""
        self.socket.sendall(b"".join(map(self.said, commands)))
        return [self.answer() for _ in commands]

    @staticmethod
    def said(words):
        said = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        return b"*%d\r\n" % len(said) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in said)

    def answer(self):
        line = self.file.readline().strip()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind != b"$":
            return rest.decode()
        return self.file.read(int(rest) + 2)[:-2].decode() if int(rest) >= 0 else None

    def close(self):
        self.file.close()
        self.socket.close()


class Adversary(EndToEnd):
    def attacked(self, user=None, **settings):
        """A setting with its worker; what its keys are called; a login."""
        made = self.setting(survey_s=5, **settings)
        login = Login(made, user and made.services.redis_user(user))
        self.addCleanup(login.close)
        return made, lambda what: "reclaim:{%s}:%s" % (made.name, what), login

    def who_may_order(self, made):
        """The login of a node of the API: a host's may not write another's orders."""
        login = Login(made, made.services.redis_user_of_api())
        self.addCleanup(login.close)
        return login

    def assert_hears(self, made, login, key):
        """A kick and an order are taken, and what the bus says is. One may go with its stream."""
        word = "kick-" + uuid.uuid4().hex

        def heard():
            made.worker.must_run()
            with contextlib.suppress(RuntimeError):
                login("XADD", key("kicks"), "*", "reason", word)
            return "kick: " + word in made.worker.log_text()

        def obeys(value):
            made.worker.must_run()
            return made.worker.command("device", "set", FIRST, "--maintenance", value)[0] == 0
        wait_until(heard, "a kick is taken")
        for value in ("on", "off"):
            wait_until(lambda: obeys(value), "an order is taken")
        with made.services.bus() as connection:
            wait_until(lambda: connection.length("reclaim_" + made.name) == 0, "the queue is read")

    def assert_can_be_cleaned(self, made):
        """An operator's order is heard, and ends in a release."""
        def cleaned():
            made.worker.must_run()
            made.worker.command("device", "clean", FIRST)
            self.finish_sanitize(made)
            return made.worker.field(FIRST, "device_state") == "available"
        wait_until(cleaned, "it is cleaned")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")
