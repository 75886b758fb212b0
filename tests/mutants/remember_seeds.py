#!/usr/bin/python3
"""Writes into tests/sim/mutant_seeds.txt which worlds catch the mutants that few worlds catch.

usage: tests/mutants/remember_seeds.py [BUILD]      default: build/test, with its mutants built

A change of the conductor or of the simulation turns seeds into other worlds. A mutant that none of
the remembered worlds catches any more is then looked for in every run, for minutes. Run this after
such a change. What catches nothing is not written again, and no world that fails without a fault:
that is a defect of the code, and is named.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALWAYS = os.path.join(ROOT, "tests/sim/seeds.txt")
REMEMBERED = os.path.join(ROOT, "tests/sim/mutant_seeds.txt")


def lines_of(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read().splitlines()


def seeds_of(path):
    return {line.split()[0] for line in lines_of(path) if line and not line.startswith("#")}


def mutants(build):
    """(name, command, environment) of each mutant that worlds have to catch."""
    told = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                          stdout=subprocess.PIPE, check=True).stdout
    for test in json.loads(told)["tests"]:
        command = test.get("command", [""])
        if os.path.basename(command[0]) == "mutants_sim" and "--expect-caught" in command:
            properties = {each["name"]: each["value"] for each in test["properties"]}
            chosen = dict(each.split("=", 1) for each in properties["ENVIRONMENT"])
            yield test["name"], command, {**os.environ, **chosen}


def play(mutant):
    """(name, the seed that catches it)."""
    name, command, environment = mutant
    said = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True,
                          check=False).stdout
    found = re.search(r"^caught after (\d+) worlds, seed (\d+)", said, re.MULTILINE)
    if not found:
        sys.exit(f"{name}: {said}")
    print(f"{name}: after {found[1]} worlds, seed {found[2]}", flush=True)
    return name, found[2]


def is_sound(build, seed):
    """Whether the world holds without a fault."""
    return subprocess.run([os.path.join(build, "tests/sim/sim"), "--seeds", seed, "1"],
                          stdout=subprocess.DEVNULL, check=False).returncode == 0


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/test")
    if build in ("-h", "--help"):
        sys.exit(__doc__)
    always = seeds_of(ALWAYS)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        caught = dict(reversed(list(pool.map(play, mutants(build)))))
    worlds = {seed: name.removeprefix("mutant_") for name, seed in caught.items()
              if seed not in always}
    for seed in [seed for seed in worlds if not is_sound(build, seed)]:
        print(f"world {seed} fails without a fault: sim --seed {seed} --trace")
        del worlds[seed]
    text = [line for line in lines_of(REMEMBERED) if line.startswith("#")]
    text += [f"{seed}  {worlds[seed]}" for seed in sorted(worlds, key=int)]
    with open(REMEMBERED, "w", encoding="utf-8") as stream:
        stream.write("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
