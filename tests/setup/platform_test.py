#!/usr/bin/python3
"""Processors that Reclaim does not build for are refused when it is configured, with the reason and
the remedy.

usage: platform_test.py CMAKE PROJECT
"""

import subprocess
import sys
import tempfile

REFUSED = ("powerpc64-linux-gnu", "i386-linux-gnu")  # big-endian; 32 bits
REASON = "it needs a 64-bit, little-endian processor"
REMEDY = "Build it for amd64, arm64"


def configured_for(cmake, project, target, folder):
    """What CMake says; clang knows every processor, and nothing is linked."""
    return subprocess.run(
        [cmake, "-S", project, "-B", folder, "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
         "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++",
         "-DCMAKE_C_COMPILER_TARGET=" + target, "-DCMAKE_CXX_COMPILER_TARGET=" + target,
         "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=" + target.partition("-")[0]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def main(cmake, project):
    wrong = []
    for target in REFUSED:
        with tempfile.TemporaryDirectory() as folder:
            said = configured_for(cmake, project, target, folder)
        text = " ".join(said.stdout.split())
        if said.returncode == 0 or REASON not in text or REMEDY not in text:
            wrong.append("%s is not refused with reason and remedy: %s" %
                         (target, said.stdout[-500:]))
    print("\n".join(wrong) or "refused, with reason and remedy: %s" % ", ".join(REFUSED))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
