"""How each fault of the schedule begins and ends. Each target has a thread of its own that carries
out what the schedule has for it, one after the other."""
import signal
import threading


class Faults:
    """`say` is called with a line for each that begins, ends, or is left out."""

    def __init__(self, cloud, hosts, clock, say):
        self.cloud, self.say, self.clock = cloud, say, clock
        self.hosts = {host.name: host for host in hosts}
        self.lock = threading.Lock()
        self.in_force = {}   # target: fault
        self.counts = {}     # fault: how many were carried out
        self.left_out = {}   # fault: why
        self.failures = []   # of what should have begun or ended a fault
        self.ending = threading.Event()
        for fault, why in (("disk", self.no_disk()), ("clock", self.no_clock())):
            if why:
                self.left_out[fault] = why
                say("left out: %s: %s" % (fault, why))

    def no_disk(self):
        disks = [host.disk for host in self.hosts.values()] + list(self.cloud.disks.values())
        if all(disk.is_mounted for disk in disks):
            return None
        return "a small file system takes root and mount"

    def no_clock(self):
        if all(host.library for host in self.hosts.values()):
            return None
        return "Debian's package libfaketime is not installed"

    def text(self):
        with self.lock:
            return ", ".join("%s %s" % (fault.fault, target)
                             for target, fault in sorted(self.in_force.items())) or "none"

    def run(self, faults):
        """Starts a thread for each target."""
        by_target = {}
        for fault in faults:
            if fault.fault not in self.left_out:
                by_target.setdefault(fault.target, []).append(fault)
        for each in by_target.values():
            threading.Thread(target=self.run_target, args=(each,), daemon=True).start()

    def run_target(self, faults):
        for fault in faults:
            if self.ending.wait(max(0, fault.at_s - self.clock())):
                return
            with self.lock:
                self.in_force[fault.target] = fault
                self.counts[fault.fault] = self.counts.get(fault.fault, 0) + 1
            self.say("begin: %s %s for %.1f s %s" % (
                fault.fault, fault.target, fault.lasts_s, fault.how or ""))
            try:
                self.begin(fault)
                self.ending.wait(max(0, fault.at_s + fault.lasts_s - self.clock()))
            except Exception as problem:  # told, and counted as a failure of the run
                self.failures.append("%s %s: %s" % (fault.fault, fault.target, problem))
            try:
                self.end(fault)
            except Exception as problem:
                self.failures.append("end of %s %s: %s" % (fault.fault, fault.target, problem))
            with self.lock:
                del self.in_force[fault.target]
            self.say("end: %s %s" % (fault.fault, fault.target))
        # A worker that this thread started would end with it (PR_SET_PDEATHSIG).
        self.ending.wait()

    def begin(self, fault):
        self.carry_out(fault, True)

    def end(self, fault):
        self.carry_out(fault, False)

    def carry_out(self, fault, begins):
        kind, _, rest = fault.target.partition("-")
        if fault.target.endswith("-door"):
            door = self.cloud.doors[kind]
            return door.begin(fault.fault, **fault.how) if begins else door.end()
        if kind == "disk":
            disk = self.hosts[rest].disk
            return disk.fill() if begins else disk.free()
        if kind == "clock":
            return self.hosts[rest].set_clock(fault.how["offset_s"] if begins else 0)
        if kind == "worker":
            return self.worker(self.hosts[fault.target], fault.fault, begins)
        if fault.fault == "disk":
            return self.service_disk(fault, begins)
        return self.service(fault.target, fault.fault, begins)

    def worker(self, host, fault, begins):
        if fault == "stop":
            host.signal(signal.SIGSTOP if begins else signal.SIGCONT)
        elif not begins:
            host.start()
        elif fault == "kill":
            host.kill()
        else:
            code = host.stop()
            if code != 0:
                self.say("a worker that was told to stop ended with %s: %s" % (
                    code, host.worker.log))

    def service_disk(self, fault, begins):
        if begins:
            self.cloud.fill_disk(fault.target, **fault.how)
        elif self.cloud.free_disk(fault.target):
            self.say("started again, with room on its disk: %s" % fault.target)

    def service(self, name, fault, begins):
        if fault == "stop":
            self.cloud.signal(name, signal.SIGSTOP if begins else signal.SIGCONT)
        elif begins:
            self.cloud.kill_one(name)
        else:
            self.cloud.start_one(name)
