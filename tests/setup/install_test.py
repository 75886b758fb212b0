#!/usr/bin/python3
"""Installs a build into an empty folder and looks whether what a host needs is there and runs.

usage: install_test.py CMAKE BUILD_DIRECTORY
"""

import os
import subprocess
import sys
import tempfile

EXPECTED = (
    "bin/reclaim",
    "lib/systemd/system/reclaim.service",
    "lib/udev/rules.d/59-reclaim.rules",
    "etc/multipath/conf.d/reclaim.conf",
    "share/man/man8/reclaim.8",
    "share/doc/reclaim/reclaim.conf.sample",
    "share/doc/reclaim/README.md",
    "share/doc/reclaim/LICENSE",
    "share/doc/reclaim/certificate.md",
    "share/doc/reclaim/certificate.schema.json",
    "share/doc/reclaim/operator-guide.md",
    "share/doc/reclaim/cyborg-notifications.md",
    "share/doc/reclaim/cyborg-notifications.schema.json",
    "share/doc/reclaim/examples/arq_notifier.py",
    "share/doc/reclaim/examples/verify-certificate.sh",
)


def main():
    cmake, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        found = {os.path.relpath(os.path.join(folder, name), prefix)
                 for folder, _, names in os.walk(prefix) for name in names}
        complaints = [f"{path} is missing" for path in EXPECTED if path not in found]
        complaints += [f"{path} is not expected" for path in sorted(found - set(EXPECTED))]
        if not complaints:
            with open(os.path.join(prefix, EXPECTED[1]), encoding="utf-8") as unit:
                if f"ExecStart={prefix}/bin/reclaim serve" not in unit.read():
                    complaints.append("the unit does not start the binary that was installed")
            shown = subprocess.run([os.path.join(prefix, "bin/reclaim"), "--version"],
                                   stdout=subprocess.PIPE, check=False)
            if shown.returncode != 0 or not shown.stdout.strip():
                complaints.append(f"reclaim --version ended with {shown.returncode}")
    for complaint in complaints:
        print(f"install: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
