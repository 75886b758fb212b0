"""What the services of a stack share as processes: one that is left alone ends, one is only ended
if it is still the one that was started, and one was started once it answers."""
import ctypes
import os
import signal
import socket
import threading
import time
import urllib.error

import openstack_api as api


def end_with_owner(pid):
    """Nobody is left to stop us when the owner was killed; a leaked service would run for ever."""
    def watch():
        while os.path.exists("/proc/%d" % pid):
            time.sleep(1)
        os._exit(0)
    if pid:
        threading.Thread(target=watch, daemon=True).start()


def die_with_parent():
    """For a program that cannot watch (prctl(PR_SET_PDEATHSIG), before its exec)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def is_ours(pid, program, directory):
    """A pid may have been given to somebody else since."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = file.read().decode(errors="replace").split("\0")
    except OSError:
        return False
    return directory in words and any(word.endswith(program) for word in words)


def wait_until_it_answers(url, process, log, deadline_s=180):
    deadline = time.monotonic() + deadline_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit("%s: the service ended with status %s; see %s" %
                             (url, process.returncode, log))
        try:
            api.call("GET", url)
            return
        except api.HttpError as error:
            if error.status == 300:
                return
            raise
        except (urllib.error.URLError, socket.timeout, ConnectionError):
            time.sleep(0.05)
    raise SystemExit("%s does not answer after %d s; see %s" % (url, deadline_s, log))
