#!/usr/bin/python3
"""Holds the stand-in for Cyborg (stack/cyborg.py) against Cyborg's own samples: the same members,
and of no other type than a sample has."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(os.path.dirname(HERE), "data", "cyborg-samples")
STAND_IN = os.path.join(HERE, "stack", "cyborg.py")
INSTANCE = "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def sample(name):
    with open(os.path.join(SAMPLES, name + "-resp.json")) as file:
        return json.load(file)


def types(rows):
    """Of each member, the types it has in any row; {} and [] by what is in them."""
    found = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, set()).add(type(value).__name__)
    return found


class StandIn(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="reclaim-cyborg.")
        said = cls.run_stand_in("start", *cls.arguments, "--owner-pid", str(os.getpid()))
        cls.url = said["url"]
        cls.device = cls.do("device", hostname="computenode", address="0000:0c:00.0")
        cls.do("arq")
        arq = cls.do("arq")["uuid"]
        cls.arq = cls.do("bind", arq=arq, device=cls.device["uuid"], instance=INSTANCE)

    @classmethod
    def tearDownClass(cls):
        subprocess.run([sys.executable, STAND_IN, "stop", cls.directory.name], check=True)
        cls.directory.cleanup()

    @classmethod
    def run_stand_in(cls, command, *words):
        done = subprocess.run([sys.executable, STAND_IN, command, cls.directory.name, *words],
                              check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    @classmethod
    def do(cls, what, **words):
        return cls.run_stand_in("do", what, *("%s=%s" % item for item in words.items()))

    def get(self, path, version="2.0", form="accelerator %s"):
        request = urllib.request.Request(
            self.url + path,
            headers={"X-Auth-Token": "any", "OpenStack-API-Version": form % version})
        with OPENER.open(request, timeout=60) as answer:
            return answer.headers, json.load(answer)


class SamplesTest(StandIn):
    arguments = ("--max-version", "2.4")

    def hold(self, ours, theirs):
        ours, theirs = types(ours), types(theirs)
        self.assertEqual(set(ours), set(theirs))
        for name in ours:
            self.assertLessEqual(ours[name], theirs[name], name)

    def hold_links(self, ours, theirs):
        self.assertEqual([link["rel"] for link in ours], [link["rel"] for link in theirs])
        self.hold(ours, theirs)

    def test_lists_have_the_members_of_the_samples(self):
        for kind, name in (("accelerator_requests", "arqs"), ("devices", "devices"),
                           ("deployables", "deployables")):
            with self.subTest(kind):
                _, ours = self.get("/v2/" + kind)
                theirs = sample(kind + "-list")
                self.assertEqual(set(ours), set(theirs))
                self.hold(ours[name], theirs[name])
                self.hold_links(ours[name][0]["links"], theirs[name][0]["links"])

    def test_one_is_as_in_the_list(self):
        for kind, uuid in (("accelerator_requests", self.arq["uuid"]),
                           ("devices", self.device["uuid"])):
            with self.subTest(kind):
                _, ours = self.get("/v2/%s/%s" % (kind, uuid))
                self.assertEqual(set(ours), set(sample(kind + "-getone")))

    def test_an_attach_handle_has_the_members_of_the_sample(self):
        _, ours = self.get("/v2/accelerator_requests")
        bound = [arq["attach_handle_info"] for arq in ours["arqs"]]
        theirs = [arq["attach_handle_info"] for arq in sample("accelerator_requests-list")["arqs"]]
        self.assertIn({}, bound)  # of the one that is not bound
        self.assertIn({}, theirs)
        self.hold(bound, theirs)
        for handle in bound:
            for name, digits in handle.items():
                self.assertEqual(len(digits), len(theirs[1][name]), name)

    def test_status_and_managed_come_with_their_microversions(self):
        for version, status, managed in (("2.2", False, False), ("2.3", True, False),
                                         ("2.4", True, True)):
            with self.subTest(version):
                headers, devices = self.get("/v2/devices", version)
                self.assertEqual(headers["OpenStack-API-Version"], "accelerator " + version)
                self.assertEqual("status" in devices["devices"][0], status)
                arqs = self.get("/v2/accelerator_requests", version)[1]["arqs"]
                handle = next(arq["attach_handle_info"] for arq in arqs if arq["instance_uuid"])
                self.assertEqual(handle.get("managed"), True if managed else None)


class BareVersionTest(StandIn):
    """Cyborg of 2024.1 to 2026.1 (its commit 279a260)."""
    arguments = ("--bare-version",)

    def test_answers_the_guidelines_header_with_the_lowest_version_without_a_word(self):
        headers, devices = self.get("/v2/devices", "2.3")
        self.assertEqual(headers["OpenStack-API-Version"], "2.0")
        self.assertNotIn("status", devices["devices"][0])

    def test_takes_the_number_alone(self):
        headers, devices = self.get("/v2/devices", "2.3", "%s")
        self.assertEqual(headers["OpenStack-API-Version"], "2.3")
        self.assertEqual(devices["devices"][0]["status"], "enabled")


if __name__ == "__main__":
    unittest.main()
