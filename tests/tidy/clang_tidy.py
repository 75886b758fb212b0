#!/usr/bin/python3
"""Runs clang-tidy over our sources and remembers what was clean, so that only changes cost time.

usage: clang_tidy.py BUILD_DIRECTORY [--all] [--jobs N] [PATH...]

Takes the sources from BUILD_DIRECTORY/compile_commands.json: what ships, and with --all (or when
RECLAIM_TEST_DEPTH is full) the tests too. A file is remembered by a hash over its command,
.clang-tidy, the version of clang-tidy, its text and the text of every header of ours that it
reaches.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import rules

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REMEMBERED_DAYS = 30


def read(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


class Reach:
    """The text of a source and of all headers of ours that it includes, as one hash."""

    def __init__(self, search):
        self.search = search
        self.seen = {}

    def _node(self, path):
        if path not in self.seen:
            text = read(path)
            targets = [t for _, kind, t in rules.includes(text) if kind == '"']
            found = [next((p for p in (os.path.join(d, t) for d in self.search)
                           if os.path.isfile(p)), None) for t in targets]
            self.seen[path] = (hashlib.sha256(text.encode()).hexdigest(), [f for f in found if f])
        return self.seen[path]

    def digest(self, source):
        done, queue, lines = set(), [source], []
        while queue:
            path = queue.pop()
            if path not in done:
                done.add(path)
                text_hash, targets = self._node(path)
                lines.append(f"{os.path.relpath(path, ROOT)} {text_hash}")
                queue += targets
        return "\n".join(sorted(lines))


def entries(build, everything, only):
    """(path in the tree, compile command) of what is to be checked."""
    for entry in json.loads(read(os.path.join(build, "compile_commands.json"))):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if path.startswith(("..", "build")) or not path.endswith(".cpp"):
            continue
        if only:
            if not path.startswith(tuple(only)):
                continue
        elif path.startswith("tests/") and not everything:
            continue
        yield path, entry["command"]


def key_of(command, reach, path, settings):
    told = " ".join(w for w in command.split() if not w.endswith((".o", ".d")))
    text = "\n".join([settings, told.replace(ROOT, "."), reach.digest(os.path.join(ROOT, path))])
    return hashlib.sha256(text.encode()).hexdigest()


def check(build, path):
    began = time.monotonic()
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", os.path.join(ROOT, path)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    said = done.stdout.decode(errors="replace").replace(ROOT + "/", "")
    if done.returncode != 0 and not said.strip():
        said = done.stderr.decode(errors="replace")
    return path, done.returncode == 0, said, time.monotonic() - began


def forget_old(memory):
    limit = time.time() - REMEMBERED_DAYS * 86400
    for name in os.listdir(memory):
        path = os.path.join(memory, name)
        if os.path.getmtime(path) < limit:
            os.remove(path)


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over what changed")
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true", help="the tests' sources too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("paths", nargs="*", help="only sources below these, e.g. nvme/")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    everything = options.all or os.environ.get("RECLAIM_TEST_DEPTH") == "full"

    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True)
    settings = version.stdout.decode() + read(os.path.join(ROOT, ".clang-tidy"))
    memory = os.path.join(os.path.dirname(build), "clang-tidy-clean")
    os.makedirs(memory, exist_ok=True)
    forget_old(memory)
    reach = Reach([ROOT, os.path.join(build, "generated")])
    keys = {path: key_of(command, reach, path, settings)
            for path, command in entries(build, everything, options.paths)}
    if not keys:
        print("clang-tidy: no source to check", file=sys.stderr)
        return 1
    changed = [p for p, k in keys.items() if not os.path.exists(os.path.join(memory, k))]
    # The big ones first, so that no single one is left over at the end.
    changed.sort(key=lambda p: -os.path.getsize(os.path.join(ROOT, p)))

    began, findings, ill = time.monotonic(), set(), 0
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for path, clean, said, took in pool.map(lambda p: check(build, p), changed):
            print(f"{took:6.1f} s  {'ok ' if clean else 'BAD'}  {path}", flush=True)
            if clean:
                with open(os.path.join(memory, keys[path]), "w", encoding="utf-8"):
                    pass
            else:
                ill += 1
                # A header's findings come with every source that includes it: once is enough.
                findings.update(re.split(r"\n(?=\S+:\d+:\d+: )", said.strip()))
    for finding in sorted(findings):
        print(finding)
    print(f"clang-tidy: {len(keys)} sources, {len(changed)} changed, {ill} with findings, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if ill else 0


if __name__ == "__main__":
    sys.exit(main())
