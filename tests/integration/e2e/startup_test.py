#!/usr/bin/python3
"""What a worker does before it serves: who claims a drive; where the device API listens; and what
doctor says of that, with a real Keystone."""
import http.client
import json
import os
import socket
import sys
import unittest
import urllib.parse

from api_clients import free_port
from api_node import ApiNode
from case import FIRST, SECOND, EndToEnd, Setting, tear_down_services
from services import run
from waiting import DEADLINE_S
from worker import Programs

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../stack/cyborg.py")
ARQ = "2f59e9d8-5a17-4607-83c5-e2ff83cce2c7"

TWO_CLAIMS = """
[nvme]
manage_providers = true
device_spec = {"address": "%s"}
""" % FIRST


def tearDownModule():
    tear_down_services()


class Startup(EndToEnd):
    def test_two_who_claim_one_drive_stop_the_start(self):
        made = self.setting(start=False)
        worker = made.worker
        worker.write_config(more=TWO_CLAIMS)
        worker.start(wait=False)
        self.assertEqual(worker.process.wait(DEADLINE_S), 78, worker.log_text())
        self.assertRegex(worker.log_text(),
                         r"InvalidConfiguration: the drive %s \(144d:a80a\) is claimed by two "
                         r"\[nvme\] device_spec entries, at .*reclaim.conf:\d+ and at "
                         r".*reclaim.conf:\d+" % FIRST)
        self.assertNotIn(" ready", worker.log_text())
        code, out, _ = worker.command("doctor", "-f", "json")
        self.assertEqual(code, 1)
        self.assertIn("InvalidConfiguration", out)

    def test_plan_says_which_drives_would_be_registered(self):
        made = Setting(self, ["address=%s,serial=SERIAL%d,size=32M" % (address, number)
                              for number, address in enumerate((FIRST, SECOND), 1)])
        made.register(FIRST)
        made.worker.write_config(more="[nvme]\nmanage_providers = true\n")
        code, out, err = made.worker.command("plan", "-f", "json")
        self.assertEqual(code, 0, err)
        rows = {row["Address"]: row for row in json.loads(out)}
        self.assertNotEqual(rows[FIRST]["Verdict"], "register")
        row = rows[SECOND]
        self.assertEqual(row["Provider"], "%s_%s" % (made.worker.name, SECOND))
        self.assertEqual(row["Verdict"], "register")
        self.assertIn("CUSTOM_NVME_144D_A80A is made, reserved", row["Why"])

    def test_plan_knows_of_the_request_that_holds_a_drive_of_cyborgs(self):
        made = Setting(self, ["address=%s,serial=SERIAL1,size=32M" % FIRST])
        made.register(FIRST, owner="cyborg", one_time_use=False)
        self.assertEqual(self.plan(made)["Verdict"], "held")
        bound = {"uuid": ARQ, "state": "Bound", "hostname": made.name, "address": FIRST,
                 "attach_handle_type": "PCI", "device_rp_uuid": made.providers[FIRST],
                 "held_at": "2026-05-15T16:30:15Z", "listed": True}
        made.services.redis("hset", "reclaim:{%s}:arqs" % made.name, ARQ, json.dumps(bound),
                            db=made.worker.db)
        row = self.plan(made)
        self.assertEqual(row["Verdict"], "leave")
        self.assertIn(ARQ, row["Why"])

    def plan(self, made):
        """The row of the first drive."""
        code, out, err = made.worker.command("plan", "-f", "json")
        self.assertEqual(code, 0, err)
        return {row["Address"]: row for row in json.loads(out)}[FIRST]

    def test_the_api_is_there_when_its_process_is_and_gone_when_it_stops(self):
        made = self.setting(start=False)
        node = ApiNode(Programs(), made.services, os.path.join(made.folder, "api"), db=made.db)
        node.write_config("[api]\nunix_socket = %s/api.sock\n" % node.folder)
        self.addCleanup(node.kill)
        code, out, err = node.command("config", "check", "--api")
        self.assertEqual((code, out.splitlines()[-1]), (0, "ok"), err)
        self.assertEqual(self.checks(node)["api address"], ["ok", "is free"])
        node.start()
        client = http.client.HTTPConnection("127.0.0.1", node.port, timeout=DEADLINE_S)
        client.request("GET", "/v2/devices")
        answer = client.getresponse()
        answer.read()
        self.assertEqual(answer.status, 401)
        self.assertIn("Keystone uri=", answer.getheader("WWW-Authenticate"))
        checks = self.checks(node)
        self.assertEqual(checks["api address"], ["ok", "is answered by a device API"])
        self.assertEqual((checks["api tokens"][0], checks["redis"][0]), ("ok", "ok"))
        self.assertEqual(node.stop(), 0)
        self.assertRegex(node.log_text(), r"connections: \d+; requests: \d+, 0 bad")
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", node.port), timeout=DEADLINE_S)

    def test_doctor_reaches_cyborg_and_says_when_it_does_not(self):
        made = self.setting(start=False)
        stand_in = os.path.join(made.worker.folder, "cyborg")
        more = ("[cyborg]\nenabled = true\nauth_section = placement\n"
                "endpoint_override = http://127.0.0.1:%d/v2\n")
        made.worker.write_config(more=more % free_port())
        code, row = self.cyborg_row(made)
        self.assertEqual((code, row["Result"]), (1, "error"), row)
        self.assertIn("cyborg-api", row["Remedy"])
        run([sys.executable, STAND_IN, "start", stand_in, "--owner-pid", str(os.getpid())])
        self.addCleanup(run, [sys.executable, STAND_IN, "stop", stand_in])
        with open(os.path.join(stand_in, "cyborg.json"), encoding="utf-8") as file:
            port = urllib.parse.urlsplit(json.load(file)["url"]).port
        run([sys.executable, STAND_IN, "do", stand_in, "device", "hostname=" + made.name,
             "address=" + FIRST])
        made.worker.write_config(more=more % port)
        code, row = self.cyborg_row(made)
        self.assertEqual(row["Result"], "ok", row)
        self.assertIn("(microversion 2.3): 1 device and 0 accelerator requests", row["Detail"])

    def cyborg_row(self, made):
        code, out, err = made.worker.command("doctor", "-f", "json")
        self.assertTrue(out, err)
        return code, {row["Check"]: row for row in json.loads(out)}["cyborg"]

    def checks(self, node):
        """Check -> [result, what is said of the port], on the node of an API."""
        _, out, err = node.command("doctor", "--api", "-f", "json")
        self.assertTrue(out, err)
        rows = {row["Check"]: row for row in json.loads(out)}
        return {name: [row["Result"], row["Detail"].split(" ", 1)[1]]
                for name, row in rows.items()}


if __name__ == "__main__":
    unittest.main(verbosity=2)
