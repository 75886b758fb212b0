#!/usr/bin/python3
"""What an adversary can write, against a running worker: to Redis with the login of another compute
host or with the fleet's password, and to the message bus. He gets neither a release, nor an erase
of a drive in use, nor a worker that stays down. docs/dev/safety-attempts.md lists the attempts."""
import base64
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest
import uuid

import bus
import cyborg_said
from adversary_case import Adversary, Login
from case import DELETED, FIRST, LONG_MS, SEED, domain, services, tear_down_services
from cyborg_case import CyborgEndToEnd
from placement_door import PlacementDoor
from services import RESOURCE_CLASS, ROOT, run
from waiting import wait_until
from worker import EmulatedHost, Programs, temporary_folder

LAST_ID = "18446744073709551615-18446744073709551615"
FAR_ID = "99999999999999-0"
MEGABYTE = 1024 * 1024


def tearDownModule():
    tear_down_services()


class OfAnotherHost(Adversary):
    """With the Redis login that docs/redis.md gives to a compute host."""

    def test_its_streams_are_poisoned_and_the_worker_hears_on(self):
        made, key, evil = self.attacked("evil")
        kicks, orders = key("kicks"), key("orders")
        writer = {kicks: evil, orders: self.who_may_order(made)}
        # Longer than a reply may be: read again with each connection, it would end each.
        for stream in (kicks, orders):
            writer[stream]("XADD", stream, "*", "reason", b"x" * (17 * MEGABYTE))
        self.assert_hears(made, evil, key)
        # The last ID there is: no entry can be added after it.
        for stream in (kicks, orders):
            writer[stream]("XADD", stream, "MAXLEN", "0", LAST_ID, "reason", "x")
        with self.assertRaisesRegex(RuntimeError, "exhausted"):
            evil("XADD", kicks, "*", "reason", "x")
        made.publish(made.delete_messages())
        made.worker.wait_log(r"heard (compute\.)?instance\.delete\.end")
        self.assert_hears(made, evil, key)
        # IDs of a far day, and the streams made again: what comes now is before them.
        for stream in (kicks, orders):
            writer[stream]("XADD", stream, FAR_ID, "reason", "far")
        made.worker.wait_log("kick: far")
        for stream in (kicks, orders):
            writer[stream]("PEXPIRE", stream, "1")
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
        for start in range(0, 100_100, 1_000):
            evil("SADD", "reclaim:hosts", *("invented-%d" % each
                                            for each in range(start, start + 1_000)))
            if start == 10_000:  # names that no worker ever had are none
                code, out, err = made.worker.command("device", "list", "--all-hosts")
                self.assertEqual(code, 0, err)
                self.assertIn(made.name, out)
        self.delete(made)  # an event that names the host needs no list
        self.assert_released(made)
        made.publish([(exchange, route, body.replace("instance.delete.end", "instance.evacuate"))
                      for exchange, route, body in made.delete_messages()
                      if bus.event_of(body) == "instance.delete.end"])
        made.worker.wait_log("who is to be told cannot be read")
        # What cannot be told is not waited for: the queue is the whole fleet's.
        with made.services.bus() as connection:
            wait_until(lambda: connection.length("reclaim_" + made.name) == 0, "all is read")
        self.assertNotIn("the message waits", made.worker.log_text())
        code, _, err = made.worker.command("device", "list", "--all-hosts")
        self.assertEqual(code, 1)
        self.assertIn("redis-cli -c DEL reclaim:hosts", err)
        made.services.redis("del", "reclaim:hosts", db=made.db)
        evil("XADD", key("kicks"), "*", "reason", "operator")
        wait_until(lambda: made.name in made.worker.command("device", "list", "--all-hosts")[1],
                   "it has added itself")
        # Nor is a presence of his own waited for that no answer can hold.
        evil("SET", "reclaim:{evil}:alive", b"x" * (17 * MEGABYTE))
        evil("SADD", "reclaim:hosts", "evil")
        made.publish(made.delete_messages())
        self.assert_hears(made, evil, key)
        # And what it lists as its devices keeps nobody from seeing the others'.
        evil("SET", "reclaim:{evil}:devices", "x")
        code, out, err = made.worker.command("device", "list", "--all-hosts")
        self.assertEqual(code, 1)
        self.assertIn(made.name, out)
        self.assertIn("redis-cli -c DEL 'reclaim:{evil}:devices'", err)
        self.assertIn("reclaim:{evil}:devices", made.worker.command("status")[1])

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
                      ("XADD", key("orders"), "*", "order", "abort", "address", FIRST, "who",
                       "alice@operators"), ("XADD", key("orders"), "MAXLEN", "0", "*", "a", "b"),
                      ("SET", key("alive"), "{}"), ("HSET", key("arqs"), "a", "{}"),
                      ("EVAL", "return redis.call('DEL', KEYS[1])", 1, record),
                      ("EVAL", "return redis.call('DEL', '%s')" % record, 0),
                      ("EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "reclaim:{evil}:x"),
                      ("FUNCTION", "FLUSH"),
                      ("FUNCTION", "LOAD", "#!lua name=evil\nredis.register_function('evil', "
                       "function() while true do end end)")):
            with self.assertRaisesRegex(RuntimeError, "NOPERM|No permissions|can't"):
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
        root("HSET", record, "serial", b"x" * (17 * MEGABYTE))
        made.worker.start()
        wait_until(lambda: root("SISMEMBER", key("devices"), FIRST) == "1", "it is listed again")
        made.worker.kill()
        root("HSET", record, "serial", b"x" * (17 * MEGABYTE))
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
        forger = self.who_may_order(made)
        for order in ("clean", "enrol", "abort"):
            forger("XADD", key("orders"), "*", "order", order, "address", FIRST, "who", "evil@evil",
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


class OfCyborgs(Adversary, CyborgEndToEnd):
    """Bindings that Cyborg never made, said on the bus in its name."""

    def forge(self, made, event, arqs):
        """Returns when the worker has heard them all."""
        state = "Bound" if event == "bind.end" else "Unbound"
        kick = "kick: accelerator_request." + event
        heard = made.worker.log_text().count(kick)
        heard += sum(arq["hostname"] == made.name for arq in arqs)
        with made.services.bus() as connection:
            for arq in arqs:
                connection.publish("cyborg", "versioned_notifications.info", json.dumps({
                    "oslo.version": "2.0", "oslo.message": json.dumps({
                        "message_id": arq["uuid"], "publisher_id": "cyborg-conductor:evil",
                        "event_type": "accelerator_request." + event, "priority": "INFO",
                        "timestamp": "2026-01-01 00:00:00.000000", "payload": {
                            "cyborg_object.name": "ExtARQPayload",
                            "cyborg_object.namespace": "cyborg", "cyborg_object.version": "1.0",
                            "cyborg_object.data": {**arq, "state": state}}})}))
        made.worker.wait_until(lambda: made.worker.log_text().count(kick) >= heard,
                               "%d times %s" % (heard, kick))

    def bindings(self, made, address, count=1, host=None):
        provider = made.providers.get(address, str(uuid.uuid4()))
        return [cyborg_said.arq(str(uuid.uuid4()), host or made.name, address, str(uuid.uuid4()),
                                provider) for _ in range(count)]

    @staticmethod
    def is_said_to_be_bound(made):
        return "binds it" in (made.worker.field(FIRST, "waiting_for") or "")

    def test_forged_bindings_during_a_cleaning_release_and_hold_nothing_for_good(self):
        with services().bus() as connection:
            connection.declare_exchange("cyborg")
        door = PlacementDoor(services().endpoints["placement_url"])
        self.addCleanup(door.shut_down)
        made = self.cyborg(survey_s=5, duration_ms=LONG_MS, start=False)
        made.worker.settings["region"] += "\nendpoint_override = " + door.url
        made.worker.write_config("[listener]\nexchanges = nova,cyborg\n")
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "available")
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        # Before the erase: it waits for a guest, and thousands say that they have the drive.
        made.host.write("etc/libvirt/qemu/guest.xml", domain(FIRST))
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        forged = (self.bindings(made, FIRST, 1_500) + self.bindings(made, "0000:77:00.0", 1_500) +
                  self.bindings(made, FIRST, 100, "elsewhere"))
        self.forge(made, "bind.end", forged)
        made.worker.wait_until(lambda: self.is_said_to_be_bound(made),
                               "%s waits for what is said to bind it" % FIRST)
        made.host.remove("etc/libvirt/qemu/guest.xml")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assertLess(len(made.arqs()), 20)
        self.forge(made, "unbind.end", forged)
        # While it sanitizes: another's drive, then this one.
        self.wait_erasing(made)
        self.forge(made, "bind.end", self.bindings(made, "0000:77:00.0", 20))
        forged = self.bindings(made, FIRST, 20)
        self.forge(made, "bind.end", forged)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.finish_sanitize(made)
        self.assert_reserved(made)
        self.forge(made, "bind.end", self.bindings(made, FIRST, 20))  # and never an end of these

        def cleaned_again():
            # A survey that began before the order holds it until the next one.
            if (made.worker.field(FIRST, "device_state") in ("error", "allocated") or
                    self.is_said_to_be_bound(made)):
                made.worker.command("device", "clean", FIRST)
            return made.host.sanitizes(FIRST) > 1 and made.host.sanitize_status(FIRST) == 2
        made.worker.wait_until(cleaned_again, "it begins from the beginning")
        begun = made.host.sanitizes(FIRST)
        # Between the verification and the release: the PUT is on its way.
        forged = self.bindings(made, FIRST, 20)

        def in_between(body):
            if body.get("reserved") == 0:
                self.forge(made, "bind.end", forged)
                door.before_put = lambda body: None
        door.before_put = in_between
        self.finish_sanitize(made)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.wait_reserved(made)
        self.forge(made, "unbind.end", forged)
        wait_until(lambda: made.host.sanitizes(FIRST) > begun, "it is cleaned once more")
        self.finish_sanitize(made)
        self.assert_released(made, sanitizes=begun + 1)


class ASecondWorker(Adversary):
    """The shipped worker on his host, under the victim's name and with its Redis login."""

    def rival(self, made, machine):
        """His drive has the victim's address and serial, and nothing is on it."""
        host = EmulatedHost(Programs(), os.path.join(made.folder, "rivals"),
                            ["address=%s,serial=SERIAL1,size=32M,duration_ms=300" % FIRST])
        shutil.copy(os.path.join(made.host.root, "var/lib/nova/compute_id"),
                    os.path.join(host.root, "var/lib/nova/compute_id"))
        host.write("etc/machine-id", machine + "\n")
        rival = made.make_worker("rival", host=host, survey_s=5)
        self.addCleanup(rival.kill)
        rival.start(wait=False)
        return rival

    def test_on_another_machine_it_does_nothing_and_ends_nothing(self):
        made, key, root = self.attacked(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        rival = self.rival(made, "f" * 32)
        rival.wait_log(r"nothing is read, written or cleaned.*machine")
        self.finish_sanitize(made)
        self.assert_released(made)
        self.assertEqual(rival.host.sanitizes(FIRST), 0)
        rival.must_run()

    def test_with_its_machine_id_it_neither_keeps_nor_stops_anything(self):
        """And with all of Redis: he can read that id there, and Nova's compute_id in Placement."""
        made, key, root = self.attacked(duration_ms=LONG_MS)
        record = key("device:" + FIRST)
        self.delete(made)
        self.wait_erasing(made)
        rival = self.rival(made, root("GET", key("machine")))
        rival.wait_log("its record cannot be believed")
        self.assert_reserved(made)

        def cleans_his_own():
            rival.must_run()
            root("DEL", record)
            root("XADD", key("orders"), "*", "order", "clean", "address", FIRST, "who", "evil")
            root("XADD", key("kicks"), "*", "reason", "operator")
            return rival.host.sanitizes(FIRST) == 1
        wait_until(cleans_his_own, "his own drive is cleaned")
        rival.wait_log(r"-> available \(released\)")
        made.worker.wait_log(r"ERROR reclaim\.conductor .*is on offer, and dirty since 20")
        wait_until(lambda: made.reserved(FIRST) == 1, "the victim's drive is off the pool again")
        rival.kill()
        made.worker.kill()
        made.services.reserve(made.providers[FIRST], 0)
        made.worker.start()
        wait_until(lambda: made.reserved(FIRST) == 1, "and again with a start")
        root("DEL", record)  # as the worker says, where it is the rival's
        self.assert_can_be_cleaned(made)
        self.assertEqual(made.worker.command("certificate", "verify")[0], 0)


class Orders(Adversary):
    def issued(self, made, login, *words):
        """The fields of an order as it goes by, and what the command that issued it said."""
        orders = "reclaim:{%s}:orders" % made.name
        said = []
        made.worker.process.send_signal(signal.SIGSTOP)
        issuing = threading.Thread(target=lambda: said.append(made.worker.command(*words)))
        issuing.start()
        wait_until(lambda: login("XLEN", orders) == "1", "the order is in the stream")
        (_, fields), = login("XRANGE", orders, "-", "+")
        made.worker.process.send_signal(signal.SIGCONT)
        issuing.join()
        return fields, said[0]

    def test_what_was_signed_elsewhere_or_before_is_not_signed_for_this(self):
        made, key, evil = self.attacked("evil")
        self.delete(made)
        self.assert_released(made)
        other = self.setting()
        self.delete(other)
        self.assert_released(other)
        root = Login(other)
        self.addCleanup(root.close)
        enrol = ("device", "set", FIRST, "--enrol")
        theirs, said = self.issued(other, root, *enrol)
        self.assertEqual(said[0], 0, said)
        root("SELECT", made.db)
        own, said = self.issued(made, root, *enrol)
        self.assertEqual(said[0], 0, said)
        later = list(own)
        later[later.index("issued_at") + 1] = "2099-01-01T00:00:00.000Z"

        forger = self.who_may_order(made)

        def answer(fields, wanted):
            made_id = fields[fields.index("request_id") + 1]
            forger("XADD", key("orders"), "*", *fields)
            wait_until(lambda: wanted in (evil("GET", key("order:" + made_id)) or ""), wanted)
        for _ in range(2):
            answer(theirs, "not authenticated")
            answer(later, "not authenticated")
            answer(own, "was judged before")
            made.worker.kill()
            made.worker.start()

    def test_a_flood_of_orders_delays_a_cleaning_and_no_more(self):
        made, key, _ = self.attacked("evil", duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        self.who_may_order(made).all_at_once([
            ("XADD", key("orders"), "*", "order", ("clean", "abort")[number % 2], "address", FIRST,
             "who", "evil", "request_id", "flood-%d" % number) for number in range(10_000)])
        wait_until(lambda: made.services.redis("xlen", key("orders"), db=made.db) == "0",
                   "the orders are taken")
        made.worker.wait_log("is refused: too many orders wait for it already")
        self.finish_sanitize(made)
        made.worker.must_run()
        self.assert_reserved(made)
        self.assert_can_be_cleaned(made)


class Proofs(Adversary):
    def released(self):
        made, _, _ = self.attacked()
        self.delete(made)
        self.assert_released(made)
        state = made.worker.settings["state"]
        self.folder = temporary_folder()
        self.addCleanup(shutil.rmtree, self.folder, True)
        return made, state, sorted(os.listdir(os.path.join(state, "certificates")))[:-1]

    def judged(self, made, change, public=None):
        """What the command and the script say of a changed copy, with the host's first key."""
        mine = made.worker.settings["state"]
        public = public or os.path.join(mine, "certificate.key.pub")
        here = os.path.join(self.folder, uuid.uuid4().hex)
        shutil.copytree(os.path.join(mine, "certificates"), here)
        change(here)
        code, _, _ = made.worker.command("certificate", "verify", "--folder", here,
                                         "--public-key", public)
        script = 0
        with contextlib.suppress(RuntimeError):
            run(["sh", os.path.join(ROOT, "docs/examples/verify-certificate.sh"), public, here])
            script = 1
        return code == 0, script == 1

    def test_a_certificate_by_another_hosts_key_is_refused(self):
        made, _, chain = self.released()
        other, theirs, forged = self.released()

        def put(here, name, source, target):
            shutil.copy(os.path.join(source, "certificates", name), os.path.join(here, target))
        self.assertEqual(self.judged(made, lambda here: None), (True, True))
        for attempt in (
                lambda here: [put(here, name, theirs, name) for name in [*forged, "head"]],
                lambda here: put(here, forged[0], theirs, chain[-1]),
                lambda here: os.unlink(os.path.join(here, chain[-1])),
                lambda here: put(here, "head", theirs, "head"),
                lambda here: os.rename(os.path.join(here, chain[0]), os.path.join(here, "x.json"))):
            self.assertEqual(self.judged(made, attempt), (False, False))
        # A shell's variable that is not set is no option that was not given.
        for option in ("--expect", "--folder", "--public-key"):
            code, _, err = made.worker.command("certificate", "verify", option, "")
            self.assertNotEqual(code, 0, option)
            self.assertIn("an empty value names nothing", err)

    def test_a_key_that_only_claims_to_be_endorsed_signs_nothing(self):
        made, state, chain = self.released()
        self.assertEqual(made.worker.stop(), 0)
        keys = {"host": os.path.join(state, "certificate.key")}
        for name in ("next", "evil"):
            keys[name] = os.path.join(self.folder, name)
            run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", keys[name]])
            run(["openssl", "pkey", "-in", keys[name], "-pubout", "-out", keys[name] + ".pub"])
        elsewhere = made.worker.command("certificate", "endorse", "--folder", self.folder,
                                        keys["next"] + ".pub")
        self.assertNotEqual(elsewhere[0], 0, "it is written into this host's chain, and no other")
        code, out, err = made.worker.command("certificate", "endorse", keys["next"] + ".pub")
        self.assertEqual(code, 0, out + err)
        folder = os.path.join(state, "certificates")
        *_, endorsement, _ = sorted(os.listdir(folder))

        def content(name, **changed):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                sealed = json.load(file)["sealed"]
            kind = "audit" if "audit" in sealed else "certificate"
            return kind, {**sealed[kind], "id": str(uuid.uuid4()), **changed}

        def public(name):
            with open(keys[name] + ".pub", encoding="ascii") as file:
                return file.read()

        def key_id(name):
            der = subprocess.run(["openssl", "pkey", "-pubin", "-in", keys[name] + ".pub",
                                  "-outform", "DER"], check=True, capture_output=True).stdout
            return hashlib.sha256(der).hexdigest()

        def append(here, claimed, signer, kind, said):
            """The chain's next, signed by one key in the name of another; and the head."""
            names = sorted(os.listdir(here))[:-1]
            with open(os.path.join(here, names[-1]), "rb") as file:
                previous = hashlib.sha256(file.read()).hexdigest()
            line = '{"sequence":%d,"previous":"%s","key_id":"%s","%s":%s}\n' % (
                len(names) + 1, previous, key_id(claimed), kind,
                json.dumps(said, separators=(",", ":")))
            path = os.path.join(self.folder, "line")
            with open(path, "w", encoding="utf-8") as file:
                file.write(line)
            signature = subprocess.run(
                ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", keys[signer], "-in", path],
                check=True, capture_output=True).stdout
            text = '{"sealed":\n%s,"signature":"%s"}\n' % (
                line, base64.b64encode(signature).decode())
            name = "%09d-%s.json" % (len(names) + 1, said["id"])
            for file_name, content in (
                    (name, text),
                    ("head", "%s  %s\n" % (hashlib.sha256(text.encode()).hexdigest(), name))):
                with open(os.path.join(here, file_name), "w", encoding="utf-8") as file:
                    file.write(content)
        erasure = [name for name in chain if content(name)[0] == "certificate"][-1]

        def forged(*links):
            """Whose key, of whose hand, vouches for his; then of a drive that was never erased."""
            def change(here):
                for claimed, signer, vouched_for in links:
                    append(here, claimed, signer, *(
                        content(endorsement, public_key=public(vouched_for)) if vouched_for else
                        content(erasure, serial="NEVER")))
            return change
        self.assertEqual(self.judged(made, lambda here: None), (True, True))
        # That he forges well: what the host's present key signs so is believed.
        self.assertEqual(self.judged(made, forged(("next", "next", ""))), (True, True))
        self.assertEqual(self.judged(made, forged(("next", "next", "evil"), ("evil", "evil", ""))),
                         (True, True))
        # The first links: by the key in whose place another was put.
        for links in ((("host", "host", ""),), (("host", "host", "evil"), ("evil", "evil", "")),
                      (("host", "evil", "evil"), ("evil", "evil", "")),
                      (("evil", "evil", "evil"), ("evil", "evil", "")),
                      (("next", "evil", "evil"), ("evil", "evil", "")),
                      (("next", "evil", ""),), (("host", "evil", ""),), (("evil", "evil", ""),)):
            self.assertEqual(self.judged(made, forged(*links)), (False, False), links)

        def without_the_erasure(here):
            """All from there on is signed again, by a key that he vouches for."""
            names = sorted(os.listdir(here))[:-1]
            for name in names[names.index(erasure):]:
                os.unlink(os.path.join(here, name))
            append(here, "host", "evil", *content(endorsement, public_key=public("evil")))
            for name in names[names.index(erasure) + 1:]:
                append(here, "evil", "evil", *content(name))
        self.assertEqual(self.judged(made, without_the_erasure), (False, False))

    def test_a_key_that_leaked_is_revoked(self):
        made, state, chain = self.released()
        self.assertEqual(made.worker.stop(), 0)
        key, first, new = (os.path.join(folder, name) for folder, name in (
            (state, "certificate.key"), (self.folder, "first.pub"), (self.folder, "new")))
        run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", new])
        run(["openssl", "pkey", "-in", new, "-pubout", "-out", new + ".pub"])
        shutil.copy(key + ".pub", first)

        def command(*arguments):
            code, out, err = made.worker.command("certificate", *arguments)
            self.assertEqual(code, 0, out + err)
        command("endorse", new + ".pub")
        for half in ("", ".pub"):
            os.replace(new + half, key + half)

        def revoked_from(number):
            command("revoke", first, "--from", str(number), "--reason", "leaked", "--yes")
            return self.judged(made, lambda here: None, public=first)
        # What it signed up to its endorsement of the new one counts; then nothing that it signed.
        self.assertEqual(revoked_from(len(chain) + 2), (True, True))
        self.assertEqual(revoked_from(len(chain)), (False, False))
        made.worker.start()
        made.worker.must_run()


if __name__ == "__main__":
    unittest.main(verbosity=2)
