#!/usr/bin/python3
"""The main job end to end: the shipped binary, real services, the recorded Nova 2026.2 traffic, an
emulated drive."""
import datetime
import glob
import json
import os
import re
import time
import unittest

import bus
from case import (DELETED, FIRST, SECOND, SEED, EndToEnd, Setting, STAYING, tear_down_services)
from waiting import wait_until

REQUESTS_MAX = 8
CLOSE_WATCH_S = 2


def tearDownModule():
    tear_down_services()


class MainJob(EndToEnd):
    def test_recorded_traffic_gives_the_drive_of_the_deleted_instance_back_and_no_other(self):
        made = Setting(self, ["address=%s,serial=ONE,size=32M,duration_ms=300" % FIRST,
                              "address=%s,serial=TWO,size=32M,duration_ms=300" % SECOND])
        made.host.fill(FIRST, SEED)
        made.host.fill(SECOND, SEED + 1)
        made.register(FIRST, consumer=DELETED)
        made.register(SECOND, consumer=STAYING)
        self.addCleanup(made.free, STAYING)
        untouched = made.host.digest(SECOND, SEED + 1)
        made.worker.start()
        for address in (FIRST, SECOND):
            made.worker.wait_field(address, "device_state", "allocated")

        made.free()
        published = datetime.datetime.now(datetime.timezone.utc)
        made.publish(made.messages())

        self.assert_released(made)
        self.assertEqual(made.host.digest(SECOND, SEED + 1), untouched)
        self.assertEqual(made.host.sanitizes(SECOND), 0)
        self.assertEqual(made.reserved(SECOND), 1)
        self.assertEqual(made.worker.field(SECOND, "device_state"), "allocated")
        self.assertEqual(made.worker.field(FIRST, "instance"), "")  # its tenancy is over
        self.check_time_line(made, published)
        self.check_the_log_is_short(made)
        self.check_certificate(made)
        self.check_every_message_is_settled(made)
        self.check_what_was_measured(made)

    def check_time_line(self, made, published):
        code, out, err = made.worker.command("device", "show", FIRST, "--timeline", "-f", "json")
        self.assertEqual((code, err), (0, ""))
        moments = json.loads(out)
        steps = [row["Moment"] for row in moments if row["Moment"] != "step_done"]
        self.assertEqual(steps[1:], ["admitted", "guards_passed", "still_burned", "steps_done",
                                     "baseline_taken", "erased", "verified", "driver_restored",
                                     "look_ok", "released"])
        self.assertEqual(moments[0]["Took"], 0)
        self.assertAlmostEqual(sum(row["Took"] for row in moments), moments[-1]["Total"], places=6)
        self.assertEqual([row["At"] for row in moments], sorted(row["At"] for row in moments))
        seen = datetime.datetime.fromisoformat(moments[0]["At"].replace("Z", "+00:00"))
        print("From the first message, of which most are of no interest, until the drive was seen "
              "dirty: %.3f s" % (seen - published).total_seconds())
        for row in moments:
            print("  %s %8.3f %s" % (row["At"], row["Took"], row["Moment"]))
        code, out, err = made.worker.command("device", "show", SECOND, "--timeline", "-f", "json")
        self.assertEqual((code, json.loads(out)), (0, []))
        self.assertIn("has no cleaning of " + SECOND, err)

    def check_the_log_is_short(self, made):
        """One line a stage and step; the rest is in the certificate, and at DEBUG."""
        lines = [line for line in made.worker.log_text().splitlines() if FIRST in line]
        told = [line for line in lines if " INFO " in line]
        moved = [line for line in told if re.search(r" \w+ -> \w+ \(\w+\): ", line)]
        self.assertGreater(len(moved), 10)
        self.assertEqual(told, moved, "what is told besides the transitions")
        self.assertLess(len(told), 30)
        self.assertRegex("\n".join(lines), r" DEBUG reclaim\.guards .*passed")
        self.assertRegex("\n".join(lines), r" DEBUG reclaim\.nvme .*accepted by the drive")

    def check_what_was_measured(self, made):
        """Told within 15 s, for it is news."""
        duration = ("reclaim_cleaning_duration_seconds", "sanitize_crypto", "released")
        wait_until(lambda: sum(made.worker.measured().get(duration, [])[:-1]) == 1, duration)
        for wanted, number in ((("reclaim_steps_total", "nvme.check_health", "done"), 1),
                               (("reclaim_drive_used_ratio", FIRST), 0.01),
                               (("reclaim_drive_spare_ratio", FIRST), 1),
                               (("reclaim_drive_media_errors", FIRST), 0)):
            self.assertEqual(made.worker.measured().get(wanted), [number], wanted)

    def check_certificate(self, made):
        name = made.worker.field(FIRST, "certificate_id")
        folder = os.path.join(made.worker.settings["state"], "certificates")
        path, = glob.glob(os.path.join(folder, "*-%s.json" % name))
        with open(path, encoding="utf-8") as file:
            sealed = json.load(file)
        certificate = sealed["sealed"]["certificate"]
        self.assertEqual(certificate["serial"], "ONE")
        self.assertEqual(certificate["instance"], DELETED)
        self.assertEqual(certificate["method"], "sanitize_crypto")
        stored = made.services.redis("get", "reclaim:{%s}:certificate:%s" % (made.name, FIRST),
                                     db=made.db)
        self.assertEqual(json.loads(stored), sealed)
        self.check_the_seal(made, name, path)

    def check_the_seal(self, made, name, path):
        code, out, err = made.worker.command("certificate", "verify", "--all", name)
        self.assertEqual(code, 0, out + err)
        code, out, err = made.worker.command("certificate", "list", "-f", "json")
        self.assertEqual([row["ID"] for row in json.loads(out)], [name], err)
        code, out, _ = made.worker.command("certificate", "show", name, "-f", "json")
        self.assertEqual(json.loads(out)["serial"], "ONE")
        with open(path, "r+", encoding="utf-8") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace('"ONE"', '"TWO"'))
        code, out, _ = made.worker.command("certificate", "verify")
        self.assertEqual(code, 1)
        self.assertIn("signature does not fit: the certificate was changed", out)

    def check_every_message_is_settled(self, made):
        with made.services.bus() as connection:
            wait_until(lambda: connection.length("reclaim_" + made.name) == 0, "the queue is empty")
            self.assertEqual(connection.length("reclaim_%s_dead" % made.name), 0)

    def test_one_clean_takes_few_placement_requests(self):
        made = self.setting()
        before = len(made.services.requests())
        made.free()
        mine = len(made.services.requests())  # what this test asked for itself
        began = time.monotonic()
        made.publish(made.delete_messages())
        made.worker.wait_field(FIRST, "device_state", "available")
        requests = made.services.requests()[mine:]
        passed_s = time.monotonic() - began  # of all that was read
        self.assertGreater(mine, before)
        looks = self.looks_of_the_close_watch(requests)
        again = self.later_listings(requests)
        cleaning = len(requests) - looks - again
        print("Placement requests from kick to release: %d, and in %.0f s %d inventories for the "
              "close watch, %d listings for it and later surveys"
              % (cleaning, passed_s, looks, again))
        for request in requests:
            print("  %s %s -> %d" % request)
        # The close watch reads whole what was written to between two of its looks: two requests.
        written = sum(method == "PUT" for method, _, _ in requests)
        self.assertLessEqual(cleaning, REQUESTS_MAX + 2 * written)
        # However long it takes, on whatever machine: one an interval, and those at both ends.
        watching = passed_s / CLOSE_WATCH_S + 2
        self.assertLessEqual(looks, watching)
        # Of surveys each at most two, one a delay of the kick; the close watch lists as well.
        self.assertLessEqual(again, 2 * (passed_s / 5 + 1) + watching)
        # The release, and before it, once after a start, the write that keeps an older release
        # whose answer was lost from being made late.
        self.assertEqual([method for method, _, _ in requests].count("PUT"), 2)

    @staticmethod
    def looks_of_the_close_watch(requests):
        """Inventories that were read for themselves: neither with the allocations, as a survey
        reads them, nor to confirm a PUT, nor for the last look."""
        asked = [(method, path.rpartition("/")[2]) for method, path, _ in requests]
        written = [method for method, _ in asked].count("PUT")
        last_look = 1
        return (asked.count(("GET", "inventories")) - asked.count(("GET", "allocations")) - written
                - last_look)

    @staticmethod
    def later_listings(requests):
        """The close watch's, and those of surveys: a kick leads to more than one where the cleaning
        takes long enough; one after a PUT lists the traits again."""
        listed = ["?in_tree=" in path for _, path, _ in requests]
        return sum(listed[listed.index(False):])

    def test_a_notification_that_got_lost_is_made_up_for_by_the_survey(self):
        made = self.setting(survey_s=5)
        made.free()
        self.assert_released(made)

    def test_a_queue_of_novas_that_nobody_reads_is_told(self):
        made = self.setting(start=False)
        with made.services.bus() as connection:
            for queue in connection.declare_notifiers_queues():
                self.addCleanup(self.delete_queue, made, queue)
            connection.publish("nova", "notifications.error", "{}")
        made.worker.start()
        for queue, count in (("notifications.error", 1), ("versioned_notifications.info", 0)):
            of = ("reclaim_bus_unread_messages", queue)
            wait_until(lambda of=of, count=count: made.worker.measured().get(of) == [count], of)
        rows = json.loads(made.worker.command("doctor", "-f", "json")[1])
        told, = [row for row in rows if row["Check"] == "queues"]
        self.assertEqual(told["Result"], "warning", told)
        self.assertIn("nobody reads notifications.error (1 message, 0 consumers):", told["Detail"])
        self.assertIn("rabbitmqctl set_policy", told["Remedy"])
        made.free()

    @staticmethod
    def delete_queue(made, queue):
        with made.services.bus() as connection:
            connection.delete_queue(queue)

    def test_when_to_look_is_the_operators_option(self):
        made = self.setting(start=False)
        made.worker.write_config("survey_delays_s = 0,40\n")
        made.worker.start()
        # A host that announced itself once and has no worker now: what it is told stays to be read.
        made.services.redis("sadd", "reclaim:hosts", "elsewhere", db=made.db)
        made.services.redis("set", "reclaim:{elsewhere}:machine", "its-machine-id", db=made.db)
        made.publish([(exchange, key, body.replace(made.name, "elsewhere"))
                      for exchange, key, body in made.delete_messages()])
        kicks = wait_until(lambda: made.services.redis(
            "xrange", "reclaim:{elsewhere}:kicks", "-", "+", db=made.db), "the host is told")
        self.assertIn("0,40", kicks.splitlines())
        made.free()

    def test_messages_that_nobody_can_read_are_put_aside_without_their_context(self):
        made = self.setting()
        inner = json.dumps({"_context_auth_token": "gAAsecret", "event_type": 7})
        bodies = [json.dumps({"oslo.version": "2.0", "oslo.message": inner}),
                  "\xff\xfe not json _context_auth_token=gAAsecret"]
        made.publish([("nova", "notifications.info", body) for body in bodies])
        dead = []

        def collect():
            with made.services.bus() as connection:
                body = connection.take("reclaim_%s_dead" % made.name)
            if body is not None:
                dead.append(body)
            return len(dead) == len(bodies)
        wait_until(collect, "both are in the dead-letter queue")
        for body in dead:
            text = body if isinstance(body, str) else bytes(body).decode("utf-8", "replace")
            self.assertNotIn("_context_", text)
            self.assertNotIn("gAAsecret", text)
        self.assertNotIn("gAAsecret", made.worker.log_text())
        # And on: the next delete is heard.
        self.delete(made)
        self.assert_released(made)

    def test_recorded_kicks_are_those_that_explain_tells(self):
        made = self.setting(start=False)
        bodies = "".join(message[2] + "\n" for message in bus.recorded())
        code, out, _ = made.worker.command("explain", stdin=bodies)
        self.assertEqual(code, 0)
        verdicts = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(verdicts), 384)
        self.assertEqual({verdict["verdict"] for verdict in verdicts}, {"kick", "ignore"})
        made.free()


if __name__ == "__main__":
    unittest.main(verbosity=2)
