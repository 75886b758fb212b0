#!/usr/bin/python3
"""Real services and the shipped workers, while what they need is stopped, killed, slowed, filled up
and set to another time; and checkers that look from outside at what Placement offers and at what is
on the drives. Instances are created and deleted all the while.

The seed decides what happens when. It is printed at the start and at the end: the same seed (with
the same --minutes, --workers, --drives, --only and --spare) repeats the schedule. Processes and
drives are real, so what follows from it may differ.

Exit code: 0 when nothing was violated, 1 when something was, 2 when the run itself failed.
"""
import argparse
import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

# Beside this file; cloud.py puts the folders of the other modules on the path.
from cloud import Cloud, Host, wait_until  # noqa: E402
from disk import enter_mount_namespace  # noqa: E402
import plant  # noqa: E402
import schedule  # noqa: E402
from faults import Faults  # noqa: E402
from tenants import Device, Tenants  # noqa: E402
from watchers import Watchers  # noqa: E402

PROGRESS_S = 10
SURVEY_S = 15
CERTIFIED_S = 300  # from the last release until its certificate is sealed
BOUND_S = 240  # from the end of all faults until every device is back


class Run:
    def __init__(self, plan, options):
        self.plan, self.options = plan, options
        self.folder = tempfile.mkdtemp(prefix="reclaim-chaos-")
        self.log = open(os.path.join(self.folder, "events.log"), "w", encoding="utf-8")
        self.log_lock = threading.Lock()
        self.started = None
        self.hosts, self.devices = [], []
        self.faults = self.tenants = self.watchers = None
        self.plant = plant.Plant(options.plant, self.say)
        self.crashes = []  # of threads of ours
        threading.excepthook = self.crashed

    def clock(self):
        """Seconds since the schedule began."""
        return 0.0 if self.started is None else time.monotonic() - self.started

    def say(self, text):
        with self.log_lock:
            self.log.write("%7.1f %s\n" % (self.clock(), text))
            self.log.flush()
        if text.startswith(("VIOLATION", "left out", "a worker")):
            print("%7.1f %s" % (self.clock(), text), flush=True)

    def crashed(self, what):
        text = "".join(traceback.format_exception(what.exc_type, what.exc_value,
                                                  what.exc_traceback))
        self.crashes.append(text)
        self.say("a thread of this run failed: " + text)

    # Its parts

    def begin(self):
        self.cloud = Cloud(os.path.join(self.folder, "services"))
        self.cloud.start_all(lambda name: self.say("started: " + name))
        with self.cloud.bus() as connection:
            connection.declare_exchange()
        per_host = self.options.drives
        for number in range(self.options.workers):
            host = Host(self.cloud, number + 1, self.options.survey_s, per_host,
                        self.plan.sanitize_ms[number * per_host:(number + 1) * per_host],
                        {per_host - 1} if per_host > 1 else ())
            self.hosts.append(host)
            for address in host.addresses:
                made = self.cloud.register(host.name, address)
                host.emulated.write("var/lib/nova/compute_id", made["root_uuid"] + "\n")
                self.devices.append(Device(len(self.devices), host, address, made["uuid"]))
        self.faults = Faults(self.cloud, self.hosts, self.clock, self.say)
        self.watchers = Watchers(self.cloud, self.hosts, self.devices, self.clock,
                                 self.faults.text, self.say)
        self.tenants = Tenants(self.cloud, self.devices, self.watchers, self.say)
        for host in self.hosts:
            host.start()
        for host in self.hosts:
            host.worker.wait_log(r"consuming from")
        threading.Thread(target=self.look_after_workers, daemon=True).start()
        self.watchers.start()
        self.tenants.start()
        wait_until(lambda: all(device.state == Device.HELD for device in self.devices),
                   "every device has a tenant")

    def work(self):
        """The schedule, to its end."""
        self.started = time.monotonic()
        self.faults.run(self.plan.faults)
        deletions = list(self.plan.deletions)
        shown, ends = 0, self.plan.minutes * 60
        while self.clock() < ends:
            while deletions and deletions[0].at_s <= self.clock():
                self.tenants.delete(self.devices[deletions.pop(0).device])
            self.plant.carry_out(self)
            if self.clock() >= shown + PROGRESS_S:
                shown = self.clock() // PROGRESS_S * PROGRESS_S
                self.show_progress()
            time.sleep(0.1)

    def settle(self):
        """No fault any more, no tenant comes: everything that is dirty has to come back."""
        self.tenants.no_more.set()
        wait_until(lambda: self.faults.text() == "none", "all faults have ended")
        self.say("settling")
        wait_until(self.all_are_gone, "the last tenants are gone")
        self.watchers.all_return(self.options.bound_s)
        self.watchers.wait_for_certificates(CERTIFIED_S)
        self.show_progress()
        self.plant.before_stop(self)
        for host in self.hosts:
            if self.plant.keeps_down(host):
                continue
            code = host.stop()
            if code != 0:
                self.watchers.violated("worker", None, "%s: told to stop, it ended with %s; %s" % (
                    host.name, code, host.worker.log))
        self.plant.before_certificates(self)
        self.watchers.certificates()
        for device, consumer in self.tenants.untold:
            self.say("never confirmed by the broker: %s of %s" % (consumer, device.name()))

    def all_are_gone(self):
        held = [device for device in self.devices if device.state == Device.HELD]
        for device in held:
            device.delete.set()
        return not held

    def look_after_workers(self):
        """In a thread that lasts: a worker ends with the thread that started it."""
        while not self.faults.ending.wait(0.5):
            self.look_after_each()

    def look_after_each(self):
        for host in self.hosts:
            ended = host.look_after()
            if not ended:
                continue
            code, log = ended
            self.say("a worker ended by itself with %d: %s" % (code, log))
            if code < 0:
                self.watchers.violated("worker", None, "%s died of signal %d; %s" % (
                    host.name, -code, log))

    def stop(self):
        for part in (self.faults, self.watchers, self.tenants):
            if part:
                (part.ending if part is self.faults else part.ended).set()
        if self.faults:
            # What is stopped would not end.
            for host in self.hosts:
                host.signal(signal.SIGCONT)
                host.kill()
            for name in schedule.SERVICES:
                try:
                    self.cloud.signal(name, signal.SIGCONT)
                except (OSError, ValueError):
                    pass
            time.sleep(1)
        self.cloud.stop_all()
        for host in self.hosts:
            host.disk.unmount()
        self.log.close()

    def keep_state(self):
        """The small file systems end with this process; what is on them is wanted beside the
        logs."""
        for host in self.hosts:
            if host.disk.is_mounted:
                shutil.copytree(host.state, host.state + ".kept", dirs_exist_ok=True)
        if self.cloud.disks["redis"].is_mounted:
            with contextlib.suppress(FileNotFoundError):  # it has not started
                shutil.copy(self.cloud.path("redis", "redis.log"), self.folder)

    # What is shown

    def show_progress(self):
        by_state = {}
        for device in self.devices:
            by_state[device.state] = by_state.get(device.state, 0) + 1
        print("%7.1f s  %s  released %d  in force: %s" % (
            self.clock(), "  ".join("%s %d" % (state, by_state.get(state, 0)) for state in (
                Device.HELD, Device.DIRTY, Device.FREE)),
            sum(len(device.releases) for device in self.devices), self.faults.text()), flush=True)

    def show_summary(self):
        tenancies = sum(len(device.tenancies) for device in self.devices)
        took = sorted(each for device in self.devices for each in device.releases)
        released = len(took)
        sanitizes = sum(drive.sanitizes for host in self.hosts for drive in host.drives().values())
        zeroed = sum(len(device.releases) for device in self.devices
                     if device.address == device.host.addresses[-1]
                     and len(device.host.addresses) > 1)
        certificates = sum(len(host.worker.certificates()) for host in self.hosts)
        print("tenancies %d, released %d, deletions confirmed by the broker %d, skipped %d" % (
            tenancies, released, sum(device.told for device in self.devices),
            self.tenants.skipped))
        if took:
            print("seconds from deletion to reserved = 0: median %.1f, longest %.1f" % (
                took[released // 2], took[-1]))
        print("certificates %d; sanitizes %d for %d releases of drives that sanitize" % (
            certificates, sanitizes, released - zeroed))
        print("faults: %s" % (", ".join("%s %d" % pair for pair in sorted(
            self.faults.counts.items())) or "none"))
        print("doors: %s" % "; ".join("%s %s" % (name, " ".join(
            "%s %d" % pair for pair in door.counts.items()))
            for name, door in self.cloud.doors.items()))
        print("workers: started %d times, ended by themselves %d times" % (
            sum(host.starts for host in self.hosts), sum(len(host.exits) for host in self.hosts)))
        print("looks of the watchers: %d" % self.watchers.looks)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="how long the schedule is")
    parser.add_argument("--seed", type=int, help="repeats a schedule; else a fresh one is drawn")
    parser.add_argument("--workers", type=int, default=2, help="hosts, each with its worker")
    parser.add_argument("--drives", type=int, default=4, help="of each host")
    parser.add_argument("--only", metavar="FAULT,...", type=lambda text: text.split(","),
                        default=list(schedule.KINDS), help="of: " + ", ".join(schedule.KINDS))
    parser.add_argument("--spare", metavar="NAME,...", type=lambda text: text.split(","),
                        default=[], help="what no fault befalls, of: %s, worker-1 ..." %
                        ", ".join(schedule.SERVICES))
    parser.add_argument("--survey-s", type=int, default=SURVEY_S,
                        help="between surveys; with 3600 and --spare rabbitmq, every deletion that "
                        "the broker confirmed has to be worked")
    parser.add_argument("--bound-s", type=int, default=BOUND_S,
                        help="within which all devices are back, once no fault is in force")
    parser.add_argument("--keep", action="store_true",
                        help="keep the logs; they are kept anyway when something was violated")
    parser.add_argument("--schedule", action="store_true", help="print the schedule, run nothing")
    parser.add_argument("--plant", choices=sorted(plant.PLANTS),
                        help="do by hand what a checker has to tell: it can fail")
    options = parser.parse_args()
    unknown = [fault for fault in options.only if fault not in schedule.KINDS]
    if unknown:
        parser.error("--only: unknown fault '%s'; choose of %s" % (
            unknown[0], ", ".join(schedule.KINDS)))
    return options


def again(options, seed):
    """The command that repeats a run."""
    words = [sys.argv[0], "--seed %d --minutes %g --workers %d --drives %d" % (
        seed, options.minutes, options.workers, options.drives),
        "--survey-s %d" % options.survey_s, "--only " + ",".join(options.only)]
    if options.spare:
        words.append("--spare " + ",".join(options.spare))
    if options.plant:
        words.append("--plant " + options.plant)
    return " ".join(words)


def report(run, seed):
    """What was found, and the exit code."""
    problems = run.crashes + (run.faults.failures if run.faults else [])
    violations = run.watchers.violations if run.watchers else []
    for violation in violations:
        print("VIOLATION (%s) seed %d, at %.1f s, in force: %s\n  %s" % (
            violation.checker, seed, *violation[1:]))
    for problem in problems:
        print("this run failed: %s" % problem)
    options = run.options
    kept = options.keep or violations or problems
    print("seed %d: %s%s" % (seed, "%d violations" % len(violations) if violations else
                             "nothing was violated", ", logs: " + run.folder if kept else ""))
    if violations or problems:
        print("again: %s" % again(options, seed))
    if not kept:
        shutil.rmtree(run.folder, ignore_errors=True)
    return 1 if violations else 2 if problems else 0


def main():
    options = parse_arguments()
    seed = options.seed if options.seed is not None else secrets.randbelow(1 << 32)
    plan = schedule.make(seed, options.minutes, options.workers, options.drives,
                         tuple(options.only), tuple(options.spare))
    if options.schedule:
        print("seed %d" % seed)
        print(schedule.table(plan))
        return 0
    print("seed %d: %g minutes, %d workers with %d drives each, %d faults, %d deletions" % (
        seed, options.minutes, options.workers, options.drives, len(plan.faults),
        len(plan.deletions)), flush=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(2))
    enter_mount_namespace()
    run = Run(plan, options)
    try:
        run.begin()
        run.work()
        run.settle()
        run.show_summary()
    except Exception:
        run.crashes.append(traceback.format_exc())
    finally:
        run.keep_state()
        run.stop()
    return report(run, seed)


if __name__ == "__main__":
    sys.exit(main())
