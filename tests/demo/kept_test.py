#!/usr/bin/python3
"""A demo that is kept: every command that its screen suggests succeeds, typed as it stands there;
what it started goes on without it, and ends with --stop."""
import glob
import os
import re
import sys
import time
import unittest
from urllib.parse import unquote, urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration", "e2e"))

from demo_run import Run  # noqa: E402
from services import Bus, Services, openstack  # noqa: E402
from shell import Shell  # noqa: E402

# Longer than whoever watches a process that is gone looks away.
ASKED_S = 5
FOLLOWING = ("tail -f ", "reclaim watch ")  # until they are interrupted


class Kept(unittest.TestCase):
    def play(self, flow, *shown):
        run = Run("--flow", flow, "--keep")
        self.addCleanup(run.folder.cleanup)
        self.addCleanup(run.stop)
        code, text = run.end()
        self.assertEqual(code, 0, text)
        # As it is where a person runs it: the tests' own folder has a longer name.
        shown_there = text.replace(run.folder.name, "/tmp")
        self.assertEqual([line for line in shown_there.splitlines() if len(line) > 80], [])
        self.shell = Shell(run, text)
        self.assertTrue(self.shell.source.startswith("source "), text)
        for command in shown:
            self.assertIn(command, " ".join(self.shell.commands))
        for command in self.shell.commands:
            with self.subTest(command):
                self.check(command)
        until = time.monotonic() + ASKED_S
        self.find_services(run)
        while time.monotonic() < until:
            self.ask()
        code, text = self.shell.type(self.shell.stop)
        self.assertEqual(code, 0, text)
        self.assertEqual(run.left_behind(), [])

    def check(self, command):
        if command.startswith(FOLLOWING):
            code, text = self.shell.follow(command)
            self.assertIsNone(code, text)
        else:
            code, text = self.shell.type(command)
            self.assertEqual(code, 0, text)
        self.assertTrue(text.strip(), "it prints nothing")
        if command.startswith("curl "):  # which takes any answer for a success
            self.assertIn('"device_state"', text)

    def find_services(self, run):
        folder, = glob.glob(run.folder.name + "/reclaim-demo-*/services")
        self.services = Services(folder)
        self.services.endpoints = openstack.read_endpoints(self.services.path("openstack"))
        with open(os.path.join(folder, "../reclaim/reclaim.conf"), encoding="utf-8") as file:
            url = urlsplit(re.search(r"^transport_url = (.*)$", file.read(), re.MULTILINE).group(1))
        self.broker = {"port": url.port, "user": url.username, "password": unquote(url.password)}
        self.cleaned = re.search(r"device show (\S+)", " ".join(self.shell.commands)).group(1)

    def ask(self):
        self.assertEqual(self.services.redis("ping"), "PONG")
        self.assertTrue(self.services.placement().call("GET", "/resource_providers"))
        with Bus(self.broker):
            pass
        for word in ("on", "off"):  # which the command waits for until the worker has done it
            code, text = self.shell.type("reclaim device set %s --maintenance %s" % (
                self.cleaned, word))
            self.assertEqual(code, 0, text)

    def test_novas_flow(self):
        self.play("nova", "reclaim doctor", "redis-cli", "openstack resource provider", "tail -f")

    def test_cyborgs_flow(self):
        self.play("cyborg", "accelerator device list", "curl")

    @unittest.skipUnless(os.geteuid() == 0, "the command of a step belongs to root: run it as root")
    def test_the_steps_flow(self):
        self.play("steps", "openstack resource provider list")


if __name__ == "__main__":
    unittest.main(verbosity=2)
