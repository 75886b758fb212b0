"""Waiting for what a test wants to see. A wait that takes long says so, with what everything that
takes part said last: so a timeout in a log can be read."""
import os
import sys
import time

DEADLINE_S = 300  # of whatever is waited for: a slow machine that does much else meets it
SLOW_S = 60
LINES = 5  # of each log

_parts = {}  # name: its log, a function that gives its process' number


def takes_part(name, log, pid=lambda: None):
    """Its log is shown by who waits long, and whether its process runs."""
    _parts[name] = (log, pid)


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Polls; a test waits for what it wants to see and never for a time to pass. What takes longer
    is looked at less often, for each look may be a process."""
    began = time.monotonic()
    told = 0
    while True:
        found = condition()
        if found:
            return found
        waited = time.monotonic() - began
        if waited > deadline_s:
            raise AssertionError("not within %d s: %s" % (deadline_s, what))
        if waited > told + SLOW_S:
            told = waited
            print("slow: %d s already, and not yet: %s\n%s" % (waited, what, last_words()),
                  file=sys.stderr, flush=True)
        time.sleep(min(0.05 + waited / 20, 0.5))


def last_words():
    """The state and the last lines of all that takes part."""
    return "\n".join("  %s%s\n%s" % (name, state(pid), "\n".join(
        "    " + line for line in last_lines(log))) for name, (log, pid) in _parts.items()
        if os.path.exists(log))


def state(its_pid):
    try:
        pid = its_pid()
    except (OSError, ValueError):  # its file went with it
        return " (gone)"
    if pid is None:
        return ""
    return " (%s)" % ("gone" if is_zombie(pid) else "runs")


def last_lines(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 2000))
        return file.read().decode(errors="replace").splitlines()[-LINES:]


def is_zombie(pid):
    """Also where it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
