"""A demo that is left running: how to find it again, how to look around in it, how to end it."""
import contextlib
import os
import pwd
import shutil
import signal
import sys
import time

from services import Services

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
NAME = os.environ.get("RECLAIM_DEMO_KEPT", ".demo")  # as it is typed in ROOT
KEPT = os.path.join(ROOT, NAME)

ENVIRONMENT = """\
# For a shell: source this file.
export PATH={kept}/bin:$PATH
export OS_AUTH_URL={auth_url} OS_USERNAME=operator OS_PASSWORD={service_password}
export OS_PROJECT_NAME=service OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
export OS_IDENTITY_API_VERSION=3 OS_REGION_NAME={region} OS_PLACEMENT_API_VERSION=1.28
"""

WRAPPER = """\
#!/bin/sh
# The shipped binary, with the emulated drives in front of it.
RECLAIM_EMULATOR_ROOT={root} LD_PRELOAD="{preload}" exec {reclaim} --config-file {config} "$@"
"""


def kept():
    return os.path.exists(KEPT)


def write(path, text, mode):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w",
              encoding="utf-8") as file:
        file.write(text)


def keep(screen, demo, more, environment=None):
    """`more`: commands worth trying in this flow, with that in their environment."""
    cleaned = next(iter(demo.providers))
    environment = {"PROVIDER": demo.providers[cleaned], **(environment or {})}
    os.mkdir(KEPT, 0o700)
    try:
        write(os.path.join(KEPT, "folders"), "\n".join(demo.folders), 0o600)
        write(os.path.join(KEPT, "env"), ENVIRONMENT.format(
            kept=KEPT, **demo.services.endpoints) +
            "".join("export %s=%s\n" % pair for pair in environment.items()), 0o600)
        os.mkdir(os.path.join(KEPT, "bin"))
        write(os.path.join(KEPT, "bin", "reclaim"), WRAPPER.format(
            root=demo.host.root, preload=demo.programs.preload, reclaim=demo.programs.reclaim,
            config=demo.worker.config), 0o700)
        show(screen, demo, cleaned, more)
    except BaseException:
        shutil.rmtree(KEPT)
        raise


def show(screen, demo, cleaned, more):
    port = demo.services.redis_port()
    screen.step("Kept running", "look around%s; the files are in %s" % (
        " as root" if os.geteuid() == 0 else "", demo.folder))
    for command in (
            "source %s/env" % NAME, "reclaim device list", "reclaim device show " + cleaned,
            "reclaim plan --guards", "reclaim doctor", "reclaim watch --from-start",
            "redis-cli -p %d hgetall 'reclaim:{compute-2}:device:%s'" % (port, cleaned),
            "redis-cli -p %d xrange 'reclaim:{compute-2}:journal' - +" % port, *more,
            "tail -f " + demo.worker.log):
        for line in command.split("\n"):
            screen.line("      " + screen.paint(line, "36"))
    screen.line()
    screen.line("    To end it:  " + screen.bold("./demo.sh --stop"))
    screen.line()


def stop(screen):
    if not kept():
        screen.line("demo: no demo is running")
        return 1
    owner = os.stat(KEPT).st_uid
    if os.geteuid() not in (0, owner):
        screen.line("demo: it belongs to %s: stop it as that user" % pwd.getpwuid(owner).pw_name)
        return 1
    with open(os.path.join(KEPT, "folders"), encoding="utf-8") as file:
        folders = file.read().splitlines()
    # The worker first, and by what it was started with: a pid may be somebody else's by now.
    for pid in processes_of(folders[0]):
        if {"serve", "api"} & set(words_of(pid)):
            end(pid)
    Services(os.path.join(folders[0], "services")).stop()
    kill(processes_of(folders[0]))
    remove(*folders, KEPT)
    screen.line("demo: stopped; all its files are removed")
    return 0


def end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    for _ in range(200):
        if not words_of(pid):
            return
        time.sleep(0.05)
    kill([pid])


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it may end by itself meanwhile
            os.kill(pid, signal.SIGKILL)


def remove(*folders):
    """Who was told to end may write until it has ended."""
    until = time.monotonic() + 15
    while any(map(os.path.exists, folders)) and time.monotonic() < until:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)


def words_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def processes_of(folder):
    """Whose command line names the folder; every program of the demo is started so."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            if any(folder in word for word in words_of(int(name))):
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit("started by demo.py")
