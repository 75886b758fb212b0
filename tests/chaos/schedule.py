"""What a run does and when: made whole, up front, and of nothing but the seed and the sizes."""
import random
from collections import namedtuple

# A fault is in force from at_s until at_s + lasts_s, at one target; `how` are its figures.
Fault = namedtuple("Fault", "at_s lasts_s fault target how")
# The tenant of a device deletes its instance.
Deletion = namedtuple("Deletion", "at_s device")
Schedule = namedtuple("Schedule", "seed minutes faults deletions sanitize_ms")

SERVICES = ("redis", "rabbitmq", "placement", "keystone")
STORES = ("redis", "rabbitmq")  # those whose files have a file system of their own
QUIET_S = 5            # before the first fault, and after the last
BETWEEN_FAULTS_S = 5   # on average; each lasts longer, so that mostly several are in force
BETWEEN_DELETIONS_S = 15  # on average, of one device
LONG_EVERY = 10        # one fault of so many lasts longer than a lock lives (60 s)

# Fault: its targets, its weight, and the longest that it usually lasts, in seconds.
KINDS = {
    "stop": ("service worker", 3, 20),     # SIGSTOP, then SIGCONT
    "kill": ("service worker", 4, 8),      # kill -9, then started again
    "term": ("worker", 2, 5),              # SIGTERM, then started again
    "slow": ("door", 2, 25),               # each piece of data is late
    "cut": ("door", 2, 20),                # answers end in the middle, and their connections
    "hole": ("door", 2, 25),               # data is kept back, and delivered at the end
    "refuse": ("door", 1, 15),             # connections are reset
    "disk": ("disk store", 2, 20),         # the file system of what is kept is full
    "clock": ("clock", 1, 20),             # the worker's clock is set forward or back
}


def targets_of(fault, workers):
    """The names of all that a fault can befall. Nothing has two faults at a time."""
    names = {"service": list(SERVICES), "store": list(STORES),
             "door": [name + "-door" for name in SERVICES]}
    for kind in ("worker", "disk", "clock"):
        prefix = "" if kind == "worker" else kind + "-"
        names[kind] = ["%sworker-%d" % (prefix, number) for number in range(1, workers + 1)]
    return [name for kind in KINDS[fault][0].split() for name in names[kind]]


def details(draw, fault, target):
    """What else there is to say of a fault."""
    if fault == "slow":
        return {"delay_ms": draw.choice((50, 300, 1500, 4000))}
    if fault == "cut":
        return {"after_bytes": draw.choice((0, 1, 40, 200, 900))}
    if fault == "clock":
        return {"offset_s": draw.choice((-86400, -3600, -30, 30, 3600, 86400))}
    if fault == "disk" and target == "redis":
        # It ends; or it answers every write with MISCONF.
        return {"appendfsync": draw.choice(("always", "everysec"))}
    return {}


def make_faults(draw, end_s, workers, only, spare):
    kinds = [fault for fault in KINDS if fault in only]
    faults, busy_until = [], {}
    at = QUIET_S + draw.uniform(0, 2)
    while kinds and at < end_s - QUIET_S:
        fault = draw.choices(kinds, [KINDS[kind][1] for kind in kinds])[0]
        target = draw.choice(targets_of(fault, workers))
        longest = 75 if draw.randrange(LONG_EVERY) == 0 else KINDS[fault][2]
        lasts = min(draw.uniform(1, longest), end_s - QUIET_S - at)
        how = details(draw, fault, target)
        names = {target, target.removesuffix("-door"), target.partition("-")[2]}
        if at >= busy_until.get(target, 0) and not names.intersection(spare):
            faults.append(Fault(round(at, 1), round(lasts, 1), fault, target, how))
            busy_until[target] = at + lasts + 1
        at += draw.expovariate(1 / BETWEEN_FAULTS_S)
    return faults


def make_deletions(draw, end_s, devices):
    deletions, at = [], 1.0
    while devices and at < end_s:
        deletions.append(Deletion(round(at, 1), draw.randrange(devices)))
        at += draw.expovariate(devices / BETWEEN_DELETIONS_S)
    return deletions


def make(seed, minutes, workers, drives, only=tuple(KINDS), spare=()):
    """`drives` of each worker; `only` are the faults that there may be, and `spare` the services
    and workers that none befalls."""
    draw = random.Random(seed)
    end_s = minutes * 60
    devices = workers * drives
    return Schedule(seed, minutes, make_faults(draw, end_s, workers, only, spare),
                    make_deletions(draw, end_s, devices),
                    [draw.choice((200, 1500, 4000)) for _ in range(devices)])


def table(schedule):
    """For people, in the order of time."""
    rows = [(each.at_s, "%7.1f  %5.1f s  %-7s %-15s %s" % (
        each.at_s, each.lasts_s, each.fault, each.target,
        " ".join("%s=%s" % pair for pair in each.how.items()))) for each in schedule.faults]
    rows += [(each.at_s, "%7.1f           delete  device %d" % each)
             for each in schedule.deletions]
    return "\n".join(["     at    lasts  what    target"] +
                     [text.rstrip() for _, text in sorted(rows)])
