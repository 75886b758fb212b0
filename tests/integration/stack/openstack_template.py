"""A stack's tables, users and keys, made once in a build folder and copied for each test: a start
takes a second or two then, and no test waits for the migrations of Keystone's tables.

FOLDER is made by whoever comes first, behind FOLDER.lock; the others wait. It is made again when a
package or a script that it depends on has changed.
"""
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("mariadb-server-core", "python3-keystone", "python3-placement", "python3-sqlalchemy",
            "python3-os-traits", "python3-os-resource-classes")
SCRIPTS = ("mariadb.py", "openstack.py", "openstack_service.py", "openstack_template.py")
KEPT = ("mariadb", "fernet-keys", "receipt-keys", "credential-keys", "endpoints.json")


def fingerprint():
    """Of all that decides what a template holds."""
    digest = hashlib.sha256()
    for name in SCRIPTS:
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    versions = subprocess.run(["dpkg-query", "-W", *PACKAGES], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
    digest.update(versions.stdout)
    return digest.hexdigest()


def is_current(folder, wanted):
    try:
        with open(os.path.join(folder, "fingerprint"), encoding="ascii") as file:
            return file.read() == wanted
    except OSError:
        return False


def make_current(folder, wanted, make):
    shutil.rmtree(folder, ignore_errors=True)
    # Where paths are short: a unix socket's has 107 bytes.
    with tempfile.TemporaryDirectory(prefix="reclaim-template-") as directory:
        make(directory)
        os.makedirs(folder, mode=0o700)
        for name in KEPT:
            shutil.move(os.path.join(directory, name), os.path.join(folder, name))
    with open(os.path.join(folder, "fingerprint"), "w", encoding="ascii") as file:
        file.write(wanted)


@contextlib.contextmanager
def locked(path, how):
    with open(path, "ab") as file:
        fcntl.flock(file, how)
        yield


def copy(folder, directory, make):
    """Into `directory`, what make(DIR) has put into a DIR of its own."""
    wanted = fingerprint()
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    while True:
        with locked(folder + ".lock", fcntl.LOCK_SH):
            if is_current(folder, wanted):
                for name in KEPT:
                    source, target = (os.path.join(part, name) for part in (folder, directory))
                    (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, target)
                return
        with locked(folder + ".lock", fcntl.LOCK_EX):
            if not is_current(folder, wanted):
                make_current(folder, wanted, make)
