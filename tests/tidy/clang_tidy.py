#!/usr/bin/python3
"""Runs clang-tidy over our sources and remembers what was clean, so that only changes cost time.

Clean results are kept in ~/.cache/reclaim/clang-tidy-clean (in $XDG_CACHE_HOME, if set) and shared
by all clones. .ci/tidied names a commit whose sources were all clean: a clone that remembers
nothing reads what differs from it.

usage: clang_tidy.py BUILD_DIRECTORY [--all] [--jobs N] [PATH...]

Takes the sources from BUILD_DIRECTORY/compile_commands.json: what ships, and with --all (or when
RECLAIM_TEST_DEPTH is long) the tests too, and what is as it was in .ci/tidied as well. A file is
remembered by a hash over its command, .clang-tidy, the version of clang-tidy and of the libraries,
this checker, its text and the text of every header of ours that it reaches.

Three quarters of the time go into headers of the system, so sources are first read together,
several as one translation unit (config/unity/batches.py). Where that finds anything in a source,
this one is read by itself, and what is said then counts; all of them are where it is in a header,
or where they do not compile together.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import rules

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "config", "unity"))

import batches  # noqa: E402

REMEMBERED_DAYS = 30
VERSION = "14"
SKIPPED = 77  # as ctest knows it

BATCH_BYTES_MAX = 250_000  # of sources read together: a header costs more here than in a compiler
# In a batch a source is a file that is included.
FINDING = re.compile(r"^(/\S+?):\d+:\d+: (?:warning|error): ", re.MULTILINE)
OURS = r"(cli|config|handlers|listener|nvme|placement|state|tests)/.*\.(h|cpp)$"


def read(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


class Reach:
    """The text of a source and of all headers of ours that it includes, as one hash."""

    def __init__(self, root, build):
        self.root = root
        self.search = [root, os.path.join(build, "generated")]
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
        """Of a source, by its path in the tree."""
        done, queue, lines = set(), [os.path.join(self.root, source)], []
        while queue:
            path = queue.pop()
            if path not in done:
                done.add(path)
                text_hash, targets = self._node(path)
                name = path.replace(self.root + "/", "").replace(ROOT + "/", "")
                lines.append(f"{name} {text_hash}")
                queue += targets
        return "\n".join(sorted(lines))


def sources_of(batch):
    """The sources of a batch's translation unit."""
    return [os.path.join(ROOT, source)
            for source in re.findall(r'^#include "(.+\.cpp)"', read(batch), re.MULTILINE)]


def entries(build, everything, only):
    """(path in the tree, compile command) of what is to be checked."""
    for entry in json.loads(read(os.path.join(build, "compile_commands.json"))):
        file = os.path.join(entry["directory"], entry["file"])
        for source in sources_of(file) if file.startswith(build + "/batches/") else [file]:
            path = os.path.relpath(source, ROOT)
            if path.startswith(("..", "build")) or not path.endswith(".cpp"):
                continue
            if only:
                if not path.startswith(tuple(only)):
                    continue
            elif path.startswith("tests/") and not everything:
                continue
            yield path, entry["command"].replace(file, source)


def flags_of(command):
    """What clang may be told too, without compiler, source and output."""
    words = shlex.split(command)
    first = next(i for i, w in enumerate(words) if w.startswith("-"))
    told, skip = [], False
    for word in words[first:]:
        ours = word not in ("-o", "-c") and not word.endswith(".cpp")
        if not skip and ours and not word.startswith("--param="):  # g++'s
            told.append(word)
        skip = word == "-o"
    return tuple(told)


def key_of(command, reach, path, settings):
    told = " ".join(w for w in command.split() if not w.endswith((".o", ".d")))
    text = "\n".join([settings, told.replace(ROOT, "."), reach.digest(path)])
    return hashlib.sha256(text.encode()).hexdigest()


def check(path, flags):
    """Whether one source is clean by itself, and what was said of it."""
    done = subprocess.run(["clang-tidy", "--quiet", os.path.join(ROOT, path), "--", *flags],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    said = done.stdout.decode(errors="replace").replace(ROOT + "/", "")
    if done.returncode != 0 and not said.strip():
        said = done.stderr.decode(errors="replace")
    return done.returncode == 0, said


def doubted_in_batch(folder, paths, flags):
    """Which of the sources, read together, have to be read by themselves."""
    text = "".join(f'#include "{os.path.join(ROOT, p)}"\n' for p in paths)
    name = os.path.join(folder, hashlib.sha256(text.encode()).hexdigest()[:16] + ".cpp")
    with open(name, "w", encoding="utf-8") as stream:
        stream.write(text)
    # To include a .cpp is what a batch is made of. -w: of warnings the builds tell, for one source
    # at a time; together, what one has may shadow another's.
    done = subprocess.run(
        ["clang-tidy", "--quiet", f"--config-file={os.path.join(ROOT, '.clang-tidy')}",
         "--checks=-bugprone-suspicious-include", f"--header-filter={OURS}", name, "--", *flags,
         "-w"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, check=False)
    os.remove(name)
    if done.returncode == 0:
        return []
    said = done.stdout.decode(errors="replace")
    named = {os.path.relpath(path, ROOT) for path in FINDING.findall(said)}
    told_apart = named and named <= set(paths) and "[clang-diagnostic-error" not in said
    return sorted(named) if told_apart else paths


def check_batch(folder, paths, flags):
    """(path, clean, said) of each source, and how long it took."""
    began = time.monotonic()
    doubted = doubted_in_batch(folder, paths, flags) if len(paths) > 1 else paths
    results = [(p, *check(p, flags)) if p in doubted else (p, True, "") for p in paths]
    return results, time.monotonic() - began


def joined(flags_of_each):
    """What any of the sources is told. Where that differs, it is libraries' headers."""
    told = []
    for flags in flags_of_each:
        words = iter(flags)
        for word in words:
            each = (word, next(words)) if word == "-isystem" else (word,)
            if each not in told:
                told.append(each)
    return [word for each in told for word in each]


def plan(sources):
    """(paths, flags) of what is read together, the big ones first, so that none is left over."""
    flags = {os.path.join(ROOT, p): f for p, f in sources}
    read_together = [[each.path for each in batch]
                     for batch in batches.batches(list(flags), BATCH_BYTES_MAX)]
    planned = [([os.path.relpath(p, ROOT) for p in batch], joined(flags[p] for p in batch))
               for batch in read_together]
    return sorted(planned, key=lambda each: -sum(
        os.path.getsize(os.path.join(ROOT, p)) for p in each[0]))


def installed():
    """The versions of whatever brings headers."""
    return subprocess.run(["dpkg-query", "-W", "*-dev"], capture_output=True, check=True,
                          text=True).stdout


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)


def differing(paths, reach, build):
    """Which of the sources are not what they were in the commit of .ci/tidied. All of them, where
    that is no ancestor, or the checks are others since."""
    commit = read(os.path.join(ROOT, ".ci", "tidied")).strip()
    if (git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0
            or git("diff", "--quiet", commit, "--", ".clang-tidy", __file__).returncode != 0):
        print(f"clang-tidy: .ci/tidied ({commit[:12]}) tells nothing here: all is read")
        return paths
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=git("archive", commit).stdout, check=True)
        former = Reach(folder, build)
        return [path for path in paths if not os.path.exists(os.path.join(folder, path))
                or former.digest(path) != reach.digest(path)]


def forget_old(memory):
    limit = time.time() - REMEMBERED_DAYS * 86400
    for name in os.listdir(memory):
        path = os.path.join(memory, name)
        with contextlib.suppress(FileNotFoundError):  # another clone was quicker
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
    everything = options.all or os.environ.get("RECLAIM_TEST_DEPTH") == "long"

    version = subprocess.run(["clang-tidy", "--version"], capture_output=True,
                             check=True).stdout.decode()
    major = re.search(r"version (\d+)", version).group(1)
    if major != VERSION:
        print(f"clang-tidy: skipped: this is version {major}, and .clang-tidy chooses among the "
              f"checks of {VERSION} (Debian 12)")
        return SKIPPED
    settings = version + installed() + "".join(read(path) for path in (
        os.path.join(ROOT, ".clang-tidy"), __file__, batches.__file__, rules.__file__))
    memory = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                          "reclaim", "clang-tidy-clean")
    os.makedirs(memory, exist_ok=True)
    forget_old(memory)
    reach = Reach(ROOT, build)
    commands = dict(entries(build, everything, options.paths))
    keys = {path: key_of(command, reach, path, settings) for path, command in commands.items()}
    if not keys:
        print("clang-tidy: no source to check", file=sys.stderr)
        return 1
    changed = [p for p, k in keys.items() if not os.path.exists(os.path.join(memory, k))]
    if changed and not everything:
        changed = differing(changed, reach, build)
    planned = plan([(p, flags_of(commands[p])) for p in changed])

    began, findings, ill = time.monotonic(), set(), 0
    with ThreadPoolExecutor(max_workers=options.jobs) as pool, \
            tempfile.TemporaryDirectory() as folder:
        for results, took in pool.map(lambda each: check_batch(folder, *each), planned):
            for path, clean, said in results:
                print(f"{took / len(results):6.1f} s  {'ok ' if clean else 'BAD'}  {path}",
                      flush=True)
                if clean:
                    with open(os.path.join(memory, keys[path]), "w", encoding="utf-8"):
                        pass
                else:
                    ill += 1
                    # A header's findings come with every source that includes it: once is enough.
                    findings.update(re.split(r"\n(?=\S+:\d+:\d+: )", said.strip()))
    for finding in sorted(findings):
        print(finding)
    print(f"clang-tidy: {len(keys)} sources, {len(changed)} changed, read as {len(planned)}, "
          f"{ill} with findings, {time.monotonic() - began:.0f} s")
    return 1 if ill else 0


if __name__ == "__main__":
    sys.exit(main())
