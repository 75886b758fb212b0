"""The compute host: a Debian 12 in a QEMU guest with an NVMe drive of QEMU's own, which reaches the
services of this machine's loopback at 10.0.2.2. Commands are run in it over a serial line."""

import base64
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guest"))

from machine import accelerator  # noqa: E402  (tests/guest)

ADDRESS = "0000:01:00.0"
VENDOR, PRODUCT = "1b36", "0010"
SERIAL = "FIRST-HOUR-1"
DRIVE_BYTES = 64 << 20
# A copy of QEMU looks for its modules beside itself.
MODULES = "/usr/lib/x86_64-linux-gnu/qemu"


class Gone(AssertionError):
    """The guest ended, or did not answer in time."""


def honest_qemu(folder):
    """The command of a copy of QEMU whose drives say one firmware revision. QEMU's own say its
    version in Identify and 1.0 in the log of the slots, and Reclaim quarantines a drive that
    contradicts itself."""
    program = shutil.which("qemu-system-x86_64")
    told = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    version = re.search(r"version (\S+)", told.stdout).group(1).encode()
    image = Path(program).read_bytes()
    # The linker has made it the end of a longer text.
    if image.count(version + b"\0") != 1:
        raise Gone("%s does not hold its version once: adapt honest_qemu()" % program)
    copy = folder / "qemu-system-x86_64"
    copy.write_bytes(image.replace(version + b"\0", b"1.0".ljust(len(version) + 1, b"\0")))
    copy.chmod(0o755)
    data = subprocess.run([program, "-L", "help"], stdout=subprocess.PIPE, text=True, check=True)
    return [str(copy), *(word for folder in data.stdout.split() for word in ("-L", folder))]


class Guest:
    def __init__(self, folder, paths, files):
        """`files`: a tar archive, which the guest sees as its second disk."""
        disk, kernel, initrd = paths
        accel = accelerator()
        self._console, self._said = folder / "console.log", folder / "qemu.log"
        self.drive = folder / "drive.img"
        line = folder / "line"
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(line))
        listening.listen(1)
        self.process = subprocess.Popen(
            [*honest_qemu(folder), "-nodefaults", "-display", "none",
             "-no-reboot", "-m", "1024", "-smp", "2", "-machine", "q35,accel=" + accel,
             "-cpu", "host" if accel == "kvm" else "max",
             "-kernel", str(kernel), "-initrd", str(initrd), "-append",
             "root=LABEL=root rw console=ttyS0 panic=-1 no_timer_check",
             "-serial", "file:%s" % self._console, "-serial", "unix:%s" % line,
             "-drive", "file=%s,format=raw,if=virtio,snapshot=on" % disk,
             "-drive", "file=%s,format=raw,if=virtio,readonly=on" % files,
             "-device", "pcie-root-port,id=port1,chassis=1,slot=1",
             "-device", "nvme,id=tenants,serial=%s,bus=port1" % SERIAL,
             "-drive", "file=%s,if=none,id=blocks,format=raw" % self.drive,
             "-device", "nvme-ns,drive=blocks,nsid=1,bus=tenants",
             "-netdev", "user,id=site", "-device", "virtio-net-pci,netdev=site"],
            env={**os.environ, "QEMU_MODULE_DIR": MODULES}, stdin=subprocess.DEVNULL,
            stdout=open(self._said, "wb"), stderr=subprocess.STDOUT)
        listening.settimeout(60)
        self._socket, _ = listening.accept()
        self._lines = self._socket.makefile("rw", encoding="ascii", newline="\n")

    def wait_until_up(self, deadline_s):
        self._read(deadline_s, "ready")

    def _read(self, deadline_s, begins=""):
        found = []

        def read():
            for line in self._lines:
                # Before the guest has set its line, an echo or nothing at all may come.
                if line.strip().startswith(begins):
                    found.append(line.strip())
                    return
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        until = time.monotonic() + deadline_s
        while reader.is_alive() and time.monotonic() < until and self.process.poll() is None:
            reader.join(1)
        if not found:
            raise Gone("the guest says nothing; the end of its console:\n" + self.console())
        return found[0]

    def console(self, lines=30):
        logs = (log for log in (self._said, self._console) if log.exists())
        text = "".join(log.read_text(errors="replace") for log in logs).replace("\r", "")
        return "\n".join(text.splitlines()[-lines:])

    def run(self, script, user="root", deadline_s=600):
        """(exit code, output) of a script for bash, in USER's home."""
        self._lines.write("%s %s\n" % (user, base64.b64encode(script.encode()).decode()))
        self._lines.flush()
        code, _, said = self._read(deadline_s).partition(" ")
        return int(code), base64.b64decode(said).decode(errors="replace")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._socket.close()
