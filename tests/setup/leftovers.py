#!/usr/bin/python3
"""What a run of tests left behind, of which TMPDIR was FOLDER and nobody else's: exit code 1 and a
line for each, once 30 s were not enough to end. For the tests alone TMPDIR has to be in the
environment, not for who calls this.

  entries     all in FOLDER, and those elsewhere that have its name in theirs (tests that need a
              folder in another place call it so)
  processes   with FOLDER as their TMPDIR, or in their command line, or as the place of their
              folder or of a file that they have open
  mounts and loop devices of what lies in FOLDER

usage: leftovers.py FOLDER [SECONDS]
"""

import contextlib
import glob
import os
import sys
import time

WAIT_S = 30  # some end a moment after the test that had them
ELSEWHERE = ("/tmp", "/var/tmp", "/run", "/dev/shm", os.path.expanduser("~"))


def read(path):
    """The text of a file of /proc or /sys; none where it is gone, or somebody else's."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def link(path):
    with contextlib.suppress(OSError):
        return os.readlink(path)
    return ""


def entries(folder):
    found = [os.path.join(folder, name) for name in os.listdir(folder)]
    for place in ELSEWHERE:
        with contextlib.suppress(OSError):
            found += [os.path.join(place, name) for name in os.listdir(place)
                      if os.path.basename(folder) in name and
                      os.path.join(place, name) != folder]
    return found


def ourselves():
    """This process and those that it descends from."""
    pid, found = os.getpid(), set()
    while pid > 0:
        found.add(pid)
        # After the name, which may hold anything: state and parent.
        pid = int((read("/proc/%d/stat" % pid).rpartition(")")[2].split() or [0, 0])[1])
    return found


def is_of_the_run(pid, folder):
    process = "/proc/%d/" % pid
    places = [link(process + "cwd"), *map(link, glob.glob(process + "fd/*"))]
    return ("TMPDIR=" + folder in read(process + "environ").split("\0") or
            folder in read(process + "cmdline") or
            any(is_below(place, folder) for place in places))


def is_below(place, folder):
    return place == folder or place.startswith(folder + "/")


def processes(folder):
    pids = {int(name) for name in os.listdir("/proc") if name.isdecimal()} - ourselves()
    return {pid: read("/proc/%d/cmdline" % pid).replace("\0", " ").strip()
            for pid in sorted(pids) if is_of_the_run(pid, folder)}


def left(folder):
    found = ["process %d: %s" % process for process in processes(folder).items()]
    for line in read("/proc/self/mountinfo").splitlines():
        place = line.split()[4]
        if is_below(place, folder):
            found.append("mount: " + place)
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        if is_below(read(path).strip(), folder):
            found.append("loop device: /dev/%s of %s" % (path.split("/")[3], read(path).strip()))
    return found + ["file: " + path for path in entries(folder)]


def main(folder, wait_s=WAIT_S):
    folder = os.path.abspath(folder)
    deadline = time.monotonic() + float(wait_s)
    found = left(folder)
    while found and time.monotonic() < deadline:
        time.sleep(0.2)
        found = left(folder)
    for each in found:
        print("left behind: " + each)
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
