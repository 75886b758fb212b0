#!/usr/bin/python3
"""How soon a drive is in the pool again once its sanitize has completed: the shipped worker (real
RabbitMQ, Redis, Keystone and Placement, emulated drives) beside what operators do by script today:
`nvme sanitize-log` once a second until it says completed, then log in and PUT reserved = 0. The
script looks at nothing else; the worker verifies, looks again, and writes record, ledger line and
certificate. Both by turns, drive by drive, in one
run. Then the worker's time line, as `reclaim device show ADDRESS --timeline` has it: where the time
from the erasure to the release goes.

    sanitize_bench.py [DRIVES]      default 7
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "integration", folder)
                for folder in ("e2e", "stack")]

import openstack_api  # noqa: E402
from case import SEED, Setting, tear_down_services  # noqa: E402
from services import RESOURCE_CLASS  # noqa: E402
from waiting import DEADLINE_S, wait_until  # noqa: E402
from worker import EmulatedHost, Programs  # noqa: E402

POLL_S = 1.0  # the worker's own default too, where much is left
LENGTHS_MS = (4000, 6000)  # of a sanitize: it ends at no particular time of anybody's second
LOOK_S = 0.01


class Cleanups:
    """What Setting wants of a test."""

    def __init__(self):
        self.waiting = []

    def addCleanup(self, function, *arguments):  # unittest's name
        self.waiting.append((function, arguments))

    def assertEqual(self, first, second, text=""):  # unittest's name
        if first != second:
            raise AssertionError("%s is not %s: %s" % (first, second, text))

    def run(self):
        while self.waiting:
            function, arguments = self.waiting.pop()
            function(*arguments)


def addresses(count):
    return ["0000:%02x:00.0" % number for number in range(1, count + 1)]


def descriptions(count):
    return ["address=%s,serial=BENCH%d,size=32M,duration_ms=%d"
            % (address, number, random.randint(*LENGTHS_MS))
            for number, address in enumerate(addresses(count), 1)]


def seconds_to_pool(services, host, address, provider):
    """How long it takes from the end of the drive's sanitize, which takes its own time, so that
    its progress can be relied on, until Placement says reserved = 0."""
    wait_until(lambda: host.sanitizes(address) > 0, "the drive sanitizes")
    while host.sanitize_status(address) == 2:
        time.sleep(LOOK_S)
    completed = time.monotonic()
    placement = services.placement()
    path = "/resource_providers/%s/inventories" % provider
    while placement.call("GET", path)["inventories"][RESOURCE_CLASS]["reserved"] != 0:
        if time.monotonic() > completed + DEADLINE_S:
            raise AssertionError("%s is not released within %d s" % (address, DEADLINE_S))
        time.sleep(LOOK_S)
    return time.monotonic() - completed


class Reclaim:
    """The worker, which knows the tenants of all drives before the first one goes."""

    def __init__(self, test, count):
        self.timelines = []  # of each drive, {moment: seconds since the one before}
        self.made = Setting(test, descriptions(count))
        self.consumers = {}
        for address in addresses(count):
            self.made.host.fill(address, SEED)
            self.consumers[address] = str(uuid.uuid4())
            self.made.register(address, consumer=self.consumers[address])
        self.made.worker.start()
        for address in addresses(count):
            self.made.worker.wait_field(address, "device_state", "allocated")

    def seconds(self, address):
        made = self.made
        made.free(self.consumers[address])
        made.publish(made.delete_messages())
        taken = seconds_to_pool(made.services, made.host, address, made.providers[address])
        made.worker.wait_field(address, "device_state", "available")
        self.timelines.append(self.timeline(address))
        return taken

    def timeline(self, address):
        code, out, err = self.made.worker.command("device", "show", address, "--timeline",
                                                  "-f", "json")
        if code != 0:
            raise AssertionError("device show: " + err)
        return {row["Moment"]: row["Took"] for row in json.loads(out)}


class Script:
    """The peer: another host, no worker on it."""

    def __init__(self, made, count):
        self.services, self.programs = made.services, Programs()
        self.host = EmulatedHost(self.programs, os.path.join(made.folder, "peer"),
                                 descriptions(count))
        self.providers = {
            address: self.services.register("peer", address, reserved=1)["uuid"]
            for address in addresses(count)}

    def nvme(self, command, address, *words):
        node = os.path.join(self.host.root, "dev/nvme%d" % addresses(99).index(address))
        environment = {**os.environ, "LD_PRELOAD": self.programs.preload,
                       "RECLAIM_EMULATOR_ROOT": self.host.root}
        return subprocess.run(["nvme", command, node, *words], env=environment, check=True,
                              capture_output=True, text=True, timeout=DEADLINE_S).stdout

    def sanitize_status(self, address):
        log = json.loads(self.nvme("sanitize-log", address, "-o", "json"))
        (page,) = log.values()
        return int(re.match(r"\((\d)", page["sstat"]["status"]).group(1))

    def wait_and_release(self, address):
        while self.sanitize_status(address) != 1:
            time.sleep(POLL_S)
        endpoints = self.services.endpoints
        token, _ = openstack_api.log_in(endpoints["auth_url"], endpoints["service_username"],
                                        endpoints["service_password"], "service")
        placement = openstack_api.Placement(self.services.placement().url, token)
        placement.put_inventory(self.providers[address], RESOURCE_CLASS, total=1, max_unit=1,
                                reserved=0)

    def seconds(self, address):
        self.nvme("sanitize", address, "-a", "start-crypto-erase")
        script = threading.Thread(target=self.wait_and_release, args=(address,), daemon=True)
        script.start()
        taken = seconds_to_pool(self.services, self.host, address, self.providers[address])
        script.join()
        return taken


def told(name, seconds):
    print("%-8s median %.2f s  (%.2f to %.2f) of %d drives, from completion to reserved = 0" %
          (name, statistics.median(seconds), min(seconds), max(seconds), len(seconds)))


def told_timeline(timelines):
    """What each step after the erasure took. The last one ends when the release is confirmed, one
    read after `reserved` is 0."""
    moments = list(timelines[0])
    for moment in moments[moments.index("erased") + 1:]:
        taken = [timeline[moment] for timeline in timelines if moment in timeline]
        print("  %-16s median %4.0f ms  (%.0f to %.0f)" %
              (moment, 1000 * statistics.median(taken), 1000 * min(taken), 1000 * max(taken)))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    test = Cleanups()
    try:
        reclaim = Reclaim(test, count)
        script = Script(reclaim.made, count)
        pairs = [(reclaim.seconds(address), script.seconds(address))
                 for address in addresses(count)]
        test.run()
    finally:
        tear_down_services()
    ours, theirs = zip(*pairs)
    told("reclaim", ours)
    told_timeline(reclaim.timelines)
    told("script", theirs)
    print("ratio of the medians %.2f; the script looks at the sanitize log once in %.0f s" %
          (statistics.median(ours) / statistics.median(theirs), POLL_S))


if __name__ == "__main__":
    main()
