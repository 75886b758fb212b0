#!/usr/bin/python3
"""Style is a test, not a reviewer: checks the whole tree against tests/tidy/rules.py.

Also runs clang-format over the C++ files and bash -n (and shellcheck, where there is one) over the
scripts. Python's standard library only. Prints path:line: what is wrong and what to do instead.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import rules

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED_DIRECTORIES = {".git", "build", ".demo", "__pycache__"}
CLANG_FORMAT_BATCH = 12
FORMAT_VERSION = "14"  # another one breaks some lines elsewhere
FORMAT = ["clang-format", "--dry-run", "--Werror"]


def paths():
    """Every file of the tree that git does not ignore; without git, everything but build/."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"], capture_output=True, check=False) if shutil.which("git") else None
    if listed and listed.returncode == 0 and listed.stdout:
        found = [p for p in listed.stdout.decode().split("\0") if p]
    else:
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in SKIPPED_DIRECTORIES]
            found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted(p for p in set(found) if os.path.isfile(os.path.join(ROOT, p)))


def read_tree():
    tree = {}
    for path in paths():
        with open(os.path.join(ROOT, path), "rb") as stream:
            content = stream.read()
        if b"\0" not in content:
            tree[path] = content.decode("utf-8", errors="replace")
    return tree


def run(command):
    """The output of a checker that failed, or an empty text."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    said = done.stdout.decode(errors="replace")
    if done.returncode != 0 and command[:len(FORMAT)] == FORMAT:
        ill = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error: ", said, re.MULTILINE)))
        return f"not formatted; run: clang-format -i {' '.join(ill)}" if ill else said
    return "" if done.returncode == 0 else said or str(command)


def formatter():
    """The version of clang-format; empty: there is none."""
    if not shutil.which("clang-format"):
        return ""
    said = subprocess.run(["clang-format", "--version"], stdout=subprocess.PIPE, check=True).stdout
    return re.search(r"version (\d+)", said.decode()).group(1)


def tool_commands(tree):
    sources = [p for p in tree if p.endswith(rules.CPP) and not rules.is_foreign_data(p)]
    if formatter() == FORMAT_VERSION:
        for start in range(0, len(sources), CLANG_FORMAT_BATCH):
            yield FORMAT + sources[start:start + CLANG_FORMAT_BATCH]
    scripts = [p for p, text in tree.items() if text.startswith("#!") and "sh\n" in text[:20]]
    for script in scripts:
        yield ["bash", "-n", script]
    if scripts and shutil.which("shellcheck"):
        yield ["shellcheck", "--severity=info", *scripts]


def check_python(tree):
    for path, text in tree.items():
        if path.endswith(".py"):
            try:
                compile(text, path, "exec")
            except SyntaxError as error:
                yield rules.Finding(path, error.lineno or 1, error.msg)


def main():
    tree = read_tree()
    findings = [f for path, text in tree.items() for f in rules.check_file(path, text)]
    findings += rules.check_tree(tree)
    findings += check_python(tree)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        complaints = [c for c in pool.map(run, tool_commands(tree)) if c]
    for finding in sorted(findings):
        print(f"{finding.path}:{finding.line}: {finding.text}")
    for complaint in complaints:
        print(complaint)
    if not formatter():
        print("tidy: clang-format is not installed, formatting was not checked", file=sys.stderr)
        return 1
    if formatter() != FORMAT_VERSION:
        print(f"tidy: formatting was not checked: clang-format is {formatter()}, not "
              f"{FORMAT_VERSION}")
    if findings or complaints:
        print(f"tidy: {len(findings)} findings, {len(complaints)} complaints of tools")
        return 1
    print(f"tidy: {len(tree)} files, nothing to complain about")
    return 0


if __name__ == "__main__":
    sys.exit(main())
