#!/usr/bin/python3
"""Whether the shipped unit lets the worker open each device node that it opens.

The restriction itself (a BPF program of systemd's) is run in the guest (tests/guest/confined), for
what its tests open. What the sources open below the dev root is listed; a line that is new there
has to be added with the device it needs.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# File, what the line says, the devices as DeviceAllow= names them and how they are opened. None:
# nothing is opened.
OPENED = [
    ("nvme/host/claim.cpp", "sys.disk.name;", ("block-blkext", "rw")),
    ("nvme/host/claim.cpp", "ns.sys.disk.name,", None),  # fstat of what is open
    ("nvme/host/nodes.cpp", "sys.controller;", ("char-nvme", "rw")),
    ("nvme/host/signatures.cpp", "ns.disk.name;", ("block-blkext", "r")),
    ("nvme/host/vfio_group.cpp", "kind, drive->iommu_group);", ("char-vfio", "rw")),
    ("nvme/host/host_look.cpp", "path.substr(4);", None),  # realpath
    ("nvme/host/host_look.cpp", "const std::string nodes =", None),  # names to compare with
    ("nvme/host/guards_guest.cpp", "const std::string dev =", None),  # names to compare with
    ("nvme/options.h", "std::string dev_root", None),
]


def allowed(unit):
    rules = dict(re.findall(r"^DeviceAllow=(\S+) (\S+)$", unit, re.MULTILINE))
    return rules if re.search(r"^DevicePolicy=closed$", unit, re.MULTILINE) else None


def check(unit, lines):
    """`lines`: (file, line) of all that speak of the dev root. Returns what is wrong."""
    rules = allowed(unit)
    if rules is None:
        return ["reclaim.service: DevicePolicy=closed is gone, so that this test means nothing"]
    problems = []
    for file, line in lines:
        needs = [need for name, words, need in OPENED if name == file and words in line]
        if len(needs) != 1:
            problems.append("%s: '%s' is not listed in this test" % (file, line))
        elif needs[0] and not set(needs[0][1]) <= set(rules.get(needs[0][0], "")):
            problems.append("reclaim.service: %s opens %s %s, and no DeviceAllow= says so" %
                            ((file,) + needs[0]))
    for file, words, _ in OPENED:
        if not any(name == file and words in line for name, line in lines):
            problems.append("%s: nothing says '%s' any more" % (file, words))
    for device in rules:
        if not any(need and need[0] == device for _, _, need in OPENED):
            problems.append("reclaim.service: nothing opens %s" % device)
    for module in ("nvme", "vfio"):
        if "modprobe@%s.service" % module not in unit:
            problems.append("reclaim.service: char-%s is unknown where %s is not loaded yet" %
                            (module, module))
    return problems


def main():
    unit = (ROOT / "config/reclaim.service").read_text(encoding="utf-8")
    lines = []
    for path in sorted((ROOT / "nvme").rglob("*.*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".cpp":
            text = re.sub(r"\n\s+", " ", text)
        for line in text.splitlines():
            for part in re.findall(r"[^;{}]*dev_root[^;]*;", line):
                lines.append((path.relative_to(ROOT).as_posix(), part.strip()))
    problems = check(unit, lines)
    # The checker itself: a unit without a device, and a source that opens another one.
    assert check(unit.replace("DeviceAllow=char-vfio rw", ""), lines)
    assert check(unit, lines + [("nvme/host/claim.cpp", "open(options_.dev_root + other);")])
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
