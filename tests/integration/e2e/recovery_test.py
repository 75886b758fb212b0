#!/usr/bin/python3
"""What must not break the promise, end to end: crashes and stops in the middle of an erase, Redis,
Placement and RabbitMQ going away and coming back, a provider that Nova re-created."""
import json
import os
import shutil
import signal
import subprocess
import unittest

import jsonschema

import bus
from black_hole import BlackHole
from case import DELETED, FIRST, LONG_MS, SEED, EndToEnd, domain, services, tear_down_services
from placement_door import PlacementDoor
from services import ROOT, STACK
from service_process import die_with_parent  # stack/, which services.py has put on the path
from waiting import wait_until
from worker import EmulatedHost, Programs, Worker


def tearDownModule():
    tear_down_services()


class Interrupted(EndToEnd):
    def test_a_killed_worker_adopts_the_sanitize_that_goes_on_in_the_drive(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        made.worker.kill()
        self.assertEqual(made.host.sanitize_status(FIRST), 2)
        made.worker.start()
        made.worker.wait_log(r"still_burned_adopt")
        self.wait_erasing(made)
        self.assert_reserved(made)
        self.finish_sanitize(made)
        self.assert_released(made, sanitizes=1)
        certificate = json.loads(made.services.redis(
            "get", "reclaim:{%s}:certificate:%s" % (made.name, FIRST),
            db=made.db))["sealed"]["certificate"]
        self.assertTrue(certificate["evidence"]["adopted"])
        self.assertGreater(certificate["verification"]["samples_counted"], 0)

    def test_a_killed_worker_repeats_what_it_told_the_bus_by_the_same_id(self):
        made = self.setting(start=False)
        queue = "told_" + made.name
        made.worker.write_config("[notifications]\ndriver = messagingv2\nexchange = %s\n" % queue)
        with made.services.bus() as connection:
            connection.bind_queue(queue, queue, ["versioned_notifications.info",
                                                 "versioned_notifications.error"])
        # What is confirmed cannot be removed from the outbox; kicks and orders can.
        user, keys = "reclaim-" + made.name, "reclaim:{%s}:" % made.name
        made.services.redis("acl", "setuser", user, "-xdel",
                            "(~%skicks ~%sorders +xdel)" % (keys, keys))
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "on")
        self.assertEqual(code, 0, err)
        made.worker.wait_log("published notifications cannot be removed")
        made.worker.kill()
        made.services.redis("acl", "setuser", user, "+xdel")
        # Another client's: never published.
        made.services.redis("xadd", keys + "outbox", "*", "event", "device.release.end",
                            "priority", "info", "message", "{}", "mac", "00", db=made.db)
        made.worker.start()
        made.worker.wait_log("1 entries of the outbox were not posted by this host's worker")
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "off")
        self.assertEqual(code, 0, err)
        self.delete(made)
        self.assert_released(made)
        wait_until(lambda: made.services.redis("xlen", keys + "outbox", db=made.db) == "0",
                   "all is published")
        _, out, _ = made.worker.command("doctor")
        self.assertIn("'%s' of the notifications there" % queue, out)
        with made.services.bus() as connection:
            told = [bus.inner(body) for body in iter(lambda: connection.take(queue), None)]
            connection.delete_queue(queue)
        with open(os.path.join(ROOT, "docs/notifications.schema.json"), encoding="utf-8") as file:
            schema = jsonschema.Draft4Validator(json.load(file))
        for message in told:
            schema.validate(message)
        self.assertEqual([message["event_type"] for message in told],
                         ["device.maintenance.set", "device.maintenance.set",
                          "device.maintenance.set", "device.clean.start", "device.clean.end",
                          "device.release.end"])
        self.assertEqual(told[0], told[1])
        self.assertEqual(len({message["message_id"] for message in told}), len(told) - 1)
        release = told[-1]["payload"]["reclaim_object.data"]
        self.assertEqual(release["certificate_id"], made.worker.field(FIRST, "certificate_id"))
        self.assertEqual(release["instance_uuid"], DELETED)
        self.assertEqual(release["provider_uuid"], made.providers[FIRST])

    def test_a_planned_stop_leaves_the_drive_to_itself_and_goes_on_after_the_start(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        self.assertEqual(made.worker.stop(), 0)
        self.assertIn("planned_stop", [entry["trigger"] for entry in made.worker.journal()])
        self.assertEqual(made.services.redis(
            "exists", "reclaim:{%s}:lock:%s" % (made.name, FIRST), db=made.db), "0")
        self.assert_reserved(made)
        made.worker.start()
        made.worker.wait_log(r"still_burned_adopt")
        self.finish_sanitize(made)
        self.assert_released(made, sanitizes=1)

    def test_a_sanitize_that_ended_while_nobody_looked_is_done_again(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        made.worker.kill()
        self.finish_sanitize(made)
        made.host.set(FIRST, duration_ms=300)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "available")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")

    def test_interrupted_cleaning_error_leaves_it_to_an_operator(self):
        made = self.setting(duration_ms=LONG_MS)
        made.worker.write_config("[recovery]\ninterrupted_cleaning = error\n")
        self.delete(made)
        self.wait_erasing(made)
        made.worker.kill()
        made.worker.start(wait=False)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assert_reserved(made)


class InterruptedSteps(EndToEnd):
    """What goes on in no drive by itself: a zeroing from its last mark, all else starts over."""

    def spec(self, **rules):
        return json.dumps({"vendor_id": "144d", "product_id": "a80a", **rules})

    def zeroing(self, until):
        """A zeroing of minutes, as far as `until` says."""
        made = self.setting(fault=",sanicap=none",
                            device_spec=self.spec(clear_action="zero", zero_rate="128K"))
        self.delete(made)
        made.worker.wait_field(FIRST, "clean_step", "nvme.write_zeroes")
        wait_until(lambda: until(made), "it zeroes")
        return made

    def marked(self, made):
        with open(os.path.join(made.worker.settings["state"], "ledger"), encoding="utf-8") as file:
            return "zero_mark" in file.read()

    def next_worker(self, made):
        self.assert_reserved(made)
        made.worker.write_config(device_spec=self.spec(clear_action="zero"))
        made.worker.start()
        self.assert_released(made, sanitizes=0)
        evidence = self.certificate(made)["evidence"]
        self.assertEqual(evidence["bytes_zeroed"], 32 << 20)
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")
        return evidence

    def assert_went_on(self, made, evidence):
        self.assertTrue(0 < evidence["resumed_at_bytes"] < 32 << 20, evidence)
        self.assertTrue(evidence["adopted"])
        triggers = [entry["trigger"] for entry in made.worker.journal()]
        self.assertEqual(triggers.count("guards_passed"), 2, triggers)
        for once in ("baseline_taken", "still_burned_adopt", "erased", "verified", "released"):
            self.assertEqual(triggers.count(once), 1, triggers)

    def test_zeroing_whose_worker_was_killed_goes_on(self):
        made = self.zeroing(until=self.marked)
        made.worker.kill()
        self.assert_went_on(made, self.next_worker(made))
        made.worker.wait_log(r"which read back as zeroes")

    def test_zeroing_whose_worker_was_stopped_goes_on(self):
        made = self.zeroing(
            until=lambda made: float(made.worker.field(FIRST, "progress") or 0) > 3)
        made.worker.stop()
        self.assert_went_on(made, self.next_worker(made))

    def test_zeroing_starts_over_where_another_wrote_meanwhile(self):
        made = self.zeroing(until=self.marked)
        made.worker.kill()
        made.host.set(FIRST, host_writes=10_000_000)
        evidence = self.next_worker(made)
        self.assertNotIn("resumed_at_bytes", evidence)
        self.assertFalse(evidence["adopted"])
        self.assert_verified_once_from_the_first_step(made)
        self.assertIn("somebody else wrote", json.dumps(
            [entry for entry in made.worker.journal() if entry["trigger"] == "nothing_to_adopt"]))

    def test_a_clean_step_that_was_killed_in_the_middle_starts_over(self):
        made = self.setting(duration_ms=LONG_MS)
        made.host.set(FIRST, sstat=3)  # and so the step sanitizes, which takes its time
        self.delete(made)
        made.worker.wait_field(FIRST, "clean_step", "nvme.recover_sanitize")
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the step's sanitize runs")
        made.worker.kill()
        self.assert_reserved(made)
        made.worker.start()
        made.worker.wait_log(r"a sanitize is running already")
        self.assert_reserved(made)
        made.host.set(FIRST, duration_ms=300)
        self.finish_sanitize(made)
        # The step's own is not an erasure of ours: that comes after it.
        self.assert_released(made, sanitizes=2)
        self.assertFalse(self.certificate(made)["evidence"]["adopted"])
        self.assert_verified_once_from_the_first_step(made)

    def certificate(self, made):
        return json.loads(made.services.redis(
            "get", "reclaim:{%s}:certificate:%s" % (made.name, FIRST),
            db=made.db))["sealed"]["certificate"]

    def assert_verified_once_from_the_first_step(self, made):
        triggers = [entry["trigger"] for entry in made.worker.journal()]
        self.assertEqual(triggers.count("guards_passed"), 2, triggers)
        since = triggers[len(triggers) - 1 - triggers[::-1].index("guards_passed"):]
        wanted = ["step_done", "steps_done", "baseline_taken", "erased", "verified", "released"]
        places = [since.index(trigger) for trigger in wanted]
        self.assertEqual(places, sorted(places), since)
        self.assertEqual(triggers.count("verified"), 1)
        self.assertEqual(triggers.count("released"), 1)


class RedisAway(EndToEnd):
    def test_nothing_is_released_before_the_record_is_durable(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        made.services.kill_redis()
        try:
            self.finish_sanitize(made)
            made.worker.wait_log(r"record cannot be written")
            self.assert_reserved(made)
        finally:
            made.services.start_redis()
        self.assert_released(made)

    def test_the_ledger_knows_what_an_empty_redis_forgot(self):
        made = self.setting()
        # A guest's definition keeps it dirty for as long as the test needs.
        made.host.write("etc/libvirt/qemu/guest.xml", domain(FIRST))
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        made.worker.kill()
        made.services.redis("flushdb", db=made.db)
        # What nova-compute does when the device vanished for a moment: a provider from scratch.
        placement = made.services.placement()
        placement.call("DELETE", "/resource_providers/" + made.providers[FIRST])
        made.register(FIRST, reserved=0)
        made.worker.write_config(survey_s=5)
        made.worker.start()
        wait_until(lambda: made.reserved(FIRST) == 1, "the ledger has it reserved again")
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        made.host.remove("etc/libvirt/qemu/guest.xml")
        self.assert_released(made)


class Tenants(EndToEnd):
    """Whose tenancy it is, by what a real Placement shows."""
    NEXT = "7c1f9e57-2d6c-4c43-9b0c-2f0a6d1e5b11"
    MIGRATION = "8d2a0f68-3e7d-4d54-8c1d-3a1b7e2f6c22"

    def setUp(self):
        self.addCleanup(self.free_all)

    @staticmethod
    def free_all():
        placement = services().placement()
        for consumer in (DELETED, Tenants.NEXT, Tenants.MIGRATION):
            if placement.call("GET", "/allocations/" + consumer)["allocations"]:
                placement.free(consumer)

    def test_a_drive_that_the_next_tenant_got_unerased_is_told_everywhere(self):
        made = self.setting(survey_s=5)
        made.worker.stop()
        made.free()
        placement = made.services.placement()
        placement.call("DELETE", "/resource_providers/" + made.providers[FIRST])
        made.register(FIRST, consumer=self.NEXT)
        made.worker.start()
        made.worker.wait_log("%s although %s had it, and nobody erased it since" %
                             (self.NEXT, DELETED))
        made.worker.wait_field(FIRST, "instance", self.NEXT)
        made.worker.wait_log(r"allocated -> allocated \(passed_on\)")
        self.assertIn("not known to be clean", made.worker.field(FIRST, "last_error"))
        _, out, _ = made.worker.command("status", "-f", "json")
        self.assertEqual([line["address"] for line in json.loads(out)["attention"]], [FIRST])
        self.assertIn("not known to be clean", made.worker.devices()[FIRST]["Note"])
        self.assert_reserved(made)
        made.free(self.NEXT)
        self.assert_released(made)
        self.assertEqual(made.certificate(FIRST)["instance"], self.NEXT)
        code, out, _ = made.worker.command("certificate", "verify")
        self.assertEqual(code, 2, out)
        self.assertRegex(out, "(?i)unerased")

    def test_a_migration_is_the_tenancy_of_its_instance(self):
        made = self.setting(survey_s=5)
        # Placement before 2025.2 counts what is reserved as used; Nova reserves it again.
        made.services.reserve(made.providers[FIRST], 0)
        made.services.placement().move(DELETED, self.MIGRATION)
        made.services.reserve(made.providers[FIRST], 1)
        made.services.register(made.name + "-elsewhere", FIRST, consumer=DELETED)
        made.worker.wait_field(FIRST, "migration", self.MIGRATION)
        self.assertEqual(made.worker.field(FIRST, "instance"), DELETED)
        made.free(self.MIGRATION)
        made.publish(made.delete_messages())
        self.assert_released(made)
        certificate = made.certificate(FIRST)
        self.assertEqual((certificate["instance"], certificate["migration"],
                          certificate["project"], certificate["user"], certificate["schema"]),
                         (DELETED, self.MIGRATION, "demo", "demo", 2))
        self.assertNotIn("not known to be clean", made.worker.log_text())
        self.assertEqual(made.worker.command("certificate", "verify")[0], 0)


class PlacementAway(EndToEnd):
    def test_a_release_waits_for_placement_to_come_back(self):
        door = PlacementDoor(self.endpoint())
        self.addCleanup(door.shut_down)
        made = self.setting(duration_ms=LONG_MS, start=False)
        made.worker.settings["region"] += "\nendpoint_override = " + door.url
        made.worker.write_config()
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.delete(made)
        self.wait_erasing(made)
        door.closed = True
        self.finish_sanitize(made)
        wait_until(lambda: door.refused >= 3, "it was asked for again and again")
        made.worker.wait_log(r"placement_away")
        self.assert_reserved(made)
        self.assertEqual(made.worker.field(FIRST, "device_state"), "cleaning")
        door.closed = False
        self.assert_released(made)

    def endpoint(self):
        return services().endpoints["placement_url"]


class BrokerAway(EndToEnd):
    def test_after_a_restart_of_the_broker_the_next_delete_is_heard(self):
        made = self.setting()
        made.services.stop_broker()
        made.worker.wait_log(r"RabbitMQ")
        made.services.start_broker()
        with made.services.bus() as connection:
            connection.declare_exchange()  # not durable: Nova makes it again, and so do we
        made.free()

        def heard():
            made.publish(made.delete_messages())
            made.worker.must_run()
            return made.worker.field(FIRST, "device_state") != "allocated"
        wait_until(heard, "the delete is heard")
        self.assert_released(made)

    def test_a_planned_stop_waits_for_no_broker_that_swallows_packets(self):
        hole = BlackHole()
        self.addCleanup(hole.close)
        made = self.setting(duration_ms=LONG_MS, start=False, survey_s=5,
                            transport_url="rabbit://guest:guest@127.0.0.1:%d/" % hole.port)
        made.worker.start(wait=False)
        made.worker.wait_field(FIRST, "device_state", "allocated")
        made.free()  # which no notification tells: the survey does
        self.wait_erasing(made)
        lock = "reclaim:{%s}:lock:%s" % (made.name, FIRST)
        self.assertEqual(made.services.redis("exists", lock, db=made.db), "1")
        # An attempt that has just begun goes on for ten seconds.
        before = hole.connecting()
        wait_until(lambda: hole.connecting() - before, "it connects again")
        self.assertEqual(made.worker.stop(), 0)
        self.assertIn("planned_stop", [entry["trigger"] for entry in made.worker.journal()])
        self.assertEqual(made.services.redis("exists", lock, db=made.db), "0")
        self.assert_reserved(made)
        self.assertRegex(made.worker.log_text(), r"RabbitMQ at 127.0.0.1:%d .*firewall" % hole.port)
        self.assertNotIn("not stopped within", made.worker.log_text())
        self.assertRegex(made.worker.log_text(), r"reclaim\.service.* stopped$")


class OneWorker(EndToEnd):
    def test_a_second_worker_on_the_machine_is_refused(self):
        made = self.setting()
        code, _, err = made.worker.command("serve")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"another|holds|running")

    def test_another_machine_with_the_same_host_name_cleans_nothing(self):
        made = self.setting()
        made.host.write("etc/libvirt/qemu/guest.xml", domain(FIRST))
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        made.worker.kill()
        made.host.remove("etc/libvirt/qemu/guest.xml")
        made.host.write("etc/machine-id", "ffffffffffffffffffffffffffffffff\n")
        before = made.worker.field(FIRST, "epoch")
        copied = made.make_worker("copied")
        self.addCleanup(copied.kill)
        copied.start(wait=False)
        copied.wait_log(r"nothing is read, written or cleaned.*machine")
        # The books are the other machine's: not even a remark may be written into them.
        self.assertEqual(made.worker.field(FIRST, "epoch"), before)
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)

    def test_a_cloned_host_starts_with_nothing(self):
        """Its disk has the first host's ledger, keys and certificates."""
        made = self.setting()
        self.delete(made)
        self.assert_released(made)
        host = EmulatedHost(Programs(), os.path.join(made.folder, "cloned-host"),
                            ["address=%s,serial=ITSOWN,size=32M" % FIRST])
        host.write("etc/machine-id", "c" * 32 + "\n")
        with open(os.path.join(made.host.root, "etc/machine-id"), encoding="ascii") as file:
            first_id = file.read().strip()
        name = made.name + "-cloned"
        row = made.services.register(name, FIRST, reserved=0)
        host.write("var/lib/nova/compute_id", row["root_uuid"] + "\n")
        cloned = Worker(Programs(), made.services, host, name,
                        os.path.join(made.folder, "cloned"), db=made.db)
        self.addCleanup(cloned.kill)
        first, copy = made.worker.settings["state"], cloned.settings["state"]
        shutil.copytree(first, copy, dirs_exist_ok=True)
        made_there = set(os.listdir(copy))
        code, out, _ = cloned.command("doctor")
        self.assertIn("is a copy of %s's" % made.name, out)
        cloned.start()
        cloned.wait_log(r"WARNING reclaim.ledger .* is a copy of %s's .* starts with nothing"
                        % made.name)
        self.assertEqual(cloned.certificates(), [])
        self.assertEqual(set(os.listdir(os.path.join(copy, "other-machine-" + first_id))),
                         made_there - {"ledger.lock"})
        for key in ("host.key", "certificate.key.pub"):
            with open(os.path.join(first, key), encoding="ascii") as theirs, \
                    open(os.path.join(copy, key), encoding="ascii") as own:
                self.assertNotEqual(own.read(), theirs.read(), key)
        self.assertEqual(cloned.stop(), 0)
        # Under the first host's name nobody can tell which of the two it is.
        made.worker.kill()
        made.host.write("etc/machine-id", "d" * 32 + "\n")
        code, _, err = made.worker.command("serve")
        self.assertEqual(code, 1)
        self.assertIn("remove %s/machine" % first, err)
        os.unlink(os.path.join(first, "machine"))
        made.services.redis("del", "reclaim:{%s}:machine" % made.name, db=made.db)
        made.worker.start()
        self.assertEqual(made.worker.command("certificate", "verify")[0], 0)


class Failover(EndToEnd):
    """The fleet's Redis is a master with a replica, and a sentinel that may replace it."""

    def start_redis(self, name, *words):
        folder = os.path.join(self.made.folder, name)
        os.makedirs(folder)
        process = subprocess.Popen([os.path.join(STACK, "redis.sh"), words[0], folder, *words[1:]],
                                   preexec_fn=die_with_parent)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        redis = Redis(folder, process)
        wait_until(lambda: redis.says("ping") == "PONG", name + " answers")
        return redis

    def start(self):
        self.made = self.setting(duration_ms=LONG_MS, start=False)
        self.master = self.start_redis("master", "run")
        self.replica = self.start_redis("replica", "run", "--replicaof",
                                        "127.0.0.1 %d" % self.master.port())
        wait_until(lambda: "state=online" in self.master.says("info", "replication"), "a replica")
        self.sentinel = self.start_redis("sentinel", "sentinel", str(self.master.port()), "1")
        wait_until(lambda: "slave" in self.sentinel.says("sentinel", "replicas", "cloud"),
                   "the sentinel knows the replica")
        self.made.worker.write_config("[redis]\nurl = redis+sentinel://127.0.0.1:%d/cloud\n" %
                                      self.sentinel.port())
        self.made.worker.start()
        self.wait_state("allocated")

    def wait_state(self, state):
        worker = self.made.worker
        wait_until(lambda: worker.devices().get(FIRST, {}).get("Device State") == state, state)

    def test_a_failover_that_loses_the_last_writes_releases_nothing_dirty(self):
        self.start()
        made = self.made
        # Nothing of what follows reaches the replica: neither the lock nor that it is erased.
        self.replica.process.send_signal(signal.SIGSTOP)
        self.delete(made)
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the drive sanitizes")
        self.master.process.kill()
        self.replica.process.send_signal(signal.SIGCONT)
        wait_until(lambda: "role:master" in self.replica.says("info", "replication"),
                   "the replica is the master")
        made.worker.wait_log(r"connected to Redis at 127\.0\.0\.1:%d/0" % self.replica.port())
        self.assert_reserved(made)
        self.assertNotEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")
        wait_until(lambda: self.ends_erase(), "it is released")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")
        code, out, err = made.worker.command("certificate", "verify", "--all")
        self.assertEqual(code, 0, out + err)

    def ends_erase(self):
        """Whichever is running: the one that was begun, or another."""
        if self.made.host.sanitize_status(FIRST) == 2:
            self.finish_sanitize(self.made)
        return self.made.worker.devices()[FIRST]["Device State"] == "available"


class Redis:
    def __init__(self, folder, process):
        self.folder = folder
        self.process = process

    def port(self):
        with open(os.path.join(self.folder, "redis.port"), encoding="ascii") as file:
            return int(file.read())

    def says(self, *words):
        return subprocess.run(["redis-cli", "-s", os.path.join(self.folder, "redis.sock"), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout.strip()


if __name__ == "__main__":
    unittest.main(verbosity=2)
