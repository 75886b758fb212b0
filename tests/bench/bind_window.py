#!/usr/bin/python3
"""How long a drive of today's Cyborg stands unreserved after an instance got it: from its
allocation in Placement until Reclaim has set reserved = total. Once by Nova's notification, which
is published at the same moment (a real one comes when the guest was started), once by the survey
alone. The shipped worker with real RabbitMQ, Redis, Keystone and Placement; the drive is emulated.

    bind_window.py [ROUNDS] [SURVEY_INTERVAL_S]      default 9 and 5, the least that is accepted
"""
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "integration", folder)
                for folder in ("e2e", "stack")]

from case import FIRST, tear_down_services  # noqa: E402
from cyborg_case import CyborgSetting, new_uuid  # noqa: E402
from sanitize_bench import Cleanups  # noqa: E402

LOOK_S = 0.01
WITHIN_S = 300


def seconds_to_reserved(made, instance, notify):
    made.allocate(FIRST, instance)
    since = time.monotonic()
    if notify:
        made.tell_nova(instance, "create.end")
    while made.reserved(FIRST) != 1:
        if time.monotonic() > since + WITHIN_S:
            raise AssertionError("not reserved within %d s" % WITHIN_S)
        time.sleep(LOOK_S)
    return time.monotonic() - since


def rounds_of(test, count, notify, survey_s):
    """The seconds of each round, on a host of its own; every tenancy ends in a cleaning."""
    made = CyborgSetting(test, ["address=%s,serial=BENCH,size=32M,duration_ms=50" % FIRST],
                         survey_s=survey_s)
    made.register(FIRST)
    made.worker.start(debug=False)
    made.worker.wait_field(FIRST, "device_state", "available")
    seconds = []
    for _ in range(count):
        if not notify:
            time.sleep(random.uniform(0, survey_s))  # at no particular time between two surveys
        instance = new_uuid()
        seconds.append(seconds_to_reserved(made, instance, notify))
        made.worker.wait_field(FIRST, "device_state", "allocated")
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        made.worker.wait_field(FIRST, "device_state", "available")
    return seconds


def told(name, seconds, survey_s):
    median = statistics.median(seconds)
    print("%-24s median %6.2f s  (%.2f to %.2f, %d rounds)  %.3f of the survey interval of %d s" % (
        name, median, min(seconds), max(seconds), len(seconds), median / survey_s, survey_s))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    survey_s = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    test = Cleanups()
    try:
        # The survey interval plays no part in the first: it is the default, which is a minute.
        told("by a notification:", rounds_of(test, count, True, 60), 60)
        told("by the survey alone:", rounds_of(test, count, False, survey_s), survey_s)
    finally:
        test.run()
        tear_down_services()


if __name__ == "__main__":
    main()
