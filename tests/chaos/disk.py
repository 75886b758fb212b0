"""Small file systems that can be full, in a mount namespace of this run's own."""
import contextlib
import ctypes
import os
import subprocess


def enter_mount_namespace():
    """What is mounted from now on is seen by this process and its children, and ends with them."""
    if os.geteuid() == 0:
        new_namespace, libc = 0x20000, ctypes.CDLL(None, use_errno=True)
        if libc.unshare(new_namespace) == 0:
            subprocess.run(["mount", "--make-rprivate", "/"], check=False)


class Disk:
    """A folder with, if it can be, a file system of its own."""

    def __init__(self, folder, size):
        self.folder = folder
        self.ballast = os.path.join(folder, "ballast")
        os.makedirs(folder, exist_ok=True)
        self.is_mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=" + size, "chaos", folder],
            capture_output=True, check=False).returncode == 0

    def fill(self):
        """To the last block: what is written next fails with ENOSPC."""
        with contextlib.suppress(OSError):
            with open(self.ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

    def free(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.ballast)

    def unmount(self):
        """Nothing uses it any more."""
        if self.is_mounted:
            subprocess.run(["umount", self.folder], check=False)
