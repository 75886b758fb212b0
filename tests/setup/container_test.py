#!/usr/bin/python3
"""What can be said of the Containerfile without a container runtime: the sources that it copies are
there and are all that the build and the installation read, and Debian has the packages it installs.

usage: container_test.py CMAKE SOURCE_FOLDER
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PATH = "config/container/Containerfile"


def instructions(text):
    """(NAME, words) of each, in order."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    for line in joined.splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def copy(source, target, words):
    """As COPY does: folders by their contents."""
    *sources, place = words
    for each in sources:
        path = os.path.join(source, each)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(target, place))
        elif os.path.isfile(path):
            os.makedirs(os.path.join(target, place), exist_ok=True)
            shutil.copy(path, os.path.join(target, place))
        else:
            yield f"COPY {each}: it is not there"


def look_at_build(cmake, folder):
    """It configures there, and what it is to install from its sources is there."""
    done = subprocess.run([cmake, "--preset", "release", "-DCMAKE_INSTALL_PREFIX=/usr"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        yield "what is copied does not configure:\n" + done.stdout[-2000:]
        return
    with open(os.path.join(folder, "build/release/cmake_install.cmake"), encoding="utf-8") as file:
        read = set(re.findall(re.escape(folder) + r"(/(?!build/)[\w./-]+)", file.read()))
    yield from (f"{path} is installed and not copied" for path in sorted(read)
                if not os.path.exists(folder + path))


def look_at_packages(source, runs):
    words = [word for run in runs for word in run.split("&&")]
    for command in words:
        if "install_packages.sh" in command:
            groups = command.split()[1:]
            with open(os.path.join(source, "tests/setup/packages.txt"), encoding="utf-8") as file:
                known = {line.split()[0] for line in file if line.strip() and line[0] != "#"}
            yield from (f"packages.txt has no group {group}" for group in groups
                        if group not in known)
        elif "apt-get install" in command:
            for name in command.split("install", 1)[1].split():
                if name.startswith(("-", "/")):
                    continue
                said = subprocess.run(["apt-cache", "policy", name], stdout=subprocess.PIPE,
                                      text=True, check=True).stdout
                if "Candidate: " not in said or "Candidate: (none)" in said:
                    yield f"Debian has no package {name}"


def main():
    cmake, source = sys.argv[1:]
    with open(os.path.join(source, PATH), encoding="utf-8") as file:
        parts = list(instructions(file.read()))
    complaints = [f"{name} is no instruction" for name, _ in parts if name not in (
        "FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD", "STOPSIGNAL")]
    with tempfile.TemporaryDirectory() as folder:
        for name, rest in parts:
            if name == "COPY" and not rest.startswith("--from"):
                complaints += copy(source, folder, rest.split())
        complaints += look_at_build(cmake, os.path.realpath(folder))
    complaints += look_at_packages(source, [rest for name, rest in parts if name == "RUN"])
    entry = json.loads(next(rest for name, rest in parts if name == "ENTRYPOINT"))
    checked = subprocess.run(["sh", "-n", "-c", entry[2]], check=False)
    if checked.returncode != 0:
        complaints.append("the entry point's command has a fault")
    for complaint in complaints:
        print(f"container: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
