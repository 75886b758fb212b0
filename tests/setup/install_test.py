#!/usr/bin/python3
"""Installs a build into an empty folder and looks whether what a host needs is there and runs.

usage: install_test.py CMAKE BUILD_DIRECTORY
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

EXPECTED = {
    "bin/reclaim",
    "bin/reclaim-status",
    "lib/debug{prefix}/bin/reclaim.debug",
    "lib/systemd/system/reclaim.service",
    "lib/systemd/system/reclaim-api.service",
    "lib/sysusers.d/reclaim.conf",
    "lib/udev/rules.d/59-reclaim.rules",
    "etc/logrotate.d/reclaim",
    "etc/multipath/conf.d/reclaim.conf",
    "share/bash-completion/completions/reclaim",
    "share/zsh/vendor-completions/_reclaim",
    "share/man/man5/reclaim.conf.5",
    "share/man/man8/reclaim.8",
    "share/man/man8/reclaim-certificate.8",
    "share/man/man8/reclaim-config.8",
    "share/man/man8/reclaim-device.8",
    "share/man/man8/reclaim-fleet.8",
    "share/reclaim/grafana-reclaim.json",
    "share/reclaim/reclaim.rules.yml",
    "share/doc/reclaim/README.md",
    "share/doc/reclaim/LICENSE",
    "share/doc/reclaim/SECURITY.md",
    "share/doc/reclaim/clients/python/README.md",
    "share/doc/reclaim/config/container/Containerfile",
    "share/doc/reclaim/devstack/README.md",
    "share/doc/reclaim/devstack/settings",
    "share/doc/reclaim/config/reclaim.conf.sample",
}
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def expected(prefix):
    """With all documents of the source, and the role; manual pages lie elsewhere."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    documents = {"share/doc/reclaim/" + os.path.relpath(os.path.join(folder, name), source)
                 for top in ("docs", "clients/ansible")
                 for folder, _, names in os.walk(os.path.join(source, top)) for name in names
                 if not re.search(r"\.[58]$", name)}
    return {path.format(prefix=prefix) for path in EXPECTED} | documents


def broken_links(folder):
    for document in glob.glob(folder + "/**/*.md", recursive=True):
        with open(document, encoding="utf-8") as text:
            for link in LINK.findall(text.read()):
                target = os.path.normpath(os.path.join(os.path.dirname(document), link))
                if target.startswith(folder) and not os.path.exists(target):
                    yield f"{document} links to {link}, which is not installed"


def look_at_debug(binary):
    """It is stripped, and tells where the rest is."""
    sections = subprocess.run(["objdump", "-h", binary], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    if ".debug_info" in sections:
        yield f"{binary} is not stripped"
    if ".gnu_debuglink" not in sections:
        yield f"{binary} does not say where its debug information is"


def system_paths(cmake, build, root):
    """Below /usr, what other programs read goes to the system's own /etc."""
    subprocess.run([cmake, "--install", build, "--prefix", "/usr"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": root})
    for path in ("etc/multipath/conf.d/reclaim.conf", "etc/logrotate.d/reclaim",
                 "usr/lib/debug/usr/bin/reclaim.debug", "usr/bin/reclaim"):
        if not os.path.exists(os.path.join(root, path)):
            yield f"with --prefix /usr, /{path} is missing"


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
        wanted = expected(prefix)
        complaints = [f"{path} is missing" for path in sorted(wanted - found)]
        complaints += [f"{path} is not expected" for path in sorted(found - wanted)]
        complaints += broken_links(os.path.join(prefix, "share/doc/reclaim"))
        complaints += look_at_debug(os.path.join(prefix, "bin/reclaim"))
        with tempfile.TemporaryDirectory() as root:
            complaints += system_paths(cmake, build, root)
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
