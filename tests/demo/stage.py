"""What the flows of the demo share: the services, an emulated host, the worker on it, following
one cleaning, and what is to be seen from outside before and after."""
import glob
import json
import os
import subprocess
import tempfile
import time

import check
import keeping
from services import Services
from story import Story
from waiting import DEADLINE_S
from worker import EmulatedHost, Programs, Worker

HOST = "compute-2"
SANITIZE_MS = 7000
CLEAN_WITHIN_S = DEADLINE_S
MARK = b"RECLAIM-TENANT-DATA"


class Tenant:
    """An instance and the drive that it has."""

    def __init__(self, name, instance, serial, seed):
        self.name, self.instance, self.serial, self.seed = name, instance, serial, seed


class Stage:
    """One demo. Everything it starts is its own, in one temporary folder."""

    tenants = {}  # address -> Tenant; the first one's drive is cleaned

    def __init__(self, arguments, screen):
        self.arguments, self.screen = arguments, screen
        self.folder = tempfile.mkdtemp(prefix="reclaim-demo-")
        self.folders = [self.folder]  # all that are removed in the end
        self.services = Services(os.path.join(self.folder, "services"), tied=not arguments.keep)
        self.programs = Programs()
        self.host = None
        self.worker = None
        self.api = None
        self.providers = {}
        self.places = {}  # address -> offset of a tenant's text
        self.told_until = 0  # of the worker's log, in bytes
        self.cleaned = next(iter(self.tenants))
        self.queues = []  # of Nova's notifier

    def start_services(self):
        waiting = ["RabbitMQ", "Redis", "Keystone and Placement"]

        def said(name):
            waiting.remove(name)
            if waiting:
                self.screen.working("Services", "waiting for " + ", ".join(waiting))
        self.screen.working("Services", "starting " + ", ".join(waiting))
        self.services.start(said)
        self.screen.step("Services", " · ".join(
            "%s %s" % (name, version_of(package)) for name, package in (
                ("RabbitMQ", "rabbitmq-server"), ("Redis", "redis-server"),
                ("Keystone", "python3-keystone"), ("Placement", "python3-placement"),
                ("MariaDB", "mariadb-server-core"))))
        self.screen.fact("", "real ones, private: loopback ports, in " + self.folder,
                         self.screen.dim)

    def make_drives(self):
        descriptions = ["address=%s,serial=%s,size=64M,duration_ms=%d%s" %
                        (address, tenant.serial, SANITIZE_MS,
                         "," + self.arguments.fault if self.arguments.fault and
                         address == self.cleaned else "")
                        for address, tenant in self.tenants.items()]
        self.host = EmulatedHost(self.programs, os.path.join(self.folder, "host"), descriptions)
        self.services.keep_novas_queues_empty()
        with self.services.bus() as connection:
            self.queues = connection.declare_notifiers_queues()

    def fill(self, address):
        """What a tenant leaves on its drive."""
        self.host.fill(address, self.tenants[address].seed)
        self.places[address] = self.find_text(address)

    def register(self, address, **more):
        made = self.services.register(HOST, address, **more)
        self.providers[address] = made["uuid"]
        self.host.write("var/lib/nova/compute_id", made["root_uuid"] + "\n")

    def start_worker(self, more=""):
        self.screen.working("reclaim serve", "starting")
        self.worker = Worker(self.programs, self.services, self.host, HOST,
                             os.path.join(self.folder, "reclaim"), survey_s=60, samples=256)
        # What the guide speaks of, for whoever types its commands in a demo that is kept.
        mirror = os.path.join(self.folder, "mirror")
        os.mkdir(mirror)
        self.worker.write_config("labels = rack=7\n[certificates]\nmirror_dir = %s\n%s" % (
            mirror, more))
        self.worker.as_operator().install()
        self.worker.start()  # at DEBUG, which names each guard

    def follow(self, story, ended):
        """Tells what the log says, from where it was told last, until ended() is true."""
        end = time.monotonic() + CLEAN_WITHIN_S
        while True:
            self.told_until = story.read(self.worker.log, self.told_until)
            story.tick()
            if ended():
                return
            if story.problem:
                raise AssertionError("the device went to error: " + story.problem)
            if time.monotonic() > end:
                raise AssertionError("not cleaned within %d s" % CLEAN_WITHIN_S)
            self.worker.must_run()
            time.sleep(0.1)

    def story(self):
        return Story(self.screen, self.cleaned, HOST, self.tenants[self.cleaned].instance,
                     self.progress)

    def progress(self):
        percent = self.worker.field(self.cleaned, "progress")
        eta = self.worker.field(self.cleaned, "progress_eta_s")
        return float(percent or 0), int(eta or -1)

    # what is to be seen, from outside

    def find_text(self, address):
        """Where the tenant's text begins on the media: behind the partition table."""
        with open(self.media(address), "rb") as media:
            return media.read().index(MARK, 64 * 1024)

    def media(self, address):
        return os.path.join(self.host.root, "dev", "nvme%dn1" % list(self.tenants).index(address))

    def excerpt(self, address):
        with open(self.media(address), "rb") as media:
            media.seek(self.places[address])
            return media.read(len(MARK))

    def look(self):
        return {address: check.Drive(
            self.worker.field(address, "device_state"),
            self.services.reserved(self.providers[address]),
            self.services.consumers(self.providers[address]),
            self.host.digest(address, tenant.seed), self.host.sanitizes(address),
            self.excerpt(address)) for address, tenant in self.tenants.items()}

    def show_table(self, before, after, instances, marks):
        def change(of):
            return ["%s → %s" % (of(before[a]), of(after[a])) if of(before[a]) != of(after[a])
                    else "%s, same" % of(after[a]) for a in self.tenants]
        self.screen.step("Before and after", "seen from outside: media, Placement, drive")
        self.screen.table([
            ["", *self.tenants],
            ["instance", *instances],
            ["reserved", *change(lambda drive: "%d" % drive.reserved)],
            ["device state", *change(lambda drive: drive.state)],
            ["tenant's blocks", *change(lambda drive: "%d" % drive.tenant_blocks_kept)],
            ["tenant's text", *change(lambda drive: printable(drive.excerpt))],
            ["sanitizes", *change(lambda drive: "%d" % drive.sanitizes)],
            ["sha256", *change(lambda drive: drive.sha256[:8])],
        ], lambda row, column: marks.get(column))

    def wrong_with_queues(self):
        with self.services.bus() as connection:
            found = {name: connection.look(name) for name in self.queues}
        self.screen.step("Nova's own queues",
                         "that nobody reads, kept empty by the README's policy")
        self.screen.fact("messages", ", ".join("%s %d" % (name, messages)
                                               for name, (messages, _) in found.items()
                                               if name.endswith(".info")))
        return check.wrong_with_queues(found)

    # the certificate

    def certificate(self):
        name = self.worker.field(self.cleaned, "certificate_id")
        path, = glob.glob(os.path.join(self.folder, "reclaim", "state", "certificates",
                                       "*-%s.json" % name))
        with open(path, encoding="utf-8") as file:
            return json.load(file)["sealed"]["certificate"], path

    def show_certificate(self, certificate):
        self.screen.step("Certificate", certificate["id"])
        evidence, report = certificate["evidence"], certificate["verification"]
        for name, text in (
                ("drive", "%s %s, firmware %s" % (certificate["model"], certificate["serial"],
                                                  certificate["firmware"])),
                ("ends tenancy", certificate["instance"]),
                ("method", "%s (%s), %.1f s" % (certificate["method"],
                                                certificate["sanitization_class"],
                                                evidence["duration_ms"] / 1000)),
                ("the drive says", "status 0x%x, global data erased: %s" % (
                    evidence["sstat"], "yes" if evidence["global_data_erased"] else "no")),
                ("we looked", "%d samples, %d had data: %d unchanged; %d bytes differ from %s" %
                 (report["samples_read"], report["samples_counted"], report["samples_unchanged"],
                  report["bytes_nonzero"], report["expectation"])),
                ("given back", certificate["released_at"])):
            self.screen.fact(name, text)

    def verify(self, folder):
        """(exit code, verdict) of `reclaim certificate verify`."""
        code, out, err = self.worker.command("certificate", "verify", "--folder", folder,
                                             "-f", "value", "-c", "Detail")
        return code, "; ".join((out + err).strip().splitlines())

    # the end

    def show_logs(self):
        """The ends of the logs, for whoever has to find out."""
        logs = [self.worker.log] if self.worker else []
        for path in ("services/openstack/placement.out", "services/openstack/keystone.out",
                     "services/openstack/mariadb.out", "services/rabbitmq/log/console.log",
                     "services/redis/redis.log"):
            logs.append(os.path.join(self.folder, path))
        for log in logs:
            if not os.path.exists(log):
                continue
            with open(log, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()[-(25 if log == logs[0] else 5):]
            self.screen.line(self.screen.dim("── the end of " + os.path.relpath(log, self.folder)))
            for line in lines:
                self.screen.line("   " + line[:300])

    def clean_up(self):
        for process in (self.api, self.worker):
            if process:
                process.kill()
        self.services.stop()
        # A service that was told to stop takes its moment.
        until = time.monotonic() + 15
        while (left := keeping.processes_of(self.folder)) and time.monotonic() < until:
            time.sleep(0.1)
        keeping.kill(left)
        keeping.remove(*self.folders)
        return not left


def version_of(package):
    """Upstream's part of Debian's version."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], text=True,
                          capture_output=True, check=False)
    return done.stdout.partition(":")[2].split("-")[0].split("+")[0] if ":" in done.stdout \
        else done.stdout.split("-")[0].split("+")[0]


def printable(data):
    text = data.decode("ascii", "replace")
    if text.isprintable() and text.isascii():
        return text[:7] + "…"
    return " ".join("%02x" % byte for byte in data[:3]) + "…"
