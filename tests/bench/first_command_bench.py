#!/usr/bin/python3
"""How soon a cleaning begins after Nova's notification, and how soon a drive is returned after its
erasure, beyond the time in which Placement has a request of the worker's. The shipped worker with
real RabbitMQ, Redis, Keystone and Placement and emulated drives, one drive after the other; a door
before Placement notes its requests. The moments are those of the journal, in milliseconds. Host and
services share one machine here: the figures have what they take of its processors in them.

    first_command_bench.py [DRIVES]      default 24
"""
import datetime
import os
import sys
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE] + [os.path.join(os.path.dirname(HERE), "integration", folder)
                         for folder in ("e2e", "stack")]

from case import SEED, Setting, services, tear_down_services  # noqa: E402
from placement_door import PlacementDoor  # noqa: E402
from sanitize_bench import Cleanups, addresses  # noqa: E402

# From one notification to the next: so that the surveys 5 and 30 s after each of them are over by
# 4 s or more, and none makes the next event wait.
CYCLE_S = 9
PERCENTILES = (50, 95, 99)


def beyond(answered, first, last):
    """Milliseconds from `first` to `last` in which Placement had no request."""
    taken, reached = 0.0, first
    for began, ended in sorted(answered):
        began, ended = max(began, reached), min(ended, last)
        if ended > began:
            taken += began - reached
            reached = ended
    return 1000 * (taken + last - reached)


def moments(worker, address):
    """{stage that was reached: seconds of the wall clock} of the last cleaning."""
    return {entry["to"]: datetime.datetime.fromisoformat(entry["at"]).timestamp()
            for entry in worker.journal() if entry["address"] == address}


def clean(made, door, address, tenant, spans):
    door.answered.clear()
    made.free(tenant)
    messages = made.delete_messages()
    with made.services.bus() as connection:
        published = time.time()
        connection.publish_all(messages)
    made.worker.wait_field(address, "device_state", "available")
    reached = moments(made.worker, address)
    for name, first, last in (
            ("notification to claim", published, reached["guarding"]),
            ("claim to erase command", reached["guarding"], reached["erasing"]),
            ("erased to release's PUT", reached["verifying"], reached["releasing"])):
        spans.setdefault(name, []).append(beyond(door.answered, first, last))


def percentile(values, wanted):
    return sorted(values)[max(0, -(-len(values) * wanted // 100) - 1)]


def measure(test, count):
    door = PlacementDoor(services().endpoints["placement_url"])
    test.addCleanup(door.shut_down)
    made = Setting(test, ["address=%s,serial=FIRST%d,size=32M,duration_ms=300" % (address, number)
                          for number, address in enumerate(addresses(count), 1)])
    made.worker.settings["region"] += "\nendpoint_override = " + door.url
    made.worker.write_config()
    tenants = {}
    for address in addresses(count):
        tenants[address] = str(uuid.uuid4())
        made.host.fill(address, SEED)
        made.register(address, consumer=tenants[address])
    made.worker.start(debug=False)
    for address in tenants:
        made.worker.wait_field(address, "device_state", "allocated")
    spans = {}
    for address, tenant in tenants.items():
        time.sleep(CYCLE_S - time.time() % CYCLE_S)
        clean(made, door, address, tenant, spans)
    return spans


def main():
    test = Cleanups()
    try:
        spans = measure(test, int(sys.argv[1]) if len(sys.argv) > 1 else 24)
        test.run()
    finally:
        tear_down_services()
    for name, taken in spans.items():
        print("%-26s" % name + "  ".join("p%d %5.0f ms" % (each, percentile(taken, each))
                                         for each in PERCENTILES) +
              "  (%d cleanings)" % len(taken))


if __name__ == "__main__":
    main()
