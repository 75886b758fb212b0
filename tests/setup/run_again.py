#!/usr/bin/python3
"""Runs once more what failed in a run of ctest, where real services may be to blame.

usage: run_again.py BUILD_FOLDER, where ctest wrote Testing/Temporary/Told.log (--output-log)

A test with the label `integration` has processes of others in it: RabbitMQ, Redis, Keystone. What
failed there is run a second time, by itself, and each such test is told in a line that begins with
"retried". Nothing is run again where a test failed for which no service is to blame: one without
the label, one that judges the bytes of an emulated drive, one that a signal ended, one that printed
the words of a sanitizer, an assertion or a crash, or one whose failure is about dirt, use or a
certificate. Exit code 0: all passed in the end.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

LABEL = "integration"
SECTION = re.compile(r"^\d+/\d+ Testing: (\S+)\n(.*?)^Test time = ", re.MULTILINE | re.DOTALL)
# Where an assertion of Python's unittest or of gtest begins, and what it says.
FAILURE = re.compile(r"^(?:Traceback|.*: Failure$|\w*Error\b).*(?:\n.+){0,15}", re.MULTILINE)
PROMISE = re.compile(
    r"tenant_blocks|nonzero_bytes|kept|dirty|destroyed|in use|reserved_written|sanitizes|digest"
    r"|certificate|verif", re.IGNORECASE)
# What a defect says, wherever a test printed it. The last line is of a program that a signal ended,
# as the end-to-end tests tell it; with 9 they end it themselves.
CRASH = re.compile(
    r"Sanitizer:|runtime error:|\bCHECK\b.* failed|SEGFAULT|Segmentation fault|terminate called"
    r"|Assertion .*failed|\bAborted\b"
    r"|\bended with -(?!9\b)\d+|-(?:4|6|7|8|11) != 0|died with <Signals\.(?!SIGKILL)\w+")
# "12/40 Test #7: redis_test ...***Exception: SegFault", which LastTest.log does not tell.
SIGNALLED = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) .*\*\*\*Exception", re.MULTILINE)
DRIVES = "nvme_drive"  # tests whose names begin so have the label, and no service


def outputs(log):
    """What each test of ctest's log printed."""
    return dict(SECTION.findall(log))


def broken_promise(output):
    """The words of a failure that may be about dirt, use or a certificate; None where none is."""
    for failure in FAILURE.findall(output):
        found = PROMISE.search(failure)
        if found:
            return found.group(0)
    return None


def verdict(name, labels, output, signalled):
    """The reason for which no service can be to blame; None where one may be."""
    if LABEL not in labels:
        return f"it has not the label {LABEL}"
    if name.startswith(DRIVES):
        return "it judges the bytes of a drive"
    if name in signalled:
        return "a signal ended it"
    crash = CRASH.search(output)
    if crash:
        return f'it printed "{crash.group(0)}"'
    promise = broken_promise(output)
    return f'its failure says "{promise}"' if promise else None


def reason(output):
    """The line that says best why it failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if re.match(r"\w*(Error|Failure)\b|.*: Failure$", line)]
    return (told or lines or ["it printed nothing"])[-1][:150]


def main():
    build = Path(sys.argv[1])
    logs = build / "Testing" / "Temporary"
    log = (logs / "LastTest.log").read_text(encoding="utf-8", errors="replace")
    failed = [line.partition(":")[2]
              for line in (logs / "LastTestsFailed.log").read_text(encoding="utf-8").split()]
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                           stdout=subprocess.PIPE, check=True).stdout
    labels = {test["name"]: {label for each in test["properties"] if each["name"] == "LABELS"
                             for label in each["value"]} for test in json.loads(shown)["tests"]}
    printed = outputs(log)
    signalled = SIGNALLED.findall((logs / "Told.log").read_text(encoding="utf-8",
                                                                errors="replace"))
    for name in failed:
        decided = verdict(name, labels[name], printed.get(name, ""), signalled)
        if decided:
            print(f"not run again: {name} ({decided})")
            return 1
    shutil.copy(logs / "LastTest.log", logs / "FirstTest.log")
    for name in failed:
        print(f"retried {name}: {reason(printed.get(name, ''))}", flush=True)
    return subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--tests-regex",
                           "^(" + "|".join(failed) + ")$"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
