"""A demo that is left running: how to find it again, how to look around in it, how to end it."""
import os
import shutil
import signal
import stat
import sys
import time

from services import Services

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
KEPT = os.path.join(ROOT, ".demo")

ENVIRONMENT = """\
# For a shell: source this file.
export PATH={kept}/bin:$PATH
export OS_AUTH_URL={auth_url} OS_USERNAME=nova OS_PASSWORD={service_password}
export OS_PROJECT_NAME=service OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
export OS_IDENTITY_API_VERSION=3 OS_REGION_NAME={region} OS_PLACEMENT_API_VERSION=1.28
"""

WRAPPER = """\
#!/bin/sh
# The shipped binary, with the emulated drives in front of it.
RECLAIM_EMULATOR_ROOT={root} LD_PRELOAD="{preload}" exec {reclaim} --config-file {config} "$@"
"""


def kept():
    return os.path.exists(os.path.join(KEPT, "folder"))


def write(path, text, mode):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w",
              encoding="utf-8") as file:
        file.write(text)


def keep(screen, demo, more, environment=None):
    """`more`: commands worth trying in this flow, with that in their environment."""
    os.makedirs(os.path.join(KEPT, "bin"), exist_ok=True)
    os.chmod(KEPT, stat.S_IRWXU)
    write(os.path.join(KEPT, "folder"), demo.folder + "\n", 0o600)
    write(os.path.join(KEPT, "env"), ENVIRONMENT.format(kept=KEPT, **demo.services.endpoints) +
          "".join("export %s=%s\n" % pair for pair in (environment or {}).items()), 0o600)
    write(os.path.join(KEPT, "bin", "reclaim"), WRAPPER.format(
        root=demo.host.root, preload=demo.programs.preload, reclaim=demo.programs.reclaim,
        config=demo.worker.config), 0o700)
    port = demo.services.redis_port()
    cleaned = next(iter(demo.providers))
    screen.step("Kept running", "look around; the files are in " + demo.folder)
    for command in (
            "source .demo/env", "reclaim device list", "reclaim device show " + cleaned,
            "reclaim plan --guards", "reclaim doctor", "reclaim watch --from-start",
            "redis-cli -p %d hgetall 'reclaim:{compute-2}:device:%s'" % (port, cleaned),
            "redis-cli -p %d xrange 'reclaim:{compute-2}:journal' - +" % port, *more,
            "tail -f " + demo.worker.log):
        screen.line("      " + screen.paint(command, "36"))
    screen.line()
    screen.line("    To end it:  " + screen.bold("./demo.sh --stop"))
    screen.line()


def stop(screen):
    if not kept():
        screen.line("demo: no demo is running")
        return 1
    with open(os.path.join(KEPT, "folder"), encoding="utf-8") as file:
        folder = file.read().strip()
    # The worker first, and by what it was started with: a pid may be somebody else's by now.
    workers = processes_of(folder)
    for pid in workers:
        if {"serve", "api"} & set(words_of(pid)):
            end(pid)
    Services(os.path.join(folder, "services")).stop()
    left = processes_of(folder)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(KEPT, ignore_errors=True)
    screen.line("demo: stopped; all its files are removed")
    return 0


def end(pid):
    os.kill(pid, signal.SIGTERM)
    for _ in range(200):
        if not words_of(pid):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)


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
