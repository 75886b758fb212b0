#!/usr/bin/python3
"""Waits until the process OWNER has ended, then exit code 0; 1 where PID has ended before. The
kernel tells of both, so that nobody has to look again and again; one that was not reaped has ended.

usage: await_owner.py OWNER [PID]
"""
import os
import select
import sys


def ended(pids):
    """The first of them that has."""
    poll = select.poll()
    watched = {}
    for pid in pids:
        try:
            watched[os.pidfd_open(pid)] = pid
        except ProcessLookupError:
            return pid
    for descriptor in watched:
        poll.register(descriptor, select.POLLIN)
    return watched[poll.poll()[0][0]]


if __name__ == "__main__":
    owner, *others = map(int, sys.argv[1:])
    sys.exit(0 if ended([owner, *others]) == owner else 1)
