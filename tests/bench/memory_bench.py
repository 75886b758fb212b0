#!/usr/bin/python3
"""What `reclaim serve` needs of memory: idle, with drives that all have a tenant; at its most,
while all of them are cleaned at once; and idle again. The shipped worker, stripped as the package
has it, with real RabbitMQ, Redis, Keystone and Placement and emulated drives; what the emulator
needs in the worker's process is left out. By mapping, from /proc/PID/smaps: `Rss` has pages of
files too, which the kernel may drop and other processes share; `Private` are those that no other
process has just now; `Anonymous` those that are no file's, which only this worker needs.

    memory_bench.py [DRIVES] [--binary FILE] [--anonymous-max MB]

DRIVES is 24 by default. The exit code is 1 where an idle worker has more than --anonymous-max.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import threading
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE] + [os.path.join(os.path.dirname(HERE), "integration", folder)
                         for folder in ("e2e", "stack")]

from case import SEED, Setting, services, tear_down_services  # noqa: E402
from sanitize_bench import Cleanups, addresses  # noqa: E402
from worker import Programs  # noqa: E402

IDLE_S = 5  # after the last device is known
LOOK_S = 0.02
COLUMNS = ("Rss", "Pss", "Private", "Anonymous")
LINE = re.compile(r"^[0-9a-f]+-[0-9a-f]+ (....) \S+ \S+ (\d+)\s*(.*)$")


def smaps(pid):
    """{what is mapped: {column: kB}}, without the emulator and its drives."""
    found = collections.defaultdict(collections.Counter)
    name = ""
    with open("/proc/%d/smaps" % pid, encoding="ascii") as file:
        for line in file:
            head = LINE.match(line)
            if head:
                name = os.path.basename(head.group(3)) or "anonymous"
                continue
            key, value = line.split(":", 1)
            if value.strip().endswith("kB"):
                kb = int(value.split()[0])
                found[name][key.split("_")[0] if key.startswith("Private") else key] += kb
    return {name: kb for name, kb in found.items()
            if "emulator" not in name and not name.endswith(".state")}


def total(mapped, column):
    return sum(kb[column] for kb in mapped.values())


def told(title, mapped):
    print("%-36s" % title + "".join("%11s" % column for column in COLUMNS))
    rows = sorted(mapped.items(), key=lambda item: -item[1]["Rss"])
    for name, kb in [("all", {column: total(mapped, column) for column in COLUMNS})] + rows[:14]:
        print("  %-34s" % name + "".join("%8.1f MB" % (kb[column] / 1000) for column in COLUMNS))


class Peak:
    """The most that was resident, and private, at any look."""

    def __init__(self, pid):
        self.pid, self.most = pid, {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.over.is_set():
            mapped = smaps(self.pid)
            if not self.most or total(mapped, "Rss") > total(self.most, "Rss"):
                self.most = mapped
            time.sleep(LOOK_S)

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.most


def stripped(folder, binary):
    """What ships: without the debugger's part."""
    path = os.path.join(folder, "reclaim")
    subprocess.run(["objcopy", "--strip-unneeded", binary, path], check=True)
    return path


def measure(test, count, binary):
    services()
    made = Setting(test, ["address=%s,serial=MEM%d,size=32M,duration_ms=2000" % (address, number)
                          for number, address in enumerate(addresses(count), 1)])
    made.worker.programs.reclaim = stripped(made.folder, binary)
    tenants = {}
    for address in addresses(count):
        tenants[address] = str(uuid.uuid4())
        made.host.fill(address, SEED)
        made.register(address, consumer=tenants[address])
    made.worker.start(debug=False)
    for address in tenants:
        made.worker.wait_field(address, "device_state", "allocated")
    time.sleep(IDLE_S)
    pid = made.worker.process.pid
    idle = smaps(pid)
    told("idle, %d drives" % count, idle)
    peak = Peak(pid)
    for tenant in tenants.values():
        made.free(tenant)
    made.publish(made.delete_messages())
    for address in tenants:
        made.worker.wait_field(address, "device_state", "available")
    told("at its most, %d cleaned at once" % count, peak.stop())
    time.sleep(IDLE_S)
    again = smaps(pid)
    told("idle again", again)
    return max(total(each, "Anonymous") for each in (idle, again)) / 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("drives", type=int, nargs="?", default=24)
    parser.add_argument("--binary", default=Programs().reclaim)
    parser.add_argument("--anonymous-max", type=float, default=0)
    options = parser.parse_args()
    test = Cleanups()
    try:
        anonymous = measure(test, options.drives, options.binary)
        test.run()
    finally:
        tear_down_services()
    if options.anonymous_max and anonymous > options.anonymous_max:
        sys.exit("%.1f MB are no file's, more than %.1f: find what grew in the tables above"
                 % (anonymous, options.anonymous_max))


if __name__ == "__main__":
    main()
