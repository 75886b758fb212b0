"""The guest's whole system as one cpio archive: busybox, a few real tools with the libraries they
need, udev, the kernel modules, and the test binaries."""

import lzma
import re
import shutil
import subprocess
from pathlib import Path

import debian

# With all they depend on; loaded by init in this order. nvme and ext4 are built into the kernel.
MODULES = ("vfio-pci", "vfio_iommu_type1", "dm-mod", "md-mod", "raid1", "null_blk",
           "virtio_pci", "virtio_net")
HOST_TOOLS = ("/usr/sbin/nvme", "/sbin/mkfs.ext4", "/sbin/mkswap", "/sbin/blkid",
              "/usr/bin/udevadm", "/usr/sbin/dmsetup")
DEB_TOOLS = ("sbin/lvm", "sbin/mdadm")
MERGED = ("bin", "sbin", "lib", "lib64")


class Initramfs:
    def __init__(self, root, tools_root):
        self.root = Path(root)
        self.tools_root = tools_root
        self.library_roots = [tools_root]
        self._libraries = set()
        for name in ("dev", "proc", "sys", "run", "tmp", "etc", "mnt", "tests", "modules", "var",
                     "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc/udev/rules.d"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for name in MERGED:
            (self.root / name).symlink_to("usr/" + name)

    def add_file(self, source, target):
        path = self.root / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
        return path

    def add_program(self, source, target=None):
        """A program without its debug information, and every library it loads; or a script."""
        path = self.add_file(source, target or "usr/sbin/" + Path(source).name)
        if path.read_bytes()[:4] != b"\x7fELF":
            return
        subprocess.run(["strip", "--strip-debug", path], check=True)
        libraries = ":".join(str(folder) for root in self.library_roots for name in
                             ("x86_64-linux-gnu", "x86_64-linux-gnu/systemd")
                             for folder in root.glob("**/" + name) if folder.is_dir())
        listed = subprocess.run(["ldd", source], env={"LD_LIBRARY_PATH": libraries}, text=True,
                                stdout=subprocess.PIPE, check=True).stdout
        if "not found" in listed:
            raise RuntimeError(f"{source} lacks a library:\n{listed}")
        for library in re.findall(r"(/\S+\.so\S*)", listed):
            if library not in self._libraries:
                self._libraries.add(library)
                folder = "usr/lib64" if "ld-linux" in library else "usr/lib/x86_64-linux-gnu"
                self.add_file(library, f"{folder}/{Path(library).name}")

    def add_base(self, here):
        self.add_file(shutil.which("busybox"), "usr/bin/busybox")
        init = self.add_file(here / "init", "init")
        init.chmod(0o755)
        for tool in HOST_TOOLS:
            self.add_program(tool)
        for tool in DEB_TOOLS:
            self.add_program(debian.find(self.tools_root, tool))
        for name in ("pvcreate", "vgcreate", "lvcreate", "vgchange", "vgremove", "pvs", "pvremove"):
            (self.root / "usr/sbin" / name).symlink_to("lvm")

    def add_udev(self, rules):
        """udevd with the rules of this machine and of LVM and mdadm; ours beside them, not on."""
        (self.root / "usr/lib/systemd").mkdir(parents=True, exist_ok=True)
        (self.root / "usr/lib/systemd/systemd-udevd").symlink_to("/usr/sbin/udevadm")
        for folder in (Path("/usr/lib/udev"), debian.find(self.tools_root, "lib/udev")):
            for source in folder.iterdir():
                if source.is_file() and source.suffix != ".bin":
                    self.add_program(source, f"usr/lib/udev/{source.name}")
            for source in (folder / "rules.d").iterdir():
                self.add_file(source, f"usr/lib/udev/rules.d/{source.name}")
        self.add_file(rules, "usr/share/reclaim/59-reclaim.rules")
        (self.root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
        groups = ("root", "disk", "tty", "dialout", "kmem", "input", "video", "audio", "lp",
                  "cdrom", "tape", "render", "sgx", "kvm", "plugdev", "netdev", "users")
        (self.root / "etc/group").write_text(
            "".join(f"{name}:x:{number}:\n" for number, name in enumerate(groups)))

    def add_modules(self, folder):
        """The modules in the order in which insmod takes them, listed in /modules/order."""
        files = {}
        for path in folder.rglob("*.ko*"):
            files[path.name.split(".")[0].replace("-", "_")] = path
        order = []

        def visit(name):
            name = name.replace("-", "_")
            if name in order or name not in files:  # built in
                return
            path = files[name]
            body = lzma.open(path).read() if path.suffix == ".xz" else path.read_bytes()
            depends = re.search(rb"\0depends=([^\0]*)\0", body)
            for other in depends.group(1).decode().split(",") if depends else []:
                visit(other)
            (self.root / "modules" / (name + ".ko")).write_bytes(body)
            order.append(name)

        for module in MODULES:
            visit(module)
        (self.root / "modules/order").write_text("\n".join(order) + "\n")

    def write(self, path):
        """Not compressed: an emulated processor unpacks slowly."""
        names = sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*"))
        with open(path, "wb") as out:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=self.root,
                           input="\n".join(names).encode(), stdout=out, check=True)
