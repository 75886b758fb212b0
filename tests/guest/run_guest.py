#!/usr/bin/python3
"""Runs test binaries in a QEMU guest: a real kernel with its nvme and vfio-pci drivers, emulated
PCI NVMe drives and an IOMMU. Nothing of this machine is touched but a cache folder.

    tests/guest/run_guest.py --cache build/test/guest-cache BINARY...
    tests/guest/run_guest.py --cache ... BINARY -- --gtest_filter='Vfio*'
    tests/guest/run_guest.py --cache ... --shell BINARY...     a shell in the guest instead
    tests/guest/run_guest.py --cache ... --units build/test/reclaim BINARY...    under systemd

Exit code: that of the tests; 77 when QEMU or the kernel package cannot be had (skipped), with the
reason in the output. The serial log is kept, and named, when anything fails.
"""

import argparse
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import debian
from initramfs import Initramfs
from machine import Machine
from systemd import add_systemd

HERE = Path(__file__).resolve().parent
SILENT_S = 240
SKIPPED = 77


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    own, rest = sys.argv[1:], []
    if "--" in own:
        rest = own[own.index("--") + 1:]
        own = own[:own.index("--")]
    parser.add_argument("binaries", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="where packages are unpacked")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for all of it")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("--library", type=Path, action="append", default=[],
                        help="a library to put beside the binaries, for LD_PRELOAD")
    parser.add_argument("--units", type=Path, metavar="RECLAIM",
                        help="boot systemd with the shipped units, for this binary (confined/)")
    parser.add_argument("--rules", type=Path, default=HERE.parents[1] / "config/59-reclaim.rules")
    return parser.parse_args(own), rest


def missing_programs():
    wanted = ("qemu-system-x86_64", "busybox", "cpio", "strip", "ldd", "nvme", "udevadm")
    return [name for name in wanted if not shutil.which(name)]


def build(options, rest, folder):
    image, modules = debian.kernel(options.cache)
    initramfs = Initramfs(folder / "root", debian.tools(options.cache))
    initramfs.add_base(HERE)
    initramfs.add_udev(options.rules)
    initramfs.add_modules(modules)
    for binary in options.binaries:
        initramfs.add_program(binary, f"tests/{binary.name}")
    if options.units:
        unpacked = debian.systemd(options.cache)
        initramfs.library_roots.append(unpacked)
        add_systemd(initramfs, unpacked, options.units)
    for library in options.library:
        initramfs.add_program(library, f"tests/{library.name}")
    lines = [" ".join([binary.name, *rest]) for binary in options.binaries]
    (folder / "root/tests/list").write_text("\n".join(lines) + "\n")
    initramfs.write(folder / "initrd")
    shutil.rmtree(folder / "root")
    return image, folder / "initrd"


class Silence:
    """Ends a machine of which nothing is heard any more: an emulated processor may stop for good,
    whatever runs on it. A test that waits says something long before."""

    def __init__(self, process):
        self.process, self.heard_at, self.ended = process, time.monotonic(), False
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while self.process.poll() is None:
            time.sleep(1)
            if time.monotonic() - self.heard_at > SILENT_S:
                self.ended = True
                self.process.kill()
                return


def run(options, kernel, initrd, folder):
    """The exit code; nothing: it fell silent."""
    folder.mkdir()
    machine = Machine(folder, kernel, initrd, options.shell)
    timer = threading.Timer(options.timeout, machine.process.kill)
    if options.shell:
        machine.process.wait()
        return 0
    timer.start()
    silence = Silence(machine.process)
    log = folder / "serial.log"
    with open(log, "wb") as kept:
        for line in machine.process.stdout:
            silence.heard_at = time.monotonic()
            kept.write(line)
            sys.stdout.write(line.decode("utf-8", "replace").replace("\r", ""))
            sys.stdout.flush()
    machine.process.wait()
    in_time = timer.is_alive()
    timer.cancel()
    if machine.outcome == 0:
        return 0
    if silence.ended:
        return None
    kept = options.cache / "last-failure.log"
    shutil.copy(log, kept)
    if not in_time:
        print(f"run_guest: the guest was still at it after {options.timeout} s and was killed")
    elif machine.outcome is None:
        print("run_guest: the guest ended without saying how its tests went (a panic?)")
    print(f"run_guest: FAILED; the guest's console is kept in {kept}")
    return 1


def main():
    options, rest = arguments()
    missing = missing_programs()
    if missing:
        print(f"run_guest: SKIPPED, not installed: {', '.join(missing)} "
              "(tests/setup/install_packages.sh guest)")
        return SKIPPED
    options.cache = options.cache.resolve()
    options.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="reclaim-guest-") as name:
        folder = Path(name)
        try:
            kernel, initrd = build(options, rest, folder)
        except debian.NotAvailable as reason:
            print(f"run_guest: SKIPPED, {reason}")
            return SKIPPED
        for attempt in ("first", "second"):
            code = run(options, kernel, initrd, folder / attempt)
            if code is not None:
                return code
            print(f"retried guest: nothing was heard of it for {SILENT_S} s ({attempt} boot)",
                  flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
