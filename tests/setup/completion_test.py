#!/usr/bin/python3
"""The completion of bash, asked as a shell asks it, and the syntax of zsh's.

usage: completion_test.py BINARY
"""

import os
import shutil
import subprocess
import sys
import tempfile

from manual_test import help_of, walk

# The words typed, the last one being completed, and what is offered.
CASES = (
    (["dev"], ["device"]),
    (["device", "o"], ["order"]),
    (["--debug", "--config-file", "device", "device", "order", ""], ["list", "withdraw"]),
    (["device", "list", "--st"], ["--state"]),
    (["device", "list", "--debug", "--config-f"], ["--config-file"]),
    (["device", "list", "--state", "a"], ["available", "allocated"]),
    (["device", "list", "--format", "=", "js"], ["json"]),
    (["device", "list", "-f", "="], ["table", "json", "yaml", "csv", "value"]),
    (["certificate", "show", "-f", "h"], ["html"]),
    (["device", "set", "0000:c1:00.0", "--maintenance", ""], ["on", "off"]),
    (["--config-file", "sam"], ["sample.conf"]),
    (["explain", "sam"], ["sample.conf"]),
    (["device", "show", "sam"], []),
    (["certificate", "list", "--folder", "=", "sam"], ["sample.conf"]),
    (["host", "pause", "--label", "sam"], []),
    (["host", "pause", "--label", "rack", "="], []),
    (["host", "pause", "--label", "rack", "=", ""], []),
    (["host", "pause", "--label", "rack", "=", "7", ""], ["compute-1", "compute-2"]),
    (["host", "pause", "--reason", "sam"], []),
    (["device", "show", "0000:c"], ["c1:00.0", "c2:00.0"]),
    (["device", "clean", "--yes", "S5"], ["S5X1"]),
    (["device", "abort", "--host", "compute-2", "0000"], ["0000:c9:00.0"]),
    (["device", "show", "nv"], ["nvme0", "nvme1"]),
    (["device", "show", "--host", "compute-2", "nv"], []),
    (["host", "pause", "comp"], ["compute-1", "compute-2"]),
    (["device", "list", "--host", "compute-2"], ["compute-2"]),
    (["watch", "--host", "=", "comp"], ["compute-1", "compute-2"]),
    (["nothing", "--vers"], ["--version"]),
    (["serve", "--vers"], []),
    (["comp"], []),
)
# As bash does it, but that the words before the last one are not broken at their colons.
ASK = 'source "$0"; COMP_LINE="reclaim $*"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(reclaim "$@"); ' \
      'COMP_CWORD=$#; COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]##*:}; _reclaim; ' \
      'printf "%s\\n" "${COMPREPLY[@]}"'
# Stands for the program where hosts and devices are asked for.
PROGRAM = """#!/bin/sh
case "$*" in
"host list"*) printf '%s\\n' compute-1 compute-2 ;;
*compute-2*) echo 0000:c9:00.0 S5X9 ;;
*) echo 0000:c1:00.0 S5X1; echo 0000:c2:00.0 PHX2 ;;
esac
"""


# Stands for the host's own: its kernel has two drives.
LS = """#!/bin/sh
[ "$*" = /sys/class/nvme ] && printf '%s\\n' nvme0 nvme1
"""


def complete(script, words, folder):
    done = subprocess.run(["bash", "--norc", "-uc", ASK, script, *words], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
    return [line for line in done.stdout.splitlines() if line], done.stderr


def look_at_bash(binary, script, folder):
    with open(os.path.join(folder, "sample.conf"), "w", encoding="utf-8"):
        pass
    for name, text in (("reclaim", PROGRAM), ("ls", LS)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o755)
    for words, expected in CASES:
        offered, errors = complete(script, words, folder)
        if offered != expected or errors:
            yield f"after {words} {offered} is offered, not {expected} {errors}"
    for command, options in walk(binary):
        words = command.split()
        offered, errors = complete(script, [*words, "--"], folder)
        for missing in sorted((options | {"--debug"}) - set(offered)):
            yield f"`reclaim {command} --` does not offer {missing} {errors}"
        below, _ = help_of(binary, words[:-1])
        offered, _ = complete(script, [*words[:-1], ""], folder)
        if offered != below:
            yield f"after {words[:-1]} {offered} is offered, not {below}"


def look_at_zsh(script):
    if not shutil.which("zsh"):
        print("completion: there is no zsh here, so its script is not read")
        return
    done = subprocess.run(["zsh", "-n", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0 or done.stdout:
        yield f"zsh: {done.stdout}"


def main():
    binary = os.path.abspath(sys.argv[1])
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        for shell in ("bash", "zsh"):
            script = os.path.join(folder, shell)
            with open(script, "w", encoding="utf-8") as out:
                subprocess.run([binary, "completion", shell], stdout=out, check=True)
            complaints += (look_at_bash(binary, script, folder) if shell == "bash" else
                           look_at_zsh(script))
    for complaint in complaints:
        print(f"completion: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
