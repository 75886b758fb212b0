"""A bare Debian 12 as a disk image, with what its site has put there before Reclaim comes: an
operator with sudo, Nova's and libvirt's folders, the network. Made once, below a cache folder;
each guest writes to a copy that is gone when it ends. Needs root and a package mirror."""

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = "bookworm"
PACKAGES = ("linux-image-cloud-amd64", "systemd", "systemd-sysv", "udev", "dbus", "sudo",
            "ca-certificates", "init-system-helpers")
IMAGE_BYTES = 4 << 30

# As on any host: (path, text, mode).
NETWORK = "[Match]\nName=en*\n[Network]\nDHCP=yes\n"
USER = "cloud"
OPERATOR = USER + " ALL=(ALL) NOPASSWD: ALL\n"
# What an operator says to apt's question.
YES = 'APT::Get::Assume-Yes "true";\nAcquire::Check-Valid-Until "false";\n'
# libvirt makes these; a host without guests has them empty.
LIBVIRT = "d /run/libvirt 0755\nd /run/libvirt/qemu 0755\n"
LINE = ("[Unit]\nAfter=multi-user.target network-online.target\nWants=network-online.target\n"
        "[Service]\nExecStart=/usr/local/sbin/host-line\nRestart=always\n"
        "[Install]\nWantedBy=multi-user.target\n")
FILES = (
    ("etc/hostname", "compute-2\n", 0o644),
    ("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 compute-2\n10.0.2.2 controller\n", 0o644),
    ("etc/resolv.conf", "nameserver 10.0.2.3\n", 0o644),
    ("etc/fstab", "", 0o644),
    ("etc/systemd/network/80-site.network", NETWORK, 0o644),
    ("etc/sudoers.d/operator", OPERATOR, 0o440),
    ("etc/apt/apt.conf.d/90-site", YES, 0o644),
    ("etc/tmpfiles.d/libvirt.conf", LIBVIRT, 0o644),
    ("etc/systemd/system/host-line.service", LINE, 0o644),
)
FOLDERS = ("etc/libvirt/qemu", "etc/nova", "var/lib/nova")


class NotAvailable(Exception):
    """Why this machine cannot make it."""


def _run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise NotAvailable("`%s` failed: %s" % (" ".join(words), done.stdout.strip()[-1000:]))


def _furnish(root):
    for path, text, mode in FILES:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(mode)
    for path in FOLDERS:
        (root / path).mkdir(parents=True, exist_ok=True)
    line = root / "usr/local/sbin/host-line"
    shutil.copy(HERE / "host_line.sh", line)
    line.chmod(0o755)
    _run("chroot", str(root), "useradd", "--create-home", "--shell", "/bin/bash", USER)
    _run("chroot", str(root), "systemctl", "enable", "systemd-networkd", "host-line")
    # Every guest has its own.
    (root / "etc/machine-id").write_text("", encoding="ascii")


def make(cache):
    """(disk image, kernel, initrd)."""
    made = Path(cache) / "debian-12"
    paths = made / "disk.img", made / "vmlinuz", made / "initrd"
    if made.is_dir():
        return paths
    part = Path(cache) / "debian-12.part"
    _run("rm", "-rf", "--one-file-system", str(part))
    part.mkdir(parents=True)
    root = part / "root"
    _run("mmdebstrap", "--quiet", "--variant=minbase", "--include=" + ",".join(PACKAGES), SUITE,
         str(root))
    _furnish(root)
    for name in ("vmlinuz", "initrd"):
        # Where there is no link, the newest of the folder.
        newest = sorted((root / "boot").glob(name + "*"))[-1]
        shutil.copy(newest, part / name)
    with open(part / "disk.img", "wb") as file:
        file.truncate(IMAGE_BYTES)
    _run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), str(part / "disk.img"))
    _run("rm", "-rf", "--one-file-system", str(root))
    part.rename(made)
    return paths
