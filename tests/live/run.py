#!/usr/bin/python3
"""Starts the cloud, runs the scenarios and stops it; see cyborg.sh."""
import argparse
import os
import shutil
import signal
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cloud import ADDRESSES, UNMANAGED, Cloud  # noqa: E402
from scenarios import SCENARIOS, Live, passed  # noqa: E402
from waiting import wait_until  # noqa: E402
from watcher import Watcher  # noqa: E402

CLASS, CLASS_UNMANAGED = "CUSTOM_NVME_144D_A80A", "CUSTOM_NVME_144D_A80B"
FOLDER = "/srv/cloud"


def make_flavors(cloud):
    for name, resource_class in (("nvme", CLASS), ("nvme-unmanaged", CLASS_UNMANAGED)):
        cloud.cyborg("POST", "/device_profiles", [
            {"name": name, "groups": [{"resources:" + resource_class: "1"}]}])
        cloud.nova("POST", "/flavors", {"flavor": {
            "name": name, "id": name, "ram": 64, "vcpus": 1, "disk": 0}})
        cloud.nova("POST", "/flavors/%s/os-extra_specs" % name,
                   {"extra_specs": {"accel:device_profile": name}})


def set_up(cloud):
    """The drives are cleaned, reported by the agent, and on offer."""
    wait_until(lambda: all(cloud.worker.field(address, "certificate_id") or
                           cloud.worker.field(address, "device_state") == "available"
                           for address in ADDRESSES if address != UNMANAGED),
               "the drives are cleaned", 600)
    watcher = Watcher(cloud.services.endpoints["placement_url"], cloud.token,
                      lambda address, seed: cloud.host.digest(
                          address, seed)["tenant_blocks_kept"] != "0")
    watcher.classes |= {CLASS, CLASS_UNMANAGED}

    def providers():
        found = {cloud.provider(address): address for address in ADDRESSES}
        return None not in found and found
    watcher.providers = wait_until(providers, "Cyborg has made the providers", 600)
    wait_until(lambda: watcher.offered() == set(ADDRESSES), "all drives are on offer", 600)
    return watcher


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--minutes", type=int, default=90)
    args = parser.parse_args()
    chosen = [each for each in SCENARIOS if args.only in each[0]]
    if not chosen:
        sys.exit("live: no scenario's name contains \"%s\"; there are: %s" % (
            args.only, ", ".join(name for name, _, _ in SCENARIOS)))
    began = time.monotonic()

    def said(name):
        print("%6.1f s  %s" % (time.monotonic() - began, name), flush=True)

    def late():
        print("live: not ended within %d minutes" % args.minutes, flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(args.minutes * 60, late)
    timer.daemon = True
    timer.start()
    shutil.rmtree(FOLDER, ignore_errors=True)
    cloud = Cloud(FOLDER, said)
    failed = []
    try:
        cloud.start()
        watcher = set_up(cloud)
        make_flavors(cloud)
        said("drives on offer")
        watcher.start()
        live = Live(cloud, watcher)
        scenarios_began = time.monotonic()
        for name, function, allowed in chosen:
            at = time.monotonic()
            try:
                passed(live, function, allowed)
                print("ok %s (%d s)" % (name, time.monotonic() - at), flush=True)
            except Exception:  # the next may still pass
                traceback.print_exc()
                print("FAILED %s" % name, flush=True)
                failed.append(name)
        watcher.stop()
        print("%d of %d scenarios passed in %d s; the watcher looked %d times" % (
            len(chosen) - len(failed), len(chosen), time.monotonic() - scenarios_began,
            watcher.looks))
    finally:
        cloud.stop()
        if not args.keep:
            shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
