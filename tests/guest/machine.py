"""The emulated machine: its drives, its start, and the line on which a guest asks the host.

The guest writes one request a line to its second serial port and reads one line back, which begins
with "ok" or "error":
    monitor COMMAND      QEMU's human monitor (device_del, qom-set ...)
    card OWNER           the card, taken out before, comes back with the ROM of maker or tenant
    count IMAGE TEXT     how often TEXT stands in the drive's image file: what is really there
    done RC              the outcome; no answer
"""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../integration/stack"))
from service_process import die_with_parent  # noqa: E402

MEBI = 1 << 20

# One root port a drive, so that each has an IOMMU group of its own and can be unplugged. Drive N of
# this table (from 1) is 0000:0N:00.0; guest_fixture.h names the same addresses.
#   (serial, sizes of its namespaces in MiB, in a subsystem of its own: CMIC set)
DRIVES = (
    ("PLAIN", (32,), False),
    ("TWO", (16, 16), True),
    ("PASSED", (32,), False),
    ("PULLED", (32,), False),
    ("SICK", (16,), False),
    ("STACK", (16, 16, 16), True),
    ("HYBRID", (), True),
    ("GONE", (16,), False),
    ("MEMORY", (16,), False),
)
# A controller memory buffer and a persistent memory region, a MiB each. Of what else a tenant may
# leave beside the blocks, QEMU 7.2 has nothing: no LBA range types, APST, NVM sets or placement.
MEMORY = "cmb_size_mb=1,pmrdev=region"


# HYBRID's three namespaces are one medium: all of it, its first half, its second half (hybrid.h).
#   (namespace, offset in MiB, size in MiB)
HYBRID_VIEWS = ((1, 0, 16), (2, 0, 8), (3, 8, 8))


def hybrid_arguments(folder):
    image = folder / "hybrid1.img"
    with open(image, "wb") as file:
        file.truncate(16 * MEBI)
    arguments = []
    for nsid, offset, size in HYBRID_VIEWS:
        node = {"driver": "raw", "node-name": f"hybrid{nsid}", "offset": offset * MEBI,
                "size": size * MEBI,
                "file": {"driver": "file", "filename": str(image), "locking": "off"}}
        detached = "off" if nsid == 1 else "on"
        arguments += ["-blockdev", json.dumps(node), "-device",
                      f"nvme-ns,drive=hybrid{nsid},nsid={nsid},bus=hybrid,shared=off,"
                      f"detached={detached},share-rw=on"]
    return arguments


def drive_arguments(folder):
    """QEMU's arguments for the drives; makes their images."""
    arguments = []
    for number, (serial, sizes, shared) in enumerate(DRIVES, start=1):
        name = serial.lower()
        arguments += ["-device", f"pcie-root-port,id=port{number},chassis={number},slot={number}"]
        subsystem = ""
        if shared:
            arguments += ["-device", f"nvme-subsys,id={name}-subsys,nqn={name}"]
            subsystem = f",subsys={name}-subsys"
        memory = ""
        if serial == "MEMORY":
            arguments += ["-object", "memory-backend-ram,id=region,size=1M"]
            memory = "," + MEMORY
        arguments += ["-device",
                      f"nvme,id={name},serial={serial},bus=port{number}{subsystem}{memory}"]
        for nsid, mebis in enumerate(sizes, start=1):
            image = folder / f"{name}{nsid}.img"
            with open(image, "wb") as file:
                file.truncate(mebis * MEBI)
            arguments += ["-drive", f"file={image},if=none,id={name}{nsid},format=raw",
                          "-device", f"nvme-ns,drive={name}{nsid},nsid={nsid},bus={name}"]
        if serial == "HYBRID":
            arguments += hybrid_arguments(folder)
    return arguments


# A network card behind the drives, 0000:0a:00.0, with an expansion ROM of its maker's and, to be
# plugged in with it instead, one that a tenant wrote.
CARD = f"virtio-net-pci,id=card,bus=port{len(DRIVES) + 1},disable-legacy=on,aer=on"


def rom_image(text, device=0x1041):
    """An image as PCI Firmware 3.3, 5.1 has it: header, data structure, so many units of 512."""
    units = 16
    image = bytearray(text.encode() * (units * 512 // len(text) + 1))[:units * 512]
    image[0:0x1c] = b"\x55\xaa" + bytes([units]) + bytes(0x18 - 3) + b"\x1c\0" + b"\0\0"
    structure = struct.pack("<4sHHHHB3sHHBBH", b"PCIR", 0x1af4, device, 0, 0x18, 0,
                            b"\0\0\x02", units, 0, 0, 0x80, 0)
    image[0x1c:0x1c + len(structure)] = structure
    return bytes(image)


def card_arguments(folder):
    for owner in ("maker", "tenant"):
        (folder / f"{owner}.rom").write_bytes(rom_image(f"the {owner}'s. "))
    number = len(DRIVES) + 1
    return ["-L", str(folder), "-device",
            f"pcie-root-port,id=port{number},chassis={number},slot={number}",
            "-device", f"{CARD},romfile=maker.rom"]


def accelerator():
    """TCG, always: a /dev/kvm that is there may still not run an unmodified kernel (nested), and
    what is tested is no matter of speed. RECLAIM_GUEST_ACCEL=kvm is for machines where it does."""
    return os.environ.get("RECLAIM_GUEST_ACCEL", "tcg")


class Monitor:
    """QEMU's QMP socket."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rw", encoding="utf-8")
        self._lines.readline()  # the greeting
        self._ask("qmp_capabilities")

    def _ask(self, command, **arguments):
        self._lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._lines.flush()
        while True:
            answer = json.loads(self._lines.readline())
            if "return" in answer or "error" in answer:
                return answer

    def human(self, line):
        """What the human monitor says; nothing, mostly, when it did as told."""
        answer = self._ask("human-monitor-command", **{"command-line": line})
        return answer.get("return") or answer.get("error", {}).get("desc", "")


class Machine:
    def __init__(self, folder, kernel, initrd, shell):
        self._folder = folder
        self.outcome = None  # what the guest's tests ended with; None: it never said
        self._lines = socket.socket(socket.AF_UNIX)
        self._lines.bind(str(folder / "asks"))
        self._lines.listen(1)
        # iommu=pt as on most hosts that pass devices through; and without it Debian's 6.1.192 trips
        # over the doorbell buffers (which emulated controllers have) of a removed one still open.
        # no_timer_check: a kernel that sees too few ticks of a busy host's timer at boot panics.
        append = "console=ttyS0 quiet panic=-1 intel_iommu=on iommu=pt no_timer_check"
        if shell:
            append += " reclaim.shell"
        accel = accelerator()
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-m", "1024",
             "-smp", "2", "-machine", f"q35,kernel-irqchip=split,accel={accel}",
             "-cpu", "host" if accel == "kvm" else "max", "-device", "intel-iommu,intremap=on",
             "-kernel", kernel, "-initrd", initrd, "-append", append,
             "-serial", "stdio", "-serial", f"unix:{folder / 'asks'}",
             "-qmp", f"unix:{folder / 'qmp'},server=on,wait=off", *drive_arguments(folder),
             *card_arguments(folder)],
            stdin=None if shell else subprocess.DEVNULL, preexec_fn=die_with_parent,
            stdout=None if shell else subprocess.PIPE, stderr=subprocess.STDOUT)
        self._answers = threading.Thread(target=self._answer, daemon=True)
        self._answers.start()

    def _count(self, drive, text):
        if not re.fullmatch(r"[a-z]+[0-9]", drive):
            return f"error no drive {drive}"
        return f"ok {(self._folder / (drive + '.img')).read_bytes().count(text.encode())}"

    def _do(self, request):
        verb, _, rest = request.partition(" ")
        if verb == "monitor":
            return "ok " + " ".join(self._monitor.human(rest).split())
        if verb == "card" and rest in ("maker", "tenant"):
            return "ok " + self._monitor.human(f"device_add {CARD},romfile={rest}.rom").strip()
        if verb == "count":
            return self._count(*rest.split(" ", 1))
        return f"error unknown request {verb}"

    def _answer(self):
        connection, _ = self._lines.accept()
        self._monitor = Monitor(self._folder / "qmp")
        with connection.makefile("rw", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                request = line.strip()
                if request.startswith("done "):
                    self.outcome = int(request.split()[1])
                    return
                try:
                    answer = self._do(request)
                except (OSError, ValueError, TypeError) as problem:
                    answer = f"error {problem}"
                lines.write(answer + "\n")
                lines.flush()
