#!/usr/bin/python3
"""Clean steps of an operator's own, as real child processes of the shipped worker: the examples
that ship, holds, cleanings that an operator starts, and what becomes of a step that fails."""
import json
import os
import shutil
import signal
import time
import unittest

from case import FIRST, EndToEnd, tear_down_services
from waiting import wait_until
from worker import commands_folder

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "examples", "steps")
# The tool that mlx-firmware asks, as far as it asks: a card is a file with a version.
MSTFLINT = """#!/usr/bin/python3
import sys
words = [word for word in sys.argv[1:] if word != "-y"]
card, image = "%(folder)s/card", "%(folder)s/image"
source = image if words[0] == "-i" else card
if words[-1] == "query":
    print("FW Version:        %%s" %% open(source).read().strip())
    print("PSID:              MT_0000000012")
elif words[-1] == "burn":
    open(card, "w").write(open(image).read())
"""


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("commands have to be root's: run it as root")


def tearDownModule():
    tear_down_services()


class OwnSteps(EndToEnd):
    def setUp(self):
        self.folder = commands_folder(self)

    def script(self, name, body):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(body if body.startswith("#!") else "#!/bin/sh\n" + body)
        os.chmod(path, 0o755)
        return path

    def example(self, name):
        return shutil.copy(os.path.join(EXAMPLES, name), self.folder)

    def with_steps(self, text, **settings):
        made = self.setting(start=False, **settings)
        made.worker.write_config("\n" + text)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        return made

    def section(self, name, command, priority=60, **more):
        lines = ["[step:%s]" % name, "command = %s" % command, "priority = %d" % priority]
        return "\n".join(lines + ["%s = %s" % pair for pair in more.items()]
                         + ["devices = {}", ""])

    def findings(self, made):
        return json.loads(made.worker.field(FIRST, "findings"))

    def order_as(self, made, user, *words):
        os.environ["SUDO_USER"] = user
        try:
            return made.worker.command(*words)
        finally:
            del os.environ["SUDO_USER"]

    def test_the_examples_run_before_the_erase_and_after_the_verification(self):
        for name, text in (("card", "22.1.1\n"), ("image", "22.36.10\n")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        tool = self.script("mstflint", MSTFLINT % {"folder": self.folder})
        cleaner = self.script("cleaner", 'echo "cleaning $1 of $2" >&2; echo "$1 $2" > %s/told\n'
                              % self.folder)
        mirror, sent = self.folder + "/mirror", self.folder + "/sent"
        send = self.script("send", 'test -e %s/mended || exit 1; cp "$1" %s/\n'
                           % (self.folder, sent))
        made = self.with_steps(
            "[certificates]\nmirror_dir = %s\nmirror_command = %s\n" % (mirror, send)
            + self.section("firmware", self.example("mlx-firmware"), interface="firmware",
                         args=json.dumps({"image": self.folder + "/image", "tool": tool}))
            + self.section("nova", self.example("generic-cmd"), 40, stage="after",
                           args=json.dumps({"cmd": cleaner}))
            + self.section("scrub", self.example("vendor-scrub"), 30, stage="after",
                           args=json.dumps({"scrub": ["/bin/echo", "{address}"]})))
        self.delete(made)
        self.assert_released(made)
        with open(self.folder + "/card", encoding="utf-8") as card:
            self.assertEqual(card.read(), "22.36.10\n")
        with open(self.folder + "/told", encoding="utf-8") as told:
            self.assertEqual(told.read(), "%s %s\n" % (FIRST, made.providers[FIRST]))
        found = self.findings(made)
        self.assertIn("burned; it runs", str(found["firmware.firmware"]))
        surfaces = {finding["surface"] for finding in found["operator.nova"]}
        self.assertLessEqual({"command", "args", "time", "result"}, surfaces)
        self.assertIn("cleaning %s of" % FIRST, made.worker.log_text())
        plan = [step["step"] for step in json.loads(made.worker.field(FIRST, "plan"))]
        self.assertEqual(plan[-3:], ["sanitize_crypto", "nova", "scrub"])
        code, out, err = made.worker.command("certificate", "list", "-f", "json")
        self.assertEqual(code, 0, err)
        identifier = json.loads(out)[0]["ID"]
        code, out, err = made.worker.command("certificate", "show", identifier, "-f", "json")
        self.assertEqual(code, 0, err)
        self.assertIn("sha256:", str(json.loads(out)["findings"]["firmware.firmware"]))
        self.assert_mirrored(made, mirror, sent)

    def assert_mirrored(self, made, mirror, sent):
        """Neither way worked while the drive was released; both are made up for."""
        made.worker.wait_log("WARNING.*entries of the chain are not mirrored")
        rows = json.loads(made.worker.command("doctor", "-f", "json")[1])
        told = [row for row in rows if row["Check"] == "certificate mirror"]
        self.assertIn("No such file", str(told))
        # The journal's entries wait with the certificate.
        self.assertRegex(str(told), r"\b[2-9]\d* entries are not there yet: %s/send" % self.folder)
        for path in (mirror, sent, self.folder + "/mended"):
            os.mkdir(path)
        chain = os.path.join(made.worker.settings["state"], "certificates")
        copy = os.path.join(mirror, made.name)

        def mirrored():
            sealed = sorted(name for name in os.listdir(chain) if name.endswith(".json"))
            return (os.path.isdir(copy) and sorted(os.listdir(copy)) == sealed + ["head"]
                    and sorted(os.listdir(sent)) == sealed)
        made.worker.wait_until(mirrored, "the copies of all that is sealed")
        made.worker.wait_log("mirror has every entry of the chain again")
        code, out, err = made.worker.command("certificate", "verify", "--folder", copy)
        self.assertEqual(code, 0, out + err)
        code, out, err = made.worker.command("certificate", "list", "--all-hosts", "-f", "json")
        self.assertEqual(code, 0, err)
        self.assertIn([made.name, FIRST],
                      [[row["Host"], row["Address"]] for row in json.loads(out)])
        self.assertIn("the chains of 1 host: %s;" % made.name, err)
        day = time.strftime("%Y-%m-%d", time.gmtime())
        code, out, err = made.worker.command("certificate", "report", "--from", "2020-01-01",
                                             "--to", day, "-f", "json")
        self.assertEqual((code, json.loads(out)["erasures"]), (0, 1), err)

    def test_a_reload_takes_steps_over_and_a_broken_file_changes_nothing(self):
        ran = os.path.join(self.folder, "ran")
        check = self.script("check", "echo $0 >> %s\n" % ran)
        made = self.with_steps(self.section("check", check))
        self.assertIn("check", made.worker.field(FIRST, "plan"))
        made.worker.write_config("\n" + self.section("check", check) +
                                 "[clean]\nautomated = perhaps\n")
        made.worker.process.send_signal(signal.SIGHUP)
        made.worker.wait_log("not reloaded, what is in force stays.*automated")
        other = self.script("other", "echo $0 >> %s\n" % ran)
        made.worker.write_config("\n" + self.section("other", other, 75))
        made.worker.process.send_signal(signal.SIGHUP)
        made.worker.wait_log(r"changed: \[step:other\] priority: 75, was: not set")
        made.worker.wait_log(r"reloaded: \d+ options changed")
        self.delete(made)
        self.assert_released(made)
        with open(ran, encoding="utf-8") as file:
            self.assertEqual(file.read(), other + "\n")

    def test_a_step_that_fails_keeps_the_drive_until_it_is_mended(self):
        path = self.script("check", "echo '{\"result\": \"the seal is broken\"}'; exit 1\n")
        made = self.with_steps(self.section("check", path, interface="seal"))
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assertIn("seal.check: the seal is broken (exit status 1)",
                      made.worker.devices()[FIRST]["Note"])
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)
        self.script("check", "exit 0\n")
        code, _, err = made.worker.command("device", "clean", FIRST)
        self.assertEqual(code, 0, err)
        self.assert_released(made)

    def test_a_command_that_others_may_write_keeps_it_waiting(self):
        path = self.script("check", "exit 0\n")
        made = self.with_steps(self.section("check", path), survey_s=5)
        os.chmod(path, 0o777)
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        wait_until(lambda: "chmod go-w" in made.worker.devices()[FIRST]["Note"], "it says why")
        code, _, err = made.worker.command("config", "check")
        self.assertEqual(code, 1)
        self.assertIn("chmod go-w", err)
        code, out, _ = made.worker.command("step", "list", "-f", "json")
        self.assertEqual(code, 1)
        self.assertIn("chmod go-w", json.loads(out)[0]["Problem"])
        os.chmod(path, 0o755)
        self.assert_released(made)

    def test_a_hold_waits_for_two_operators(self):
        made = self.with_steps("[step:eyes]\ninterface = hold\npriority = 60\napprovals = 2\n"
                               "devices = {}\n")
        self.delete(made)
        made.worker.wait_field(FIRST, "clean_step", "hold.eyes")
        code, _, err = self.order_as(made, "alice", "device", "unhold", FIRST)
        self.assertEqual(code, 0, err)
        wait_until(lambda: "1 of 2 approvals (alice@" in made.worker.devices()[FIRST]["Note"],
                   "the first approval counts")
        code, _, err = self.order_as(made, "alice", "device", "unhold", FIRST)
        self.assertEqual(code, 1)
        self.assertIn("has approved it already", err)
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        code, _, err = self.order_as(made, "bob", "device", "unhold", FIRST)
        self.assertEqual(code, 0, err)
        self.assert_released(made)
        self.assertIn("alice@", str(self.findings(made)["hold.eyes"]))

    def test_a_manual_cleaning_waits_for_an_operator(self):
        made = self.with_steps("[clean]\nautomated = false\n", survey_s=5)
        self.delete(made)
        made.worker.wait_field(FIRST, "clean_start", "awaited")
        self.assertIn("`reclaim device clean` starts it", made.worker.devices()[FIRST]["Note"])
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)
        code, _, err = made.worker.command("device", "clean", FIRST)
        self.assertEqual(code, 0, err)
        self.assert_released(made)

    def test_a_step_says_what_it_does_dies_with_its_worker_and_is_run_again(self):
        note = os.path.join(self.folder, "pids")
        path = self.script("slow", "echo '{\"progress\": 0.4, \"message\": \"burning\"}'\n"
                           "echo $$ >> %s\n[ $(wc -l < %s) -gt 1 ] || sleep 1000\n"
                           % (note, note))
        made = self.with_steps(self.section("slow", path), survey_s=5)
        self.delete(made)
        wait_until(lambda: os.path.exists(note), "the step runs")
        with open(note, encoding="utf-8") as pids:
            pid = int(pids.readline())
        made.worker.wait_field(FIRST, "progress_message", "burning")
        code, out, err = made.worker.command("device", "show", FIRST, "-f", "json")
        self.assertEqual((code, json.loads(out)["progress_message"]), (0, "burning"), err)
        _, out, _ = made.worker.command("watch", "--until-idle", "--timeout", "1")
        self.assertRegex(out, r"operator\.slow \[#+\.+\]  40% burning")
        made.worker.kill()
        wait_until(lambda: not is_running(pid), "the step's process is gone")
        made.worker.start()
        self.assert_released(made)
        self.assertNotIn("does not fit", made.worker.log_text())
        with open(note, encoding="utf-8") as pids:
            self.assertEqual(len(pids.readlines()), 2)

    def test_named_steps_of_a_device_in_the_pool(self):
        told = os.path.join(self.folder, "told")
        path = self.script("flash", "cat >> %s\n" % told)
        made = self.with_steps(self.section("flash", path, 0, interface="card",
                                            args=json.dumps({"image": "x", "psid": "MT"}),
                                            order_args=json.dumps({"image": "[a-z]"})))
        self.delete(made)
        self.assert_released(made)
        self.assertFalse(os.path.exists(told))

        def named(*steps):
            name = os.path.join(self.folder, "steps.json")
            with open(name, "w", encoding="utf-8") as file:
                json.dump({"clean_steps": list(steps)}, file)
            return made.worker.command("device", "clean", FIRST, "--steps", name)

        code, _, err = named({"interface": "card", "step": "burn"})
        self.assertEqual(code, 1)
        self.assertIn("steps.json: clean_steps[0]: 'card.burn' is not a step", err)
        code, _, err = named({"interface": "card", "step": "flash", "args": {"force": True}})
        self.assertEqual(code, 1)
        self.assertIn("an order may not set 'force'; it may set image", err)
        code, _, err = named({"interface": "card", "step": "flash", "args": {"image": "/bin/sh"}})
        self.assertEqual(code, 1)
        self.assertIn("'image' may not be '/bin/sh'; accepted is what matches [a-z]", err)
        code, _, err = made.worker.command("device", "clean", FIRST)
        self.assertEqual((code, "with --steps FILE" in err), (1, True), err)
        self.assertEqual(made.reserved(FIRST), 0)
        code, _, err = named({"interface": "card", "step": "flash", "args": {"image": "y"}},
                             {"interface": "nvme", "step": "check_health"})
        self.assertEqual(code, 0, err)
        made.worker.wait_field(FIRST, "erases", "0")
        self.assert_released(made, sanitizes=2)
        with open(told, encoding="utf-8") as file:
            self.assertEqual(json.loads(file.read())["args"], {"image": "y", "psid": "MT"})
        self.assertIn("operator_steps", str(made.worker.journal()))
        code, out, err = made.worker.command("certificate", "list", "-f", "json")
        self.assertEqual(code, 0, err)
        code, out, err = made.worker.command("certificate", "show", json.loads(out)[-1]["ID"],
                                             "-f", "json")
        self.assertEqual(code, 0, err)
        found = json.loads(out)["findings"]
        self.assertIn("sha256:", str(found["card.flash#1"]))
        self.assertLessEqual({"nvme.check_health#2", "nvme.check_health"}, set(found))

    def test_steps_are_listed_and_tried_without_a_cleaning(self):
        path = self.example("link-width")
        made = self.with_steps(self.section("link", path, 0, interface="pci_link",
                                            args=json.dumps({"width": "4"})))
        code, out, err = made.worker.command("step", "list", "-f", "json")
        self.assertEqual(code, 0, err)
        row = json.loads(out)[0]
        self.assertEqual((row["Step"], row["Priority"], row["Problem"]), ("pci_link.link", 0, ""))
        self.assertEqual(len(row["SHA-256"]), 64)
        code, _, err = made.worker.command("step", "test", "link", FIRST)
        self.assertEqual((code, "--dry-run is needed" in err), (2, True), err)
        code, _, err = made.worker.command("step", "test", "link", FIRST, "--dry-run")
        self.assertEqual((code, "is allocated" in err), (1, True), err)
        code, _, err = made.worker.command("step", "test", "gone", FIRST, "--dry-run")
        self.assertEqual((code, "there are: link" in err), (1, True), err)
        self.delete(made)
        self.assert_released(made)
        self.script("tell", "cat >&2; echo '{\"finding\": \"would do it\"}'\n")
        made.worker.write_config("\n" + self.section("tell", self.folder + "/tell", 0))
        code, out, err = made.worker.command("step", "test", "operator.tell", FIRST, "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn('"dry_run":true', err)
        self.assertIn("would do it", out)


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
