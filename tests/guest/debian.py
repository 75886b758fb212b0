"""Debian packages that the guest needs, downloaded and unpacked below a cache folder; nothing is
installed on this machine: a kernel and an LVM of the host's own would change how it boots and what
it does with its disks."""

import re
import subprocess
from pathlib import Path

KERNEL = "linux-image-cloud-amd64"  # depends on the one of today's version
SYSTEMD = ("systemd", "libsystemd-shared", "libapparmor1", "libaudit1", "libcap-ng0", "libip4tc2",
           "libkmod2", "libseccomp2")
TOOLS = ("lvm2", "mdadm", "liblvm2cmd2.03", "libdevmapper-event1.02.1")


class NotAvailable(Exception):
    """The package mirror or apt itself cannot help us; the text says what was tried."""


def _run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise NotAvailable(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout


def _kernel_package():
    depends = _run("apt-cache", "depends", KERNEL)
    found = re.search(r"Depends: (linux-image-\S+-cloud-amd64)", depends)
    if not found:
        raise NotAvailable(f"apt knows no kernel behind {KERNEL}; run `apt-get update`")
    return found.group(1)


def _unpack(packages, folder):
    """Downloads and unpacks once; a folder that is there is complete."""
    if folder.is_dir():
        return folder
    work = folder.with_suffix(".part")
    _run("rm", "-rf", str(work))
    (work / "root").mkdir(parents=True)
    _run("apt-get", "download", "-q", *packages, cwd=work)
    for deb in sorted(work.glob("*.deb")):
        _run("dpkg-deb", "-x", str(deb), str(work / "root"))
    (work / "root").rename(folder)
    _run("rm", "-rf", str(work))
    return folder


def find(root, path):
    """PATH of what was unpacked below ROOT, or None: Debian 13 has below usr/ what Debian 12 has
    beside it."""
    return next((each for each in (root / path, root / "usr" / path) if each.exists()), None)


def kernel(cache):
    """(path of vmlinuz, folder of its modules)."""
    kept = sorted(Path(cache).glob("linux-image-*"))
    kept = [folder for folder in kept if folder.suffix != ".part"]
    root = kept[-1] if kept else None
    if root is None:
        package = _kernel_package()
        root = _unpack([package], Path(cache) / package)
    image = next((root / "boot").glob("vmlinuz-*"))
    return image, next(find(root, "lib/modules").iterdir())


def tools(cache):
    """The folder below which LVM and mdadm are unpacked."""
    return _unpack(TOOLS, Path(cache) / "tools")


def systemd(cache):
    """The folder below which systemd is unpacked."""
    return _unpack(SYSTEMD, Path(cache) / "systemd")
