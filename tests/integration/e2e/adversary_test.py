#!/usr/bin/python3
"""What an adversary can write, against a running worker: to Redis with the login of another compute
host or with the fleet's password, and to the message bus. He gets neither a release, nor an erase
of a drive in use, nor a worker that stays down. docs/safety.md lists the attempts."""
import contextlib
import json
import os
import shutil
import socket
import unittest
import uuid

from case import DELETED, FIRST, SEED, EndToEnd, tear_down_services
from services import RESOURCE_CLASS, ROOT, run, wait_until
from worker import temporary_folder

LAST_ID = "18446744073709551615-18446744073709551615"
FAR_ID = "99999999999999-0"
MEGABYTE = 1024 * 1024


def tearDownModule():
    tear_down_services()


class Login:
    """One connection to Redis that says what redis-cli cannot: values of any length."""

    def __init__(self, made, user=None):
        self.socket = socket.create_connection(("127.0.0.1", made.services.redis_port()), 60)
        self.file = self.socket.makefile("rb")
        if user:
            self("AUTH", *user.split(":"))
        self("SELECT", made.db)

    def __call__(self, *words):
        said = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(said) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in said))
        return self.answer()

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


class OfAnotherHost(Adversary):
    """With the Redis login that docs/redis.md gives to a compute host."""

    def test_its_streams_are_poisoned_and_the_worker_hears_on(self):
        made, key, evil = self.attacked("evil")
        kicks, orders = key("kicks"), key("orders")
        # Longer than a reply may be: read again with each connection, it would end each.
        for stream in (kicks, orders):
            evil("XADD", stream, "*", "reason", b"x" * (70 * MEGABYTE))
        self.assert_hears(made, evil, key)
        # The last ID there is: no entry can be added after it.
        for stream in (kicks, orders):
            evil("XADD", stream, "MAXLEN", "0", LAST_ID, "reason", "x")
        with self.assertRaisesRegex(RuntimeError, "exhausted"):
            evil("XADD", kicks, "*", "reason", "x")
        made.publish(made.delete_messages())
        made.worker.wait_log(r"heard (compute\.)?instance\.delete\.end")
        self.assert_hears(made, evil, key)
        # IDs of a far day, and the streams made again: what comes now is before them.
        for stream in (kicks, orders):
            evil("XADD", stream, FAR_ID, "reason", "far")
        made.worker.wait_log("kick: far")
        for stream in (kicks, orders):
            evil("PEXPIRE", stream, "1")
        self.assert_hears(made, evil, key)
        # Looks in a far future, each at another second, and words of a megabyte.
        for number in range(200):
            evil("XADD", kicks, "*", "reason", "later", "instance", "i%d" % number, "delays_s",
                 ",".join(str(1_000_000 * each + 97 * number) for each in range(1, 17)))
        evil("XADD", kicks, "*", *sum(([name, b"w" * MEGABYTE]
                                      for name in ("reason", "instance", "request_id")), []))
        self.assert_hears(made, evil, key)
        self.assertLess(max(map(len, made.worker.log_text().splitlines())), 4_000)
        self.delete(made)
        self.assert_released(made)

    def test_it_invents_more_hosts_than_are_read(self):
        made, key, evil = self.attacked("evil")
        for start in range(0, 10_100, 100):
            evil("SADD", "reclaim:hosts", *("invented-%d" % each
                                            for each in range(start, start + 100)))
        self.delete(made)
        self.assert_released(made)
        made.worker.wait_log("who is to be told cannot be read")
        # What cannot be told is not waited for: the queue is the whole fleet's.
        with made.services.bus() as connection:
            wait_until(lambda: connection.length("reclaim_" + made.name) == 0, "all is read")
        self.assertNotIn("the message waits", made.worker.log_text())
        code, _, err = made.worker.command("device", "list", "--all-hosts")
        self.assertEqual(code, 1)
        self.assertIn("redis-cli DEL reclaim:hosts", err)
        made.services.redis("del", "reclaim:hosts", db=made.db)
        evil("XADD", key("kicks"), "*", "reason", "operator")
        wait_until(lambda: made.name in made.worker.command("device", "list", "--all-hosts")[1],
                   "it has added itself")
        # Nor is a presence of his own waited for that no answer can hold.
        evil("SET", "reclaim:{evil}:alive", b"x" * (70 * MEGABYTE))
        evil("SADD", "reclaim:hosts", "evil")
        made.publish(made.delete_messages())
        self.assert_hears(made, evil, key)

    def test_what_it_may_not_write_is_refused(self):
        made, key, evil = self.attacked("evil")
        record = key("device:" + FIRST)
        for words in (("SET", key("machine"), "evil"), ("DEL", record),
                      ("HSET", record, "epoch", 9),
                      ("SET", key("lock:" + FIRST), "evil 9"), ("DEL", key("kicks")),
                      ("XTRIM", key("kicks"), "MAXLEN", 0), ("SET", key("fence"), "inf"),
                      ("EXPIRE", record, 1), ("RENAME", record, "x"), ("FLUSHALL",),
                      ("CLIENT", "KILL", "TYPE", "normal"), ("CONFIG", "SET", "maxmemory", "1"),
                      ("SCRIPT", "FLUSH"), ("SREM", "reclaim:hosts", made.name),
                      ("SET", key("alive"), "{}"), ("HSET", key("arqs"), "a", "{}"),
                      ("EVAL", "return redis.call('DEL', KEYS[1])", 1, record),
                      ("EVAL", "return redis.call('DEL', '%s')" % record, 0)):
            with self.assertRaisesRegex(RuntimeError, "NOPERM|can't"):
                evil(*words)
        self.delete(made)
        self.assert_released(made)


class WithThePassword(Adversary):
    """The worst case: all of Redis is his."""

    def test_no_key_of_his_keeps_a_worker_from_its_start(self):
        made, key, root = self.attacked()
        made.worker.kill()
        record = key("device:" + FIRST)
        for what in ("devices", "arqs", "machine", "kicks", "orders", "orders_taken", "fence",
                     "journal"):
            root("DEL", key(what))
            root("RPUSH", key(what), "x")
        made.worker.start()
        made.worker.wait_log(r"devices cannot be read and is removed")
        made.worker.wait_field(FIRST, "device_state", "allocated")
        made.worker.kill()
        root("SADD", key("devices"), *("0000:%02x:%02x.%d" % (each // 256, each // 8 % 32, each % 8)
                                       for each in range(1100)))
        root("HSET", record, "serial", b"x" * (70 * MEGABYTE))
        made.worker.start()
        wait_until(lambda: root("SISMEMBER", key("devices"), FIRST) == "1", "it is listed again")
        made.worker.kill()
        root("HSET", record, "serial", b"x" * (70 * MEGABYTE))
        made.worker.start()
        made.worker.wait_log("its record cannot be read; nothing is done with it")
        root("DEL", record)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.delete(made)
        self.assert_released(made)

    def test_a_cleaning_ends_whatever_stands_in_its_keys(self):
        made, key, root = self.attacked(duration_ms=3_600_000)
        record = key("device:" + FIRST)
        before = root("HGETALL", record)
        root("SET", key("fence"), "inf")
        root("SET", key("lock:" + FIRST), "evil 5")  # without an expiry: for ever
        self.delete(made)
        self.wait_erasing(made)
        for words in (("SET", key("fence"), "1e300"), ("SET", key("fence"), "nan")):
            root(*words)
        for what in ("journal", "devices", "lock:" + FIRST):
            root("DEL", key(what))
            root("RPUSH", key(what), "x")
        root("DEL", record)
        root("HSET", record, *before)  # an older one of this host's own
        root("HSET", record, "epoch", "999999999")  # and one of no host's, beyond all epochs
        root("SCRIPT", "FLUSH")
        self.finish_sanitize(made)
        self.assert_released(made)

    def test_redis_is_emptied_stopped_and_taken_in_the_middle(self):
        made, key, root = self.attacked(duration_ms=3_600_000)
        record = key("device:" + FIRST)
        self.delete(made)
        self.wait_erasing(made)
        root("CLIENT", "PAUSE", 3_000, "ALL")
        root("RENAME", record, "elsewhere")
        root("XGROUP", "DESTROY", key("kicks"), "workers")
        root("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        root("FLUSHDB")
        root("SET", key("machine"), "0" * 32)
        made.worker.wait_log("nothing is read, written or cleaned")
        root("DEL", key("machine"))
        self.finish_sanitize(made)
        self.assert_released(made)
        code, out, err = made.worker.command("certificate", "verify")
        self.assertEqual(code, 0, out + err)

    def test_before_its_key_is_made_a_record_of_his_is_believed_for_nothing(self):
        made, key, root = self.attacked()
        record = key("device:" + FIRST)
        made.worker.kill()
        os.unlink(os.path.join(made.worker.settings["state"], "host.key"))
        for name, value in (("epoch", str(2**53 - 1)), ("stage", "releasing"),
                            ("device_state", "cleaning"), ("erase_begun", "true"),
                            ("verified_at", "2026-01-01T00:00:00.000Z")):
            root("HSET", record, name, value)
        root("HDEL", record, "mac")
        made.worker.start()
        self.delete(made)
        made.worker.wait_log("sanitize|cannot be believed|cannot be read")
        made.worker.must_run()
        self.assert_reserved(made)

    def test_a_record_that_is_listed_nowhere_is_not_fought_over_for_ever(self):
        made, key, root = self.attacked()
        record = key("device:" + FIRST)
        root("SREM", key("devices"), FIRST)
        root("HSET", record, "epoch", "999999999")
        self.delete(made)
        self.assert_released(made)
        self.assertLess(int(made.worker.field(FIRST, "epoch")), 1_000)

    def test_what_he_puts_back_releases_nothing(self):
        made, key, root = self.attacked()
        record = key("device:" + FIRST)
        self.delete(made)
        self.assert_released(made)
        clean = root("HGETALL", record)
        sealed = root("GET", key("certificate:" + FIRST))
        # The next tenant's: the drive is dirty, and its host writes are the tenant's.
        made.host.fill(FIRST, SEED)
        made.services.placement().allocate(str(uuid.uuid4()), made.providers[FIRST],
                                           RESOURCE_CLASS)
        made.services.reserve(made.providers[FIRST], 1)
        root("XADD", key("kicks"), "*", "reason", "tenant")
        made.worker.wait_field(FIRST, "device_state", "allocated")
        for restart in (False, True):
            if restart:
                made.worker.kill()
            root("DEL", record)
            root("HSET", record, *clean)
            root("SET", key("certificate:" + FIRST), sealed)
            if restart:
                made.worker.start()
            root("XADD", key("kicks"), "*", "reason", "operator")
            made.worker.wait_field(FIRST, "device_state", "allocated")
            self.assert_reserved(made)
            self.assertEqual(made.host.sanitizes(FIRST), 1)


class OnTheBus(Adversary):
    def test_a_forged_end_of_a_living_instance_touches_nothing(self):
        made, key, evil = self.attacked("evil")
        made.publish(made.delete_messages() * 20)
        evil("XADD", key("kicks"), "*", "reason", "cyborg-agent.cleanup_device", "command",
             "cleanup_device", "address", FIRST, "mark_allocated", "true")
        for order in ("clean", "enrol", "abort"):
            evil("XADD", key("orders"), "*", "order", order, "address", FIRST, "who", "evil@evil",
                 "request_id", "forged-" + order, "issued_at", "2099-01-01T00:00:00.000Z",
                 "nonce", "1", "serial", "SERIAL1", "mac", "0" * 64)
        self.assert_hears(made, evil, key)
        self.assertEqual(made.worker.field(FIRST, "device_state"), "allocated")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assertIn("not authenticated", evil("GET", key("order:forged-enrol")))

    def test_what_is_no_message_ends_no_worker(self):
        made, key, evil = self.attacked("evil")
        exchange, routing_key, body = made.delete_messages()[0]
        inner = json.loads(json.loads(body)["oslo.message"])

        def enveloped(text):
            return json.dumps({"oslo.version": "2.0", "oslo.message": text})
        bodies = [
            "", "null", "[" * 100_000, '{"oslo.message":' * 5_000, "\xff\xfe",
            '{"oslo.message":"{"}',
            body.replace(DELETED, "\\u0000\\ud800\\n"),
            body[:-2] + ',"oslo.version":1.00000000000000000000e-2147483639}',
            enveloped(json.dumps(inner)[:-1] + ',"n":NaN}'),
            enveloped(json.dumps(inner)[:-1] +
                      ',"event_type":"instance.delete.end","event_type":{"a":[1e400]}}'),
            body.replace("instance.delete.end", "instance.delete.end\\nERROR forged\\u001b[31m"),
            "x" * (9 * MEGABYTE)]
        with made.services.bus() as connection:
            for each in bodies:
                connection.publish(exchange, routing_key, each.encode("utf-8", "surrogatepass"))
        self.assert_hears(made, evil, key)
        self.assertNotRegex(made.worker.log_text(), r"(?m)^ERROR forged|\x1b")
        self.delete(made)
        self.assert_released(made)


class Proofs(Adversary):
    def test_a_certificate_by_another_hosts_key_is_refused(self):
        made, _, _ = self.attacked()
        self.delete(made)
        self.assert_released(made)
        other = self.setting()
        self.delete(other)
        self.assert_released(other)
        mine, theirs = (each.worker.settings["state"] for each in (made, other))
        folder = temporary_folder()
        self.addCleanup(shutil.rmtree, folder, True)
        public = os.path.join(mine, "certificate.key.pub")
        chain = sorted(os.listdir(os.path.join(mine, "certificates")))
        forged = sorted(os.listdir(os.path.join(theirs, "certificates")))

        def judged(copied):
            here = os.path.join(folder, uuid.uuid4().hex)
            shutil.copytree(os.path.join(mine, "certificates"), here)
            copied(here)
            code, _, _ = made.worker.command("certificate", "verify", "--folder", here,
                                             "--public-key", public)
            script = 0
            with contextlib.suppress(RuntimeError):
                run(["sh", os.path.join(ROOT, "docs/examples/verify-certificate.sh"), public, here])
                script = 1
            return code == 0, script == 1

        def put(here, name, source, target):
            shutil.copy(os.path.join(source, "certificates", name), os.path.join(here, target))
        self.assertEqual(judged(lambda here: None), (True, True))
        last = [name for name in chain if name != "head"][-1]
        for attempt in (
                lambda here: [put(here, name, theirs, name) for name in forged],
                lambda here: put(here, forged[0], theirs, last),
                lambda here: os.unlink(os.path.join(here, last)),
                lambda here: put(here, "head", theirs, "head"),
                lambda here: os.rename(os.path.join(here, chain[0]), os.path.join(here, "x.json"))):
            self.assertEqual(judged(attempt), (False, False))


if __name__ == "__main__":
    unittest.main(verbosity=2)
