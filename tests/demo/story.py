"""Follows the worker's log and tells, in a few words each, what happens to one device."""
import re

HEARD = re.compile(r"reclaim\.listener \[.*?\] heard (\S+) for (\S+) instance=(\S+)")
GUARD = re.compile(r"reclaim\.guards \[.*?\] (\S+) (\w+): (passed|refused)")
ACCEPTED = re.compile(r"reclaim\.nvme \[.*?\] (\S+): (\w+) accepted by the drive")
MOVED = re.compile(r"reclaim\.conductor \[.*?\] ([0-9a-f:.]{12}) (\w+) -> (\w+) \((\w+)\): (.*)$")
FIELDS = re.compile(r"(?: (?:request_id|instance)=\S*)+$")

VERIFIED = re.compile(r"(\d+) samples read \((\d+) bytes\), (\d+) held data before, (\d+) of them "
                      r"unchanged, (\d+) canaries found, (\d+) bytes not zero; expected zeroes")

STEP = re.compile(r"(\w+\.\w+): (\d+) surfaces looked at, (.*)$")

METHODS = {"sanitize_crypto": "crypto erase", "sanitize_block": "block erase"}


class Story:
    def __init__(self, screen, address, host, instance, progress):
        self.screen, self.address, self.host, self.instance = screen, address, host, instance
        self.progress = progress  # () -> (percent, seconds left)
        self.heard = set()
        self.guards = []
        self.steps = 0
        self.method = None  # while the drive sanitizes
        self.erased = None
        self.finished = False
        self.problem = None

    def tick(self):
        if self.method:
            percent, eta_s = self.progress()
            self.screen.bar("sanitize", METHODS.get(self.method, self.method), percent, eta_s)

    def read(self, log, position):
        """Tells the whole lines of the log from that byte on; returns where they end."""
        with open(log, "rb") as file:
            file.seek(position)
            whole, newline, _ = file.read().rpartition(b"\n")
        for line in whole.decode("utf-8", "replace").split("\n"):
            self.tell(line)
        return position + len(whole) + len(newline)

    def tell(self, line):
        for pattern, tell in ((HEARD, self.tell_heard), (GUARD, self.tell_guard),
                              (ACCEPTED, self.tell_accepted), (MOVED, self.tell_moved)):
            match = pattern.search(line)
            if match:
                tell(*match.groups())
                return

    def tell_heard(self, event, host, instance):
        if host != self.host or instance != self.instance:
            return
        if event.startswith("accelerator_request."):
            self.screen.fact("event heard", "%s, for %s" % (event, host))
            return
        if not event.endswith("delete.end"):
            return
        kind = "legacy" if event.startswith("compute.") else "versioned"
        if kind not in self.heard:
            self.heard.add(kind)
            self.screen.fact("event heard", "%s of %s, for %s" % (event, instance[:8], host))

    def tell_guard(self, address, guard, result):
        if address == self.address and result == "passed":
            self.guards.append(guard)

    def tell_accepted(self, address, method):
        if address == self.address:
            self.method = method

    def tell_moved(self, address, _before, after, trigger, text):
        if address != self.address:
            return
        text = FIELDS.sub("", text)
        why, _, detail = text.partition("; ")
        if after == "error":
            self.problem = text
        elif trigger == "dirty_seen":
            self.screen.fact("survey", why)
        elif trigger == "guards_passed":
            self.screen.fact("guards passed", "%d of %d" % (len(self.guards), len(self.guards)))
            self.screen.fact("", ", ".join(name.replace("_", " ") for name in self.guards),
                             self.screen.dim)
        elif trigger == "still_burned":
            self.screen.fact("look again", why)
        elif trigger in ("step_done", "steps_done", "steps_verified"):
            self.tell_step(detail)
        elif trigger == "baseline_taken":
            self.screen.fact("baseline", detail)
        elif trigger == "erased":
            self.tell_erased(detail)
        elif trigger == "verified":
            self.tell_verified(detail)
        elif trigger == "look_ok":
            self.screen.fact("look again", why.partition(":")[0])
        elif trigger == "released":
            self.screen.fact("released", "%s, %s" % (detail.replace("->", "→"),
                                                     why.partition(", ")[2]), self.screen.green)
            self.finished = True

    def tell_step(self, detail):
        found = STEP.search(detail)
        if not found:
            return
        self.steps += 1
        step, looked_at, reset = found.groups()
        self.screen.fact("clean step %d" % self.steps, "%-27s %2s looked at, %s" % (
            step, looked_at, reset.replace("nothing had to be reset", "none reset")))

    def tell_erased(self, detail):
        method, self.method = self.method or "", None
        self.screen.bar("sanitize", METHODS.get(method, method), 100, 0)
        if self.screen.drawn:
            self.screen.drawn = False
            self.screen.line()
        self.erased = detail
        self.screen.fact("", detail.partition(": ")[2], self.screen.dim)

    def tell_verified(self, detail):
        found = VERIFIED.search(detail)
        if not found:
            return self.screen.fact("verified", detail)
        samples, size, held, unchanged, canaries, differing = map(int, found.groups())
        self.screen.fact("verified", "%d samples read (%.0f MiB): of %d that held data, "
                         "%d unchanged" % (samples, size / 2 ** 20, held, unchanged))
        self.screen.fact("", "%d canaries left, %d bytes differ from zeroes" %
                         (canaries, differing))
