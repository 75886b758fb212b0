#!/usr/bin/python3
"""Installs a build into an empty folder and looks whether what a host needs is there and runs.

usage: install_test.py CMAKE BUILD_DIRECTORY
"""

import os
import shutil
import subprocess
import sys
import tempfile

EXPECTED = (
    "bin/reclaim",
    "lib/systemd/system/reclaim.service",
    "lib/systemd/system/reclaim-api.service",
    "lib/sysusers.d/reclaim.conf",
    "lib/udev/rules.d/59-reclaim.rules",
    "etc/multipath/conf.d/reclaim.conf",
    "share/man/man8/reclaim.8",
    "share/doc/reclaim/reclaim.conf.sample",
    "share/doc/reclaim/README.md",
    "share/doc/reclaim/LICENSE",
    "share/doc/reclaim/certificate.md",
    "share/doc/reclaim/certificate.schema.json",
    "share/doc/reclaim/clean-step-protocol.md",
    "share/doc/reclaim/operator-guide.md",
    "share/doc/reclaim/cyborg-notifications.md",
    "share/doc/reclaim/cyborg-notifications.schema.json",
    "share/doc/reclaim/notifications.md",
    "share/doc/reclaim/notifications.schema.json",
    "share/doc/reclaim/examples/arq_notifier.py",
    "share/doc/reclaim/examples/steps/generic-cmd",
    "share/doc/reclaim/examples/steps/link-width",
    "share/doc/reclaim/examples/steps/mlx-firmware",
    "share/doc/reclaim/examples/steps/vendor-scrub",
    "share/doc/reclaim/examples/verify-certificate.sh",
)


# The device API's process parses what strangers send: each of these has to stay.
API_UNIT = ("User=reclaim-api", "CapabilityBoundingSet=", "NoNewPrivileges=yes",
            "PrivateDevices=yes", "DevicePolicy=closed", "ProtectSystem=strict",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6", "SystemCallFilter=@system-service",
            "MemoryDenyWriteExecute=yes", "Type=notify")


def look_at_api_unit(path):
    with open(path, encoding="utf-8") as unit:
        lines = unit.read().splitlines()
    yield from (f"{path} has no line {line}" for line in API_UNIT if line not in lines)
    yield from (f"{path} gives more: {line}" for line in lines
                if line.startswith(("AmbientCapabilities=C", "DeviceAllow=", "StateDirectory=")))


def verify_units(paths):
    """What systemd says of them, where there is one to ask; that a man page or another service is
    not on this machine is not the unit's fault."""
    if not shutil.which("systemd-analyze"):
        return
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                           *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    for line in done.stdout.splitlines():
        if any(path in line or os.path.basename(path) + ":" in line for path in paths):
            yield "systemd-analyze: " + line


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
            units = {command: os.path.join(prefix, "lib/systemd/system", name)
                     for command, name in (("serve", "reclaim.service"),
                                           ("api", "reclaim-api.service"))}
            for command, path in units.items():
                with open(path, encoding="utf-8") as unit:
                    if f"ExecStart={prefix}/bin/reclaim {command}" not in unit.read():
                        complaints.append(f"{path} does not start the binary that was installed")
            complaints += verify_units(list(units.values()))
            complaints += look_at_api_unit(units["api"])
            shown = subprocess.run([os.path.join(prefix, "bin/reclaim"), "--version"],
                                   stdout=subprocess.PIPE, check=False)
            if shown.returncode != 0 or not shown.stdout.strip():
                complaints.append(f"reclaim --version ended with {shown.returncode}")
    for complaint in complaints:
        print(f"install: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
