"""A systemd for the guest, and on it the units that ship, with the binary at its place. Of systemd
only what they need is there: no journal, no logins, no device manager."""

import shutil
from pathlib import Path

import debian

HERE = Path(__file__).resolve().parent
CONFIG = HERE.parents[1] / "config"
PROGRAMS = ("lib/systemd/systemd", "lib/systemd/systemd-shutdown", "bin/systemctl",
            "bin/systemd-sysusers", "usr/bin/systemd-analyze")
# Where systemd 254 or newer has its services begin.
EXECUTOR = "lib/systemd/systemd-executor"
UNITS = ("sysinit.target", "basic.target", "sockets.target", "paths.target", "timers.target",
         "slices.target", "shutdown.target", "umount.target", "multi-user.target",
         "network-online.target", "modprobe@.service", "-.slice", "system.slice",
         "local-fs.target", "local-fs-pre.target", "swap.target", "tmp.mount")
# On the shipped units: where they say what they say, for there is no journal.
LOG = "[Service]\nStandardOutput=append:/run/%N.log\nStandardError=inherit\n"
# A copy of reclaim.service that runs a test in the worker's place: nothing else of it is changed.
PROBE = LOG + ("Type=oneshot\nRestart=no\nWatchdogSec=0\nTimeoutStartSec=300\nExecReload=\n"
               "ExecStart=\nExecStart=/tests/%i\n")
# What a test needs beside: the line on which it asks the host what is on the media.
HOST_LINE = "[Service]\nDeviceAllow=/dev/ttyS1 rw\n"
SUITE = ("[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nStandardOutput=tty\n"
         "StandardError=inherit\nTTYPath=/dev/ttyS0\nExecStart=/tests/confined\n")


def add_systemd(initramfs, unpacked, reclaim):
    """`unpacked`: the packages' files; `reclaim`: the binary that the units start."""
    root = initramfs.root
    for program in (*PROGRAMS, EXECUTOR):
        found = debian.find(unpacked, program)
        if found is None and program == EXECUTOR:
            continue
        initramfs.add_program(found, "usr/" + program.removeprefix("usr/"))
    units = debian.find(unpacked, "lib/systemd/system")
    for name in UNITS:
        if (units / name).exists():
            initramfs.add_file(units / name, "usr/lib/systemd/system/" + name)
    initramfs.add_program(reclaim, "usr/bin/reclaim")
    for name in ("reclaim.service", "reclaim-api.service"):
        initramfs.add_file(CONFIG / name, "usr/lib/systemd/system/" + name)
    initramfs.add_file(CONFIG / "reclaim-sysusers.conf", "usr/lib/sysusers.d/reclaim.conf")
    local = root / "etc/systemd/system"
    local.mkdir(parents=True)
    shutil.copy(CONFIG / "reclaim.service", local / "probe@.service")
    for name, text in (("probe@.service.d/probe.conf", PROBE),
                       ("probe@binding_guest_test.service.d/line.conf", HOST_LINE),
                       ("reclaim.service.d/log.conf", LOG),
                       ("reclaim-api.service.d/log.conf", LOG)):
        (local / name).parent.mkdir(exist_ok=True)
        (local / name).write_text(text)
    (local / "suite.service").write_text(SUITE)
    (local / "default.target").write_text("[Unit]\nRequires=suite.service\n")
    for script in (HERE / "confined").iterdir():
        target = "tests/" if script.name != "configure" else "usr/share/reclaim/"
        initramfs.add_file(script, target + script.name).chmod(0o755)
