#!/usr/bin/python3
"""Looks at the binary that ships: what makes a defect in it harder to use, and that it is the same
from whichever folder it is built in.

usage: hardening_test.py BUILD_DIRECTORY

Two sources are compiled in two folders every time; with RECLAIM_TEST_DEPTH=long the whole binary
is built in both.
"""

import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODULES = ("state", "config", "placement", "nvme", "handlers", "listener", "cli")
# Both have CHECK(), which names the file it stands in.
SAMPLES = ("listener/signals.cpp", "nvme/job_thread.cpp")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout.decode(errors="replace")


def look_at_headers(text):
    """What `readelf -hldW` says of the binary."""
    if not re.search(r"Type:\s+DYN", text) or not re.search(r"FLAGS_1\).*\bPIE\b", text):
        yield "it is not position independent (PIE)"
    if "GNU_RELRO" not in text:
        yield "it has no RELRO segment (-z relro)"
    if not re.search(r"\(BIND_NOW\)|\(FLAGS\).*BIND_NOW|FLAGS_1\).*\bNOW\b", text):
        yield "its functions are bound late, so their table stays writable (-z now)"
    stack = re.search(r"GNU_STACK.*\s([RWE ]{3})\s+0x", text)
    if not stack or "E" in stack.group(1):
        yield "its stack is executable (-z noexecstack)"
    if "(TEXTREL)" in text:
        yield "its code is written to when it is loaded"


def look_at_symbols(symbols):
    """What it asks of the C library, as `nm -D -u` lists it."""
    if "__stack_chk_fail" not in symbols:
        yield "no function checks its stack (-fstack-protector-strong)"
    fortified = {name for name in symbols if name.startswith("__") and name.endswith("_chk")}
    if not fortified:
        yield "no call is fortified (_FORTIFY_SOURCE)"


def look_at_archive(path):
    """Every object of ours says that its jumps are marked. The binary itself cannot where the C
    library's own start files do not: a property counts only when all that is linked has it."""
    members = output("ar", "t", path).split()
    for member in members:
        if not member.endswith(".o"):
            yield f"{path} holds {member}, which is not an object"
    marked = len(re.findall(r"IBT, SHSTK", output("readelf", "-nW", path)))
    if marked != len(members):
        yield f"{marked} of {len(members)} objects of {path} have marked jumps (-fcf-protection)"


def object_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def look_at_commands(commands):
    for entry in commands:
        # By what is made: the emulator compiles some of these sources for itself.
        if not object_of(entry).startswith(tuple(module + "/" for module in MODULES)):
            continue
        relative = os.path.relpath(entry["file"], ROOT)
        for flag in ("-fstack-clash-protection", "-fstack-protector-strong"):
            if flag not in entry["command"]:
                yield f"{relative} is compiled without {flag}"
        if not re.search(r"-D_FORTIFY_SOURCE=[23]", entry["command"]):
            yield f"{relative} is compiled without _FORTIFY_SOURCE"


def look_for_paths(binary, build):
    with open(binary, "rb") as file:
        content = file.read()
    for folder in (ROOT, os.path.realpath(build)):
        at = content.find(os.fsencode(folder))
        if at >= 0:
            end = content.find(b"\0", at)
            yield f"it names the folder it was built in: {content[at:end].decode()}"
            return


def entry_of(commands, sample):
    """How a source is compiled: by itself, or as its batch (config/unity)."""
    path = os.path.join(ROOT, sample)
    for entry in commands:
        if entry["file"] == path:
            return entry
        if "/batches/" in entry["file"]:
            with open(entry["file"], encoding="utf-8") as file:
                if f'#include "{sample}"\n' in file.read():
                    return {**entry, "file": path,
                            "command": entry["command"].replace(entry["file"], path)}
    raise LookupError(f"nothing compiles {sample}")


def compile_samples(commands, build, copy):
    """The objects of SAMPLES, compiled from a copy of the sources as the build would have."""
    for folder in (*MODULES, os.path.relpath(os.path.join(build, "generated"), ROOT)):
        shutil.copytree(os.path.join(ROOT, folder), os.path.join(copy, folder))
    objects = []
    for sample in SAMPLES:
        entry = entry_of(commands, sample)
        words = [word.replace(ROOT, copy) for word in shlex.split(entry["command"])]
        # Not through ccache, which has its own ways with paths.
        words = words[next(i for i, word in enumerate(words) if not word.endswith("ccache")):]
        folder = entry["directory"].replace(ROOT, copy)
        into = os.path.join(folder, object_of(entry))
        os.makedirs(os.path.dirname(into), exist_ok=True)
        subprocess.run(words, cwd=folder, check=True)
        objects.append(into)
    return objects


def build_whole(commands, copy):
    """The binary, built from a copy of the sources as a packager would."""
    compiler = next(word for word in shlex.split(commands[0]["command"])
                    if not word.endswith("ccache"))
    for folder in (*MODULES, "docs"):
        shutil.copytree(os.path.join(ROOT, folder), os.path.join(copy, folder))
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(os.path.join(ROOT, name), copy)
    subprocess.run(["cmake", "--preset", "release", f"-DCMAKE_CXX_COMPILER={compiler}"], cwd=copy,
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "reclaim"], cwd=copy,
                   check=True, stdout=subprocess.DEVNULL)
    return [os.path.join(copy, "build", "release", "reclaim")]


def compare_two_folders(make):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        longer = os.path.join(other, "a-folder-of-another-length")
        for first, second in zip(make(os.path.realpath(one)), make(os.path.realpath(longer))):
            if not filecmp.cmp(first, second, shallow=False):
                yield f"{os.path.basename(first)} differs when it is built in another folder"


def main():
    build = os.path.realpath(sys.argv[1])
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    binary = os.path.join(build, "reclaim")
    complaints = [*look_at_headers(output("readelf", "-hldW", binary)),
                  *look_at_symbols({re.sub(r"@.*", "", line.split()[-1])
                                    for line in output("nm", "-D", "-u", binary).splitlines()}),
                  *look_at_commands(commands),
                  *look_for_paths(binary, build)]
    if re.search(r"Machine:.*(X86-64|80386)", output("readelf", "-h", binary)):
        for module in MODULES:
            folder = os.path.join(build, module)
            for name in sorted(os.listdir(folder)):
                if name.endswith(".a"):
                    complaints += look_at_archive(os.path.join(folder, name))
    complaints += compare_two_folders(lambda copy: compile_samples(commands, build, copy))
    if os.environ.get("RECLAIM_TEST_DEPTH") == "long":
        complaints += compare_two_folders(lambda copy: build_whole(commands, copy))
    for complaint in complaints:
        print(f"hardening: {complaint}")
    print(f"hardening: {binary}: {'BAD' if complaints else 'ok'}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
