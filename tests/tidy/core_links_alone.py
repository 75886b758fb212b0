#!/usr/bin/python3
"""Looks at the binary that holds all cores whole: what it needs, and which symbols it misses.

usage: core_links_alone.py BINARY LIBRARY...      (the names of the libraries it must hold)
"""

import re
import subprocess
import sys

ALLOWED = re.compile(r"^(libc|libm|libstdc\+\+|libgcc_s|libpthread|ld-linux[\w-]*|"
                     r"libfmt|libre2|libabsl_\w+|libuuid|libllhttp)\.so")
FOREIGN = re.compile(r"^(uv_|redis[A-Z]|curl_|amqp_|nvme_)")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def main():
    binary, libraries = sys.argv[1], sys.argv[2:]
    complaints = []
    if len(libraries) < 2:
        complaints.append(f"only {libraries} were given: the list of cores is broken")
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", binary)):
        if not ALLOWED.match(needed):
            complaints.append(f"it needs {needed}")
    for symbol in re.findall(r"\bU (\S+)", output("nm", "-u", binary)):
        if FOREIGN.match(symbol):
            complaints.append(f"it misses {symbol}")
    if not re.search(r"\bT \S*reclaim", output("nm", binary)):
        complaints.append("it holds nothing of namespace reclaim: the cores were not linked whole")
    for complaint in complaints:
        print(f"core_links_alone: {complaint}")
    print(f"core_links_alone: {', '.join(libraries)}: {'BAD' if complaints else 'ok'}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
