#!/usr/bin/python3
"""What is in the way of a cleaning, and what an operator sees and says: the subcommands of the
shipped binary against real services."""
import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import unittest

from case import (DELETED, FIRST, LONG_MS, SECOND, SEED, EndToEnd, domain, services,
                  tear_down_services)
from placement_door import PlacementDoor
from qualify_case import Qualify  # noqa: F401  (its tests run here, with the same services)
from service_process import die_with_parent  # stack/, which services.py has put on the path
from waiting import DEADLINE_S, wait_until


def tearDownModule():
    tear_down_services()


class StandingInTheWay(EndToEnd):
    def test_a_drive_that_lies_stays_reserved_until_it_is_cleaned_for_real(self):
        made = self.setting(fault=",lies_keeps_data=1")
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assert_reserved(made)
        row = made.worker.devices()[FIRST]
        self.assertEqual(row["Device State"], "error")
        self.assertIn("old content is still there", row["Note"])
        # A colleague gives it back by hand.
        made.services.reserve(made.providers[FIRST], 0)
        made.worker.wait_until(lambda: made.reserved(FIRST) == 1, "it is reserved again")

        def told():
            _, out, _ = made.worker.command("status", "-f", "json")
            return [(line["address"], line["text"]) for line in
                    json.loads(out)["offered_dirty_24h"]]
        made.worker.wait_until(told, "status names it")
        self.assertEqual(told(), [(FIRST, "seen on offer while its state was error")])
        _, out, _ = made.worker.command("audit", "list", "-f", "json")
        events = [entry["Event"] for entry in json.loads(out)]
        self.assertIn("released_elsewhere", events)
        self.assertIn("reserved_again", events)
        made.worker.wait_until(lambda: made.worker.devices()[FIRST]["Device State"] == "error",
                               "an operator's word is still waited for")
        made.host.set(FIRST, lies_keeps_data=0)
        code, out, err = made.worker.command("device", "clean", FIRST)
        self.assertEqual(code, 0, err)
        self.assertIn("pending_cleaning", out)
        self.assert_released(made, sanitizes=2)

    def test_a_guest_that_is_still_there_is_waited_for(self):
        made = self.setting(survey_s=5)
        made.host.write("run/libvirt/qemu/guest.xml", domain(FIRST))
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        wait_until(lambda: "guest" in made.worker.devices()[FIRST]["Note"], "it says why it waits")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        made.host.remove("run/libvirt/qemu/guest.xml")
        self.assert_released(made)

    def test_reserved_by_an_operator_is_shown_as_held_and_left_alone(self):
        made = self.setting(survey_s=5)
        self.delete(made)
        self.assert_released(made)
        made.services.reserve(made.providers[FIRST], 1)
        wait_until(lambda: "held" in made.worker.devices()[FIRST]["Note"], "it is shown as held")
        surveys = made.worker.log_text().count("survey")
        self.assertEqual(made.worker.field(FIRST, "device_state"), "available")
        code, out, _ = made.worker.command("plan", "-f", "json")
        self.assertEqual((code, json.loads(out)[0]["Verdict"]), (0, "held"))
        self.assertEqual(made.host.sanitizes(FIRST), 1)
        self.assert_reserved(made)
        # Given back by the same hand, it is simply there again.
        made.services.reserve(made.providers[FIRST], 0)
        wait_until(lambda: "held" not in made.worker.devices()[FIRST]["Note"], "not held any more")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertGreaterEqual(made.worker.log_text().count("survey"), surveys)

    def test_maintenance_is_hands_off(self):
        made = self.setting(survey_s=5)
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "on")
        self.assertEqual(code, 0, err)
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        wait_until(lambda: "maintenance" in made.worker.devices()[FIRST]["Note"], "it says so")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "off")
        self.assertEqual(code, 0, err)
        self.assert_released(made)

        # A free one is out of the pool as long as it lasts, and given back as it is.
        erased = made.host.sanitizes(FIRST)
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "on")
        self.assertEqual(code, 0, err)
        self.assertEqual(made.reserved(FIRST), 1, "the command waits for it")
        self.assertIn("maintenance, reserved", made.worker.devices()[FIRST]["Note"])
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "off")
        self.assertEqual(code, 0, err)
        wait_until(lambda: made.reserved(FIRST) == 0, "it is given back")
        self.assertEqual(made.host.sanitizes(FIRST), erased)

    def test_what_no_entry_matches_any_more_is_let_go_by_an_operator(self):
        made = self.setting(fault=",lies_keeps_data=1", survey_s=5)
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "error")
        words = ("device", "disown", FIRST, "--reason", "it goes to the test rack")
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("a device_spec entry still matches it", err)
        made.worker.write_config(device_spec=json.dumps({"vendor_id": "ffff"}))
        made.worker.process.send_signal(signal.SIGHUP)
        made.worker.wait_log(r"reloaded: \d+ options changed")
        wait_until(lambda: "reclaim device disown" in made.worker.field(FIRST, "waiting_for"),
                   "the note names the remedy")
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 0, err)
        made.worker.wait_field(FIRST, "type", "SSD")
        self.assertEqual(made.worker.field(FIRST, "device_state"), "available")
        self.assertEqual(made.reserved(FIRST), 1)
        made.services.reserve(made.providers[FIRST], 0)
        self.assertIn("disowned", str(made.worker.journal()))
        code, out, err = made.worker.command("audit", "list", "-f", "json")
        self.assertEqual(code, 0, err)
        self.assertIn("it goes to the test rack", out)
        made.worker.kill()
        made.worker.start()
        self.assertEqual(made.reserved(FIRST), 0)

    def test_a_swapped_drive_is_an_error_until_it_is_enrolled(self):
        made = self.setting()
        made.host.set(FIRST, serial="ANOTHER")
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "error")
        note = made.worker.devices()[FIRST]["Note"]
        self.assertIn("ANOTHER", note)
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)
        # A shell's variable that is not set is no option that was not given.
        code, _, err = made.worker.command("device", "set", FIRST, "--enrol", "--serial", "")
        self.assertNotEqual(code, 0)
        self.assertIn("an empty value names nothing", err)
        self.assertEqual(made.worker.field(FIRST, "device_state"), "error")
        code, _, err = made.worker.command("device", "set", FIRST, "--enrol")
        self.assertEqual(code, 0, err)
        self.assert_released(made)
        self.assertEqual(made.worker.field(FIRST, "serial"), "ANOTHER")

    def test_a_new_drive_is_enrolled_before_its_first_tenant(self):
        made = self.setting()
        self.delete(made)
        self.assert_released(made)
        code, _, err = made.worker.command("device", "set", FIRST, "--enrol")
        self.assertEqual(code, 0, err)
        self.assert_released(made, sanitizes=2)


    def test_a_retired_drive_is_erased_certified_and_never_offered_again(self):
        made = self.setting(survey_s=5)
        self.delete(made)
        self.assert_released(made)
        code, _, err = made.worker.command("device", "retire", FIRST, "--as", "returned-to-vendor")
        self.assertNotEqual(code, 0)
        self.assertIn("--reason", err)
        code, _, err = made.worker.command("device", "retire", FIRST, "--as", "returned-to-vendor",
                                           "--reason", "case 4711")
        self.assertEqual(code, 0, err)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assertIn("case 4711", made.worker.devices()[FIRST]["Note"])
        self.assertEqual(made.host.sanitizes(FIRST), 2)
        self.assertEqual(made.reserved(FIRST), 1)
        made.worker.kill()
        made.services.redis("flushdb", db=made.db)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assertIn("case 4711", made.worker.devices()[FIRST]["Note"])
        self.assertEqual(made.reserved(FIRST), 1)
        self.assertEqual(made.host.sanitizes(FIRST), 2)


class Commands(EndToEnd):
    def test_list_show_and_plan_in_every_format(self):
        made = self.setting(drives=2)
        worker = made.worker
        _, out, _ = worker.command("device", "list")
        self.assertTrue(out.startswith("+---"), out)
        code, _, err = worker.command("device", "list", "--host", "compute-7")
        self.assertEqual((code, err), (1, "reclaim: Redis knows no worker of host 'compute-7'; "
                                          "known: %s\n" % worker.name))
        _, out, _ = worker.command("device", "list", "-f", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["Serial"] for row in rows], ["SERIAL1", "SERIAL2"])
        _, out, _ = worker.command("device", "list", "-f", "value", "-c", "Address",
                                   "-c", "Device State")
        self.assertEqual(out.splitlines()[0], FIRST + " allocated")
        _, out, _ = worker.command("device", "show", FIRST, "-f", "json")
        shown = json.loads(out)
        self.assertEqual(shown["instance"], DELETED)
        _, by_uuid, _ = worker.command("device", "show", shown["uuid"], "-f", "value",
                                       "-c", "address")
        self.assertEqual(by_uuid, FIRST + "\n")
        for name in ("nvme0", "/dev/nvme0", "nvme0n1", "/dev/nvme0n1", FIRST[6:]):
            _, out, _ = worker.command("device", "show", name)
            self.assertIn(FIRST + " of host " + worker.name, out)
            self.assertIn("what to do", out)
            self.assertNotIn("None", out)
            self.assertLessEqual(len(out.splitlines()), 15, out)
        _, out, _ = worker.command("device", "show", FIRST, "--all")
        self.assertNotRegex(out, r"\| (None|-1) ")
        made.free()
        self.look_without_redis(made)
        made.host.set(FIRST, estimate_crypto_s=36000)
        by_estimate = "[0-9]+ for the sanitize, by the drive's estimate"
        _, out, _ = worker.command("plan", "-f", "json")
        verdicts = {row["Address"]: row for row in json.loads(out)}
        self.assertEqual(verdicts[FIRST]["Verdict"], "clean")
        self.assertEqual(verdicts[FIRST]["Method"], "sanitize_crypto")
        self.assertRegex(verdicts[FIRST]["Time"], by_estimate)
        _, out, _ = worker.command("doctor", "-f", "json")
        self.assertRegex(out, "of %s, which may take longest, at most .*%s" % (FIRST, by_estimate))
        _, out, _ = worker.command("plan", "--guards", "-f", "json")
        self.assertGreaterEqual(len(json.loads(out)), 15)
        self.assertEqual({row["Result"] for row in json.loads(out)}, {"passed"})
        self.assertEqual(made.host.sanitizes(FIRST), 0)

    def test_a_host_is_paused_and_resumed(self):
        made = self.setting(survey_s=5, start=False)
        made.worker.write_config(more="labels = rack=7\n")
        made.host.set(FIRST, percentage_used=85)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        worker = made.worker
        code, _, err = worker.command("host", "pause", "--label", "rack=8", "--until", "06:00",
                                      "--reason", "power", "--yes")
        self.assertEqual(code, 1)
        self.assertIn("no worker says that its host has the label rack=8", err)
        code, out, err = worker.command("device", "list", "--worn")
        self.assertEqual((code, out), (0, ""), err)
        self.assertIn("of 1 drive no wear is known", err)
        code, out, err = worker.command("host", "resume", worker.name)
        self.assertEqual(code, 0, err)
        self.assertIn("it was not paused; cleanings begin as before", out)
        for until in ("8d", "tomorrow", "2020-01-01T00:00:00Z"):
            self.assertEqual(worker.command("host", "pause", worker.name, "--until", until,
                                            "--reason", "power")[0], 2)
        code, out, err = worker.command("host", "pause", "--label", "rack=7", "--until", "8h",
                                        "--reason", "power work", "--yes")
        self.assertEqual(code, 0, err)
        self.assertIn("no cleaning begins until", out)
        self.assertIn("status` shows it after the worker's next survey", out)
        self.delete(made)
        wait_until(lambda: "its host is paused until" in worker.devices()[FIRST]["Note"],
                   "it says who wants it so")
        self.assertIn("power work", worker.devices()[FIRST]["Note"])
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        code, out, _ = worker.command("status", "-f", "json")
        paused = json.loads(out)["paused"]
        self.assertEqual([row["host"] for row in paused], [worker.name], out)
        _, out, _ = worker.command("plan", "-f", "json")
        row = next(row for row in json.loads(out) if row["Address"] == FIRST)
        self.assertEqual(row["Verdict"], "wait")
        self.assertRegex(row["Why"], "^its host is paused until .*power work")
        _, _, err = worker.command("plan", "--guards")
        self.assertIn("nothing is cleaned now: its host is paused until", err)
        code, out, err = worker.command("host", "resume", worker.name)
        self.assertEqual((code, out), (0, "host %s: cleanings begin again\n" % worker.name), err)
        self.assert_released(made)
        for words, listed in (("--label rack=7", [FIRST]), ("--worn", [FIRST]), ("--worn 95", []),
                              ("--worn 85 --label rack=7", [FIRST])):
            code, out, err = worker.command("device", "list", *words.split(), "-f", "value", "-c",
                                            "Address")
            self.assertEqual((code, out.split()), (0, listed), err)
            self.assertNotIn("no wear is known", err)
        code, _, err = worker.command("device", "list", "--label", "rack=8")
        self.assertEqual(code, 1)
        self.assertIn("no worker says that its host has the label rack=8", err)

    def look_without_redis(self, made):
        """Nothing is said of what only the record tells, and that nothing is released is."""
        alone = made.make_worker("alone", redis_port=1)
        code, out, err = alone.command("plan", "-f", "json")
        verdicts = {row["Address"]: row["Verdict"] for row in json.loads(out)}
        self.assertEqual((code, verdicts), (1, {FIRST: "unknown", SECOND: "leave"}))
        self.assertIn("releases nothing", err)
        code, out, err = alone.command("status")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("releases nothing", err)

    def test_what_is_not_accepted_is_said(self):
        made = self.setting()
        for words, wanted, said in (
                (("device", "list", "-f", "xml"), 2, "xml"),
                (("device", "list", "-c", "Colour"), 2, "Colour"),
                (("device", "show", "0000:09:00.0"), 1, "no device '0000:09:00.0'"),
                (("device", "clean", FIRST), 1, "only a device in error"),
                (("device", "set", FIRST), 2, "--maintenance"),
                (("device", "set", FIRST, "--enrol"), 1, "is enrolled while it is available"),
                (("device", "set", FIRST, "--maintenance", "maybe"), 2, "maybe"),
                (("watch", "--timeout", "-1"), 2, "timeout"),
                (("nonsense",), 2, "nonsense"),
                (("devcie", "list"), 2, "did you mean 'device'?"),
                (("device", "list", "--al-hosts"), 2, "did you mean '--all-hosts'?"),
                (("device", "show", "SERIL1"), 1, "did you mean the serial number SERIAL1?"),
                (("device", "list", "-f", "jsno"), 2, "did you mean 'json'?"),
                (("device", "list", "--state", "eror"), 2, "did you mean 'error'?"),
                (("device", "list", "-c", "device_stat"), 2, "did you mean 'Device State'?"),
                (("device", "list", "--host", "c1", "--all-hosts"), 2, "not both"),
                (("device", "order", "withdraw", "first"), 2, "is not the ID of an order"),
                (("host", "resume"), 2, "no host is named"),
                (("qualify", "nvme0"), 2, "is not a PCI address"),
                (("certificate", "list", "--from", "monday"), 2, "neither a day"),
                (("doctor", "--sort-column", "Colour"), 2, "Colour"),
                (("machine", "--view", "main"), 2, "-f dot"),
                (("watch", "--label", "rack=8"), 1, "no worker says that its host has the label"),
                (("watch", "--host", "compute-7"), 1, "Redis knows no worker of host 'compute-7'"),
                (("device", "order", "list"), 0, "no order waits for host"),
                (("device", "nonsense"), 2, "nonsense"),
                (("plan", "--colour"), 2, "--colour"),
                (("device", "list", "-c", "Host", "extra"), 2, "extra"),
                ((), 2, "subcommand"),
                (("explain", "/nowhere/at/all"), 1, "/nowhere/at/all"),
                (("machine", "-f", "svg"), 2, "svg")):
            code, out, err = made.worker.command(*words)
            self.assertEqual((code, out), (wanted, ""), (words, err))
            self.assertIn(said, err, words)
        for words in (("--help",), ("device", "--help"), ("serve", "--help"), ("--version",)):
            code, out, _ = made.worker.command(*words)
            self.assertEqual(code, 0)
            self.assertRegex(out, "reclaim|Usage")

    def test_the_check_before_an_upgrade(self):
        made = self.setting()
        self.delete(made)
        self.assert_released(made)
        code, out, err = made.worker.command("upgrade", "check")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.count("Result: Success"), 7, out)
        made.worker.stop()
        made.services.redis("set", "reclaim:schema", "7", db=made.db)
        code, out, _ = made.worker.command("upgrade", "check", "--json")
        self.assertEqual(code, 2)
        results = {each["check"]: each["result"] for each in json.loads(out)["checks"]}
        self.assertEqual(results, {"Configuration": 0, "Redis layout": 2, "Ledger": 0,
                                   "Certificates": 0})

    def test_functions_that_redis_lacks_are_asked_for_until_an_operator_installs_them(self):
        made = self.setting()
        self.assertIn("are loaded on 1 server (library reclaim_", made.operator.install())
        self.addCleanup(made.operator.install)
        self.assertEqual(made.services.redis("function", "flush"), "OK")
        self.delete(made)
        made.worker.wait_log("run `reclaim redis install` with an operator's user")
        for words in (("redis", "install"), ("device", "list")):
            code, _, err = made.worker.command(*words)
            self.assertEqual(code, 1)
            self.assertIn("run `reclaim redis install` with an operator's user", err)
        _, out, _ = made.worker.command("doctor", "-f", "json")
        row, = [row for row in json.loads(out) if row["Check"] == "redis functions"]
        self.assertEqual(row["Result"], "error")
        code, out, _ = made.worker.command("upgrade", "check", "--json")
        self.assertEqual(code, 2)
        results = {each["check"]: each["result"] for each in json.loads(out)["checks"]}
        self.assertEqual(results["Redis functions"], 2)
        self.assert_reserved(made)
        made.operator.install()
        self.assert_released(made)

    def test_a_command_that_no_worker_hears_says_so(self):
        made = self.setting()
        made.worker.kill()
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "on")
        self.assertEqual(code, 1)
        self.assertIn("has not acted on it: check that it runs", err)
        made.free()

    def test_doctor_finds_what_is_broken(self):
        made = self.setting()
        code, out, _ = made.worker.command("doctor", "-f", "json")
        rows = json.loads(out)
        self.assertEqual(code, 0, out)
        # What is so on the machine that runs the tests is its own affair.
        ours = [row for row in rows
                if row["Check"] not in ("udev rules", "capabilities", "security", "unit")]
        self.assertEqual({row["Result"] for row in ours}, {"ok"}, out)
        self.assertIn("signing key", [row["Check"] for row in ours])
        # The services are on loopback, and Redis asks for a password.
        self.assertNotIn("security", [row["Check"] for row in rows])
        broken = made.make_worker("broken", transport_url="rabbit://guest:wrong@127.0.0.1:1/",
                                  redis_port=1, password="wrong")
        with open(os.path.join(broken.settings["state"], "certificate.key"), "w",
                  encoding="utf-8") as file:
            file.write("no key")
        os.chmod(file.name, 0o600)
        code, out, err = broken.command("doctor", "-f", "json")
        self.assertEqual(code, 1, err)
        failed = {row["Check"]: row for row in json.loads(out) if row["Result"] == "error"}
        self.assertLessEqual({"rabbitmq", "redis", "keystone", "signing key"}, set(failed))
        for row in failed.values():
            self.assertTrue(row["Remedy"], row)
        self.assertNotIn("wrong", out)
        made.free()

    def test_watch_shows_a_clean_and_ends_when_all_is_idle(self):
        made = self.setting()
        self.delete(made)
        code, out, err = made.worker.command("watch", "--from-start", "--until-idle",
                                             "--timeout", str(DEADLINE_S - 60))
        self.assertEqual(code, 0, err)
        for words in ("allocated -> pending_cleaning", "erasing -> verifying",
                      "releasing -> available"):
            self.assertIn(words, out)
        code, _, err = made.worker.command("watch", "--until-idle", "--timeout", "1")
        self.assertEqual(code, 1)
        self.assertIn("nothing more within 1 s", err)

    def test_config_check_sample_and_machine(self):
        made = self.setting(start=False)
        code, out, err = made.worker.command("config", "check")
        self.assertEqual((code, out.splitlines()[-1]), (0, "ok"), err)
        made.worker.write_config("[nvme]\ncleanup_tiemout = 5\n")
        code, out, err = made.worker.command("config", "check")
        self.assertEqual(code, 1)
        self.assertIn("cleanup_tiemout", err)
        self.assertIn(made.worker.config, err)
        code, _, err = made.worker.command("serve")
        self.assertEqual(code, 78)
        self.assertIn("cleanup_tiemout", err)
        _, sample, _ = made.worker.command("config", "sample")
        with open(os.path.join(os.path.dirname(__file__), "../../../config/reclaim.conf.sample"),
                  encoding="utf-8") as file:
            self.assertEqual(sample, file.read())
        for form, said in (("text", "pending_cleaning"), ("markdown", "| "), ("dot", "digraph")):
            code, out, _ = made.worker.command("machine", "-f", form)
            self.assertEqual(code, 0)
            self.assertIn(said, out)
        made.free()


class Many(EndToEnd):
    """Orders for several devices, and what is done with a host as a whole."""

    def order(self, made, *words, wanted=0):
        code, out, err = made.worker.command(*words)
        self.assertEqual(code, wanted, (words, out, err))
        return out + err

    def test_devices_are_chosen_by_their_state_and_followed_to_their_rest(self):
        made = self.setting(drives=2, fault=",lies_keeps_data=1")
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "error")
        failed = ("device", "clean", "--state", "error", "--all-hosts")
        said = self.order(made, *failed, "--dry-run")
        self.assertIn("clean: 1 of 1 device\n", said)
        self.assertIn("%s %s SERIAL1 error" % (made.name, FIRST), said)
        said = self.order(made, *failed, wanted=1)
        self.assertIn("give --yes", said)
        self.assertEqual(made.host.sanitizes(FIRST), 1)
        # It ends in error once more, and says so.
        said = self.order(made, *failed, "--yes", "--wait", wanted=1)
        self.assertRegex(said, FIRST + r": error \(req-[-0-9a-f]+\): .*old content")
        made.host.set(FIRST, lies_keeps_data=0)
        self.assertRegex(self.order(made, *failed, "-y", "--wait"), FIRST + ": available")
        self.assert_released(made, sanitizes=3)
        self.assertIn("no device is chosen", self.order(made, *failed, "-y"))
        # Of two that are named, one has nothing to be aborted: the other's order is the only one.
        said = self.order(made, "device", "abort", FIRST, SECOND, "--dry-run", wanted=1)
        self.assertIn("abort: 0 of 2 devices", said)
        self.assertIn("left out: %s is available; there is no cleaning to abort" % FIRST, said)
        for words, why in ((("device", "clean"), "no device is named"),
                           (("device", "clean", FIRST, "--state", "error"), "not both"),
                           (("device", "clean", FIRST, "--all-hosts"), "of one host"),
                           (("device", "set", FIRST, SECOND, "--enrol"), "name one device")):
            self.assertIn(why, self.order(made, *words, wanted=2))

    def test_a_host_is_drained_only_when_its_cleaning_is_over(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        code, out, err = made.worker.command("device", "set", FIRST, "--maintenance", "on")
        self.assertEqual(code, 0, err)
        self.assertIn("it takes effect when that is over", out)
        drain = subprocess.Popen(
            [made.worker.programs.reclaim, "--config-file", made.worker.config, "host", "drain",
             made.name, "--yes"], stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
            env=made.worker.environment())
        self.addCleanup(drain.kill)
        for line in drain.stdout:
            if "sanitize_crypto" in line:
                break
        self.assertIsNone(drain.poll())
        self.finish_sanitize(made)
        out, _ = drain.communicate(timeout=DEADLINE_S)
        self.assertEqual(drain.returncode, 0, out)
        self.assertIn("is drained", out)
        self.assertEqual(made.worker.field(FIRST, "maintenance"), "true")
        self.assert_reserved(made)

    def test_a_host_whose_worker_only_observes_is_not_called_drained(self):
        made = self.setting(start=False)
        made.worker.write_config("[reclaim]\nmode = observe\n")
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        code, out, err = made.worker.command("host", "drain", made.name, "--yes")
        self.assertEqual(code, 1, out)
        self.assertIn("observes ([reclaim] mode = observe) and reserves nothing", err)

    def test_a_host_is_drained_given_back_and_deleted(self):
        made = self.setting(drives=2, survey_s=5)
        self.delete(made)
        self.assert_released(made)
        said = self.order(made, "host", "drain", made.name, "--yes")
        self.assertIn("is drained: no device is on offer", said)
        self.assertIn("1 device is still allocated: move or delete its instance", said)
        self.assert_reserved(made)
        self.assertIn("nothing to do", self.order(made, "host", "drain", made.name))
        self.order(made, "host", "drain", made.name, "--end", "--yes")
        wait_until(lambda: made.reserved(FIRST) == 0, "it is given back")
        self.assertIn("known: " + made.name,
                      self.order(made, "host", "drain", "compute-7", wanted=1))
        delete = ("host", "delete", made.name, "--yes")
        code, _, err = made.operator.command(*delete)
        self.assertEqual(code, 1)
        self.assertIn("stop it there", err)
        self.assertEqual(made.worker.stop(), 0)
        code, out, err = made.operator.command(*delete)
        self.assertEqual(code, 0, err)
        self.assertIn("1 device of it is not clean", out)
        left = made.services.redis("--scan", "--pattern", "reclaim:*" + made.name + "*", db=made.db)
        self.assertNotRegex(left, r":(alive|machine|device|journal|kicks|metrics)")
        code, out, _ = made.operator.command("host", "list", "-f", "json")
        self.assertEqual((code, json.loads(out)), (0, []))
        # Its worker makes all of it again, and the drive that is not clean stays reserved.
        made.worker.start()
        made.worker.wait_field(SECOND, "device_state", "allocated")
        self.assertEqual(made.reserved(FIRST), 0)


class Observing(EndToEnd):
    """[reclaim] mode = observe, and then serve."""

    def test_it_says_what_it_would_do_and_does_it_when_it_serves(self):
        door = PlacementDoor(services().endpoints["placement_url"])
        self.addCleanup(door.shut_down)
        made = self.setting(start=False, survey_s=5)
        made.worker.settings["region"] += "\nendpoint_override = " + door.url
        observe = "[reclaim]\nmode = observe\n"
        made.worker.write_config(observe)
        _, out, _ = made.worker.command("config", "check")
        self.assertIn("MODE: observe", out)
        before = made.host.digest(FIRST, SEED)
        made.worker.start()
        made.worker.wait_log(r"mode = observe: no drive and nothing in Placement is written")
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        wait_until(lambda: "mode = observe: would clean it now: " in
                   made.worker.devices()[FIRST]["Note"], "it says what it would do")
        self.assertIn("sanitize_crypto", made.worker.devices()[FIRST]["Note"])
        code, _, err = made.worker.command("device", "abort", FIRST)
        self.assertEqual(code, 1, err)
        _, out, _ = made.worker.command("doctor", "-f", "json")
        told = {row["Check"]: row for row in json.loads(out)}
        self.assertEqual(told["mode"]["Result"], "warning")
        self.assertIn("mode = observe", told["worker"]["Detail"])
        code, out, _ = made.worker.command("status")
        self.assertEqual(code, 0, out)
        self.assertIn("1 host, 1 up (version 1 x ", out)
        self.assertIn("1 only observe", out)
        self.assertNotIn("maxclients", out)
        said = made.services.redis("info", "clients")
        taken = int(said.split("connected_clients:")[1].split()[0])
        made.services.redis("config", "set", "maxclients", str(taken + 1))
        out = made.worker.command("status")[1]
        made.services.redis("config", "set", "maxclients", "10000")
        self.assertRegex(out, r"connections of \d+: raise maxclients")
        self.assertEqual(door.written, [])
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assertEqual(made.host.digest(FIRST, SEED), before)
        self.assert_reserved(made)
        self.assertEqual(made.worker.stop(), 0)
        made.worker.write_config()
        watched = self.watch_status(made)
        made.worker.start()
        self.assert_released(made)
        wait_until(lambda: watched()[-3:] == [1, 1, 1], "who watches sees the cleaning")
        self.assertEqual(watched(), sorted(watched()), "each is counted once")
        self.assertEqual(door.reserved_written(made.providers[FIRST])[-1], 0)
        code, out, _ = made.worker.command("status", "-f", "json")
        status = json.loads(out)
        self.assertEqual((code, status["cleaned_24h"], status["devices"]["available"]), (0, 1, 1))
        self.assertEqual(status["bytes_given_back_24h"], 32 * 1024 * 1024)
        self.assertGreater(status["clean_seconds_p95"], 0)
        self.assertEqual(made.worker.stop(), 0)
        code, out, _ = made.worker.command("status")
        self.assertEqual(code, 3, out)
        self.assertIn("its worker was stopped: systemctl start reclaim", out)
        _, out, _ = made.worker.command("host", "list", "-f", "json")
        self.assertEqual([(row["Worker"], row["Mode"]) for row in json.loads(out)],
                         [("stopped", "serve")])


    def watch_status(self, made):
        """A function: the cleanings of the last day that each show of `status --watch` told."""
        path = os.path.join(made.worker.folder, "status")
        with open(path, "wb") as shown:
            watching = subprocess.Popen(
                [made.worker.programs.reclaim, "--config-file", made.worker.config,
                 "status", "--watch", "-f", "json"], stdout=shown, preexec_fn=die_with_parent)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.kill)

        def cleaned():
            with open(path, encoding="utf-8") as shown:
                return [int(each) for each in re.findall(r'"cleaned_24h": (\d+)', shown.read())]
        wait_until(cleaned, "it has shown the fleet once")
        self.assertEqual(cleaned()[0], 0)
        return cleaned


class ServiceManager(EndToEnd):
    def test_systemd_hears_when_it_is_ready_alive_and_stopping(self):
        made = self.setting(start=False)
        path = os.path.join(made.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(DEADLINE_S)
            made.worker.start(wait=False, NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
            said = ""
            while "READY=1" not in said or "WATCHDOG=1" not in said:
                said += manager.recv(4096).decode() + "\n"
            self.assertIn("STATUS=", said)
            made.worker.wait_log(r"reclaim\.service.* ready$")
            self.assertEqual(made.worker.stop(), 0)
            while "STOPPING=1" not in said:
                said += manager.recv(4096).decode() + "\n"
        _, out, _ = made.worker.command("doctor", "-f", "json")
        told = {row["Check"]: row["Detail"] for row in json.loads(out)}
        self.assertIn("it was stopped", told["worker"])
        made.free()


if __name__ == "__main__":
    unittest.main(verbosity=2)
