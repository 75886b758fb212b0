#!/usr/bin/python3
"""What a host asks of a real Placement: idle, and while all its instances are deleted at once; with
1, 8 and 24 drives, of which every second has a tenant. The shipped worker (real RabbitMQ, Redis and
Keystone, emulated drives) beside a script as Nova's sample for one-time-use devices is: a pass
lists the providers that have the trait, reads the inventories and the allocations of each, and
writes `reserved` of each that is burned and free, which it has cleaned elsewhere. Both in one run;
what is counted are the lines of Placement's own log. Beside them, what a worker that is
started again asks until its first survey is done, and Placement's processor time a request
(without its database's).

    placement_load.py [DRIVES ...]      default 1 8 24
"""
import os
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE] + [os.path.join(os.path.dirname(HERE), "integration", folder)
                         for folder in ("e2e", "stack")]

from case import SEED, Setting, tear_down_services  # noqa: E402
from sanitize_bench import Cleanups, addresses  # noqa: E402
from services import RESOURCE_CLASS  # noqa: E402
from waiting import wait_until  # noqa: E402

SURVEY_S = 5       # for the bench; what is told is a minute at the default
DEFAULT_S = 60     # [reclaim] survey_interval_s
SURVEYS = 4        # that are counted
TRAIT = "HW_PCI_ONE_TIME_USE"


class Host:
    def __init__(self, test, count):
        self.made = Setting(test, ["address=%s,serial=LOAD%d,size=32M,duration_ms=300"
                                   % (address, number)
                                   for number, address in enumerate(addresses(count), 1)],
                            survey_s=SURVEY_S)
        self.tenants = {}
        for number, address in enumerate(addresses(count)):
            tenant = str(uuid.uuid4()) if number % 2 == 0 else None
            if tenant:
                self.tenants[address] = tenant
                self.made.host.fill(address, SEED)
            self.made.register(address, consumer=tenant, reserved=1 if tenant else 0)
        self.root = self.made.services.placement().provider(self.made.name)["uuid"]
        self.ours = set(self.made.providers.values()) | {self.root}

    def asked(self):
        return [(method, path) for method, path, _ in self.made.services.requests()
                if any(each in path for each in self.ours)]

    def processor_ms(self):
        """Of Placement's process, ever."""
        pid = self.made.services.openstack_pid("placement")
        with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return 1000 * (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def idle(self):
        """Requests a survey, of the last ones in a row that all read as little."""
        def surveys():
            asked = [path for _, path in self.asked()]
            listed = [place for place, path in enumerate(asked)
                      if path.endswith("in_tree=" + self.root)]
            return [last - first for first, last in zip(listed, listed[1:])]

        def at_rest():
            last = surveys()[-SURVEYS:]
            return len(last) == SURVEYS and len(set(last)) == 1 and last
        return wait_until(at_rest, "%d surveys that ask for the same" % SURVEYS)[0]

    def restart(self):
        """Requests before those of the second survey."""
        self.made.worker.stop()
        before = len(self.made.services.requests())
        self.made.worker.start()

        def first():
            paths = [path for _, path, _ in self.made.services.requests()[before:]]
            listed = [place for place, path in enumerate(paths)
                      if path.endswith("in_tree=" + self.root)]
            return listed[1] if len(listed) > 1 else None
        return wait_until(first, "a second survey")

    def storm(self):
        """Requests until all are back, the periodic surveys meanwhile included."""
        before = len(self.asked())
        for tenant in self.tenants.values():
            self.made.free(tenant)
        self.made.publish(self.made.delete_messages())
        for address in self.tenants:
            self.made.worker.wait_field(address, "device_state", "available")
        return len(self.asked()) - before


class Script:
    """The peer, on the same providers while no worker looks at them."""

    def __init__(self, host):
        self.host, self.placement = host, host.made.services.placement()

    def one_pass(self):
        before = len(self.host.asked())
        rows = self.placement.call("GET", "/resource_providers?in_tree=%s&required=%s"
                                   % (self.host.root, TRAIT))["resource_providers"]
        for row in rows:
            path = "/resource_providers/" + row["uuid"]
            read = self.placement.call("GET", path + "/inventories")
            inventory = read["inventories"][RESOURCE_CLASS]
            used = self.placement.call("GET", path + "/allocations")["allocations"]
            if inventory["reserved"] and not used:
                self.placement.call("PUT", path + "/inventories/" + RESOURCE_CLASS, dict(
                    inventory, reserved=0,
                    resource_provider_generation=read["resource_provider_generation"]))
        return len(self.host.asked()) - before


def measure(count):
    test = Cleanups()
    try:
        host = Host(test, count)
        script = Script(host)
        script_idle = script.one_pass()
        worker = host.made.worker
        began, began_ms = len(host.made.services.requests()), host.processor_ms()
        worker.start()
        for address in host.tenants:
            worker.wait_field(address, "device_state", "allocated")
        idle = host.idle()
        first = host.restart()
        storm = host.storm()
        each_ms = ((host.processor_ms() - began_ms)
                   / (len(host.made.services.requests()) - began))
        worker.stop()
        for address in host.tenants:  # burned and free once more, for the script
            host.made.services.reserve(host.made.providers[address], 1)
        script_storm = script.one_pass()
    finally:
        test.run()
    per_minute = 60 / DEFAULT_S
    print("%2d drives  first survey after a restart: reclaim %d; %.1f ms of Placement a request" %
          (count, first, each_ms))
    print("%2d drives  idle, a minute: reclaim %3d, script %3d, ratio %.2f   "
          "%2d deleted at once: reclaim %3d (%.1f a cleaning), a pass of the script %3d" %
          (count, idle * per_minute, script_idle * per_minute, idle / script_idle,
           len(host.tenants), storm, storm / len(host.tenants), script_storm))


def main():
    counts = [int(word) for word in sys.argv[1:]] or [1, 8, 24]
    try:
        for count in counts:
            measure(count)
    finally:
        tear_down_services()


if __name__ == "__main__":
    main()
