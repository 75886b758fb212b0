#!/usr/bin/python3
"""Takes the figures of docs/figures.csv again, each by its command, and marks what moved by more
than a third. Machines differ: what moved ends with 0, a command that fails or says nothing of its
figure with 1. Those of BUILD (build/dev) are run; it has to be the build that ships.

    figures.py [--build BUILD] [--write] [WORD]...

With words only the figures whose name has one of them; --write puts the new values and the commit
that is checked out into the table.
"""
import argparse
import csv
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TABLE = os.path.join(ROOT, "docs/figures.csv")
MOVED = 4 / 3


def read_table():
    with open(TABLE, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        return reader.fieldnames, list(reader)


def write_table(names, rows):
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def commit():
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], check=True,
                          capture_output=True, text=True).stdout.strip()


def said_by(build, command, memory):
    """What a command prints; run once, whatever the figures that it tells."""
    if command not in memory:
        program, *words = command.split()
        done = subprocess.run([os.path.join(build, "tests/bench", program), *words], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print("%s: exit code %d\n%s" % (command, done.returncode, done.stderr[-2000:]),
                  file=sys.stderr)
        memory[command] = done.stdout if done.returncode == 0 else ""
    return memory[command]


def moved(before, now):
    return max(before, now) > MOVED * min(before, now)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/dev"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("words", nargs="*", metavar="WORD")
    asked = parser.parse_args()
    names, rows = read_table()
    memory, missing, here = {}, 0, commit()
    print("%-58s %10s %10s  %s" % ("figure", "before", "now", "of commit"))
    for row in rows:
        if asked.words and not any(word in row["figure"] for word in asked.words):
            continue
        found = re.search(row["pattern"], said_by(asked.build, row["command"], memory),
                          re.MULTILINE)
        if not found:
            missing += 1
            print("%-58s %10s %10s  %s" % (row["figure"], row["value"], "?", row["commit"]))
            continue
        now = "%.4g" % float(found.group(1))
        print("%-58s %10s %10s  %s%s" % (
            row["figure"], row["value"], now, row["commit"],
            "  MOVED" if moved(float(row["value"]), float(now)) else ""), flush=True)
        if asked.write:
            row["value"], row["commit"] = now, here
    if asked.write:
        write_table(names, rows)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
