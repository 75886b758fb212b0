#!/usr/bin/python3
"""Starts a suite's cloud, runs its scenarios and stops it; see cyborg.sh and nova.sh. The suite is
NAME_scenarios.py, which has SCENARIOS, of each (function, how many windows it allows), CLOUD and
LIVE."""
import argparse
import importlib
import os
import shutil
import signal
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

FOLDER = "/srv/cloud"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=("cyborg", "nova"))
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--minutes", type=int, default=90)
    args = parser.parse_args()
    suite = importlib.import_module(args.suite + "_scenarios")
    chosen = [each for each in suite.SCENARIOS if args.only in each[0].__name__]
    if not chosen:
        sys.exit("live: no scenario's name contains \"%s\"; there are: %s" % (
            args.only, ", ".join(function.__name__ for function, _ in suite.SCENARIOS)))
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
    cloud = suite.CLOUD(FOLDER, said)
    failed = []
    try:
        cloud.start()
        live = suite.LIVE(cloud)
        live.set_up()
        said("drives on offer")
        live.watcher.start()
        scenarios_began = time.monotonic()
        for function, allowed in chosen:
            name, at = function.__name__, time.monotonic()
            try:
                live.passed(function, allowed)
                print("ok %s (%d s)" % (name, time.monotonic() - at), flush=True)
            except Exception:  # the next may still pass
                traceback.print_exc()
                print("FAILED %s" % name, flush=True)
                failed.append(name)
        live.watcher.stop()
        print("%d of %d scenarios passed in %d s; the watcher looked %d times" % (
            len(chosen) - len(failed), len(chosen), time.monotonic() - scenarios_began,
            live.watcher.looks))
        for sentence in cloud.wrong_with_queues():
            print("FAILED " + sentence, flush=True)
            failed.append(sentence)
    finally:
        cloud.stop()
        if not args.keep:
            shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
