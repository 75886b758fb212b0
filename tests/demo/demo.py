#!/usr/bin/python3
"""The main job on real services, shown as it happens. Started by demo.sh, which has built the
programs; everything it starts is its own, in one temporary folder, and gone afterwards."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration", "e2e"))
sys.path.insert(0, HERE)
# No compiled files beside the sources: the demo leaves nothing behind.
sys.dont_write_bytecode = True

import bus  # noqa: E402
import check  # noqa: E402
import keeping  # noqa: E402
from screen import Screen  # noqa: E402
from services import Services, wait_until  # noqa: E402
from story import Story  # noqa: E402
from worker import EmulatedHost, Programs, Worker  # noqa: E402

HOST = "compute-2"
# Of the recording: vm5 was deleted on compute-2, vm4 stayed.
DRIVES = {
    "0000:01:00.0": ("vm5", "4dee8fde-fe92-4c46-bd4d-bc755777eeeb", "DEMO-0001", 5),
    "0000:02:00.0": ("vm4", "54e2fdaf-63d0-4f68-bff2-412445b8b40f", "DEMO-0002", 4),
    # Of no recording: its message got lost, and the survey finds it.
    "0000:03:00.0": ("vm6", "0d6c1f0e-5b0a-4a51-9c9e-8a6f5f1b3c77", "DEMO-0003", 6),
}
CLEANED, LEFT, HOSTILE = DRIVES
SANITIZE_MS = 7000
CLEAN_WITHIN_S = 90
MARK = b"RECLAIM-TENANT-DATA"


class Interrupted(BaseException):
    def __init__(self, number):
        super().__init__()
        self.number = number


class Demo:
    def __init__(self, arguments, screen):
        self.arguments, self.screen = arguments, screen
        self.folder = tempfile.mkdtemp(prefix="reclaim-demo-")
        self.services = Services(os.path.join(self.folder, "services"))
        self.programs = Programs()
        self.host = None
        self.worker = None
        self.providers = {}
        self.places = {}  # address -> offset of a tenant's text

    def run(self):
        self.start_services()
        self.make_host()
        self.start_worker()
        before = self.look()
        self.play()
        self.show_result(before, self.look())

    def start_services(self):
        waiting = ["RabbitMQ", "Redis", "Keystone and Placement"]

        def said(name):
            waiting.remove(name)
            if waiting:
                self.screen.working("Services", "waiting for " + ", ".join(waiting))
        self.screen.working("Services", "starting " + ", ".join(waiting))
        self.services.start(said, tied=not self.arguments.keep)
        self.screen.step("Services", " · ".join(
            "%s %s" % (name, version_of(package)) for name, package in (
                ("RabbitMQ", "rabbitmq-server"), ("Redis", "redis-server"),
                ("Keystone", "python3-keystone"), ("Placement", "python3-placement"))))
        self.screen.fact("", "real ones, private: loopback ports, in " + self.folder,
                         self.screen.dim)

    def make_host(self):
        self.screen.working("Compute host", "making three drives and their tenants' data")
        descriptions = ["address=%s,serial=%s,size=64M,duration_ms=%d%s" %
                        (address, serial, SANITIZE_MS,
                         "," + self.arguments.fault if self.arguments.fault and
                         address == CLEANED else "")
                        for address, (_, _, serial, _) in DRIVES.items()]
        self.host = EmulatedHost(self.programs, os.path.join(self.folder, "host"), descriptions)
        with self.services.bus() as connection:
            connection.declare_exchange()
        for address, (_, instance, _, seed) in DRIVES.items():
            self.host.fill(address, seed)
            made = self.services.register(HOST, address, reserved=1, consumer=instance)
            self.providers[address] = made["uuid"]
            self.places[address] = self.find_text(address)
        self.host.set(HOSTILE, opal_enabled=1, opal_locked=1)
        self.host.write("var/lib/nova/compute_id", made["root_uuid"] + "\n")
        self.screen.step("Compute host", "%s: three emulated drives, registered as Nova does" %
                         HOST)
        for address, (name, instance, serial, _) in DRIVES.items():
            self.screen.fact(address, "%s, 64 MiB; %s (%s) holds it: allocated, reserved = 1" % (
                serial, name, instance[:8]))
        self.screen.fact("", "%s is hostile: it has taken Opal ownership and locked its drive" %
                         DRIVES[HOSTILE][0], self.screen.dim)

    def start_worker(self):
        self.screen.working("reclaim serve", "starting")
        self.worker = Worker(self.programs, self.services, self.host, HOST,
                             os.path.join(self.folder, "reclaim"), survey_s=60, samples=256)
        self.worker.start(debug=False, tied=not self.arguments.keep)
        for address in DRIVES:
            self.worker.wait_field(address, "device_state", "allocated")
        self.screen.step("reclaim serve", "ready (pid %d): three drives known, all in use" %
                         self.worker.process.pid)

    def play(self):
        name, instance, _, _ = DRIVES[CLEANED]
        messages = bus.recorded()
        hostile, its_instance, _, _ = DRIVES[HOSTILE]
        self.screen.step("%s is deleted" % name,
                         "and %s too; %d recorded Nova 2026.2 messages tell of the first" %
                         (hostile, len(messages)))
        for each in (instance, its_instance):
            self.services.placement().free(each)
        with self.services.bus() as connection:
            connection.publish_all(messages)
        story = Story(self.screen, CLEANED, HOST, instance, self.progress)
        end = time.monotonic() + CLEAN_WITHIN_S
        with open(self.worker.log, encoding="utf-8", errors="replace") as log:
            rest = ""
            while not story.finished:
                rest += log.read()
                *lines, rest = rest.split("\n")
                for line in lines:
                    story.tell(line)
                story.tick()
                if story.problem:
                    raise AssertionError("the device went to error: " + story.problem)
                if time.monotonic() > end:
                    raise AssertionError("not cleaned within %d s" % CLEAN_WITHIN_S)
                self.worker.must_run()
                time.sleep(0.1)
        self.worker.wait_field(CLEANED, "device_state", "available")
        self.worker.wait_field(HOSTILE, "device_state", "error")
        self.show_quarantine()

    def show_quarantine(self):
        self.screen.step("Quarantined", "%s, %s's: not erased, not given back" %
                         (HOSTILE, DRIVES[HOSTILE][0]))
        # "quarantined: nvme.STEP: SURFACE: what was found; what to do".
        step, _, rest = self.note().partition(": ")[2].partition(": ")
        found, _, remedy = rest.partition("; ")
        self.screen.fact("clean step", step)
        self.screen.fact("found", found, self.screen.red)
        self.screen.fact("what to do", remedy)

    def note(self):
        return self.worker.field(HOSTILE, "last_error")

    def progress(self):
        percent = self.worker.field(CLEANED, "progress")
        eta = self.worker.field(CLEANED, "progress_eta_s")
        return float(percent or 0), int(eta or -1)

    # what is to be seen, from outside

    def find_text(self, address):
        """Where the tenant's text begins on the media: behind the partition table."""
        with open(self.media(address), "rb") as media:
            return media.read().index(MARK, 64 * 1024)

    def media(self, address):
        return os.path.join(self.host.root, "dev", "nvme%dn1" % list(DRIVES).index(address))

    def excerpt(self, address):
        with open(self.media(address), "rb") as media:
            media.seek(self.places[address])
            return media.read(len(MARK))

    def look(self):
        placement = self.services.placement()
        seen = {}
        for address, (_, _, _, seed) in DRIVES.items():
            provider = self.providers[address]
            consumers = placement.call("GET", "/resource_providers/%s/allocations" % provider)
            seen[address] = check.Drive(
                self.worker.field(address, "device_state"), self.services.reserved(provider),
                list(consumers["allocations"]), self.host.digest(address, seed),
                self.host.sanitizes(address), self.excerpt(address))
        return seen

    def show_result(self, before, after):
        certificate, path = self.certificate()
        self.screen.step("Before and after", "seen from outside: media, Placement, drive")
        self.show_table(before, after)
        self.screen.step("Certificate", certificate["id"])
        self.show_certificate(certificate)
        verified = self.verify(os.path.dirname(path))
        tampered = self.verify(self.tamper(path))
        self.show_verification(verified, tampered)
        wrong = ["%s: %s" % (CLEANED, text) for text in
                 check.wrong_with_erased(before[CLEANED], after[CLEANED]) +
                 check.wrong_with_certificate(certificate, DRIVES[CLEANED][2],
                                              DRIVES[CLEANED][1]) +
                 check.wrong_with_verification(*verified, *tampered)]
        wrong += ["%s: %s" % (LEFT, text) for text in
                  check.wrong_with_untouched(before[LEFT], after[LEFT])]
        wrong += ["%s: %s" % (HOSTILE, text) for text in
                  check.wrong_with_quarantined(before[HOSTILE], after[HOSTILE], self.note())]
        if wrong:
            raise AssertionError("; ".join(wrong))
        self.screen.step("Left alone", "%s is as it was, byte for byte: sha256 %s…" %
                         (LEFT, after[LEFT].sha256[:16]))
        return path

    def verify(self, folder):
        """(exit code, verdict) of `reclaim certificate verify`."""
        code, out, err = self.worker.command("certificate", "verify", "--folder", folder,
                                             "-f", "value", "-c", "Detail")
        return code, "; ".join((out + err).strip().splitlines())

    def tamper(self, path):
        """A copy of the folder, in which the certificate is of another drive by one byte."""
        copy = os.path.join(self.folder, "tampered")
        shutil.copytree(os.path.dirname(path), copy)
        with open(os.path.join(copy, os.path.basename(path)), "r+", encoding="utf-8") as file:
            text = file.read().replace(DRIVES[CLEANED][2], DRIVES[LEFT][2])
            file.seek(0)
            file.write(text)
        return copy

    def show_verification(self, verified, tampered):
        self.screen.fact("verified", verified[1].replace(self.folder, ""), self.screen.green)
        self.screen.fact("one byte changed", "%s → %s in a copy: %s" % (
            DRIVES[CLEANED][2], DRIVES[LEFT][2], tampered[1].replace(self.folder, "")),
            self.screen.red)

    def show_table(self, before, after):
        def change(of):
            return ["%s → %s" % (of(before[a]), of(after[a])) if of(before[a]) != of(after[a])
                    else "%s, unchanged" % of(after[a]) for a in DRIVES]
        names = [name for name, _, _, _ in DRIVES.values()]
        self.screen.table([
            ["", *DRIVES],
            ["instance", names[0] + ", deleted", names[1] + ", running", names[2] + ", deleted"],
            ["reserved", *change(lambda drive: "%d" % drive.reserved)],
            ["device state", *change(lambda drive: drive.state)],
            ["tenant's blocks", *change(lambda drive: "%d" % drive.tenant_blocks_kept)],
            ["tenant's text", *change(lambda drive: printable(drive.excerpt))],
            ["sanitizes", *change(lambda drive: "%d" % drive.sanitizes)],
            ["sha256", *change(lambda drive: drive.sha256[:8])],
        ], lambda row, column: {1: self.screen.green, 3: self.screen.red}.get(column))

    def certificate(self):
        name = self.worker.field(CLEANED, "certificate_id")
        path = os.path.join(self.folder, "reclaim", "state", "certificates",
                            "000000001-%s.json" % name)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["sealed"]["certificate"], path

    def show_certificate(self, certificate):
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

    def show_logs(self):
        """The ends of the logs, for whoever has to find out."""
        logs = [self.worker.log] if self.worker else []
        for path in ("services/openstack/placement.out", "services/openstack/keystone.out",
                     "services/rabbitmq/log/console.log", "services/redis/redis.log"):
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
        if self.worker:
            self.worker.kill()
        self.services.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        left = keeping.processes_of(self.folder)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
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
        return text[:9] + "…"
    return " ".join("%02x" % byte for byte in data[:3]) + " …"


def on_signal(number, _frame):
    raise Interrupted(number)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--steps-before", type=int, default=0, help="steps demo.sh has shown")
    parser.add_argument("--fault", metavar="KEY=VALUE", help="a fault of the drive to be cleaned")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    screen = Screen()
    if arguments.stop:
        return keeping.stop(screen)
    if arguments.keep and keeping.kept():
        screen.line("demo: one is kept already; ./demo.sh --stop ends it")
        return 1
    screen.number = arguments.steps_before
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    began = time.monotonic()
    code = 1
    demo = Demo(arguments, screen)
    try:
        demo.run()
        code = 0
        if arguments.keep:
            keeping.keep(screen, demo)
            return code
    except Interrupted as interrupted:
        code = 128 + interrupted.number
        screen.line()
        screen.line("demo: interrupted; stopping what was started")
    except (Exception, SystemExit) as problem:
        screen.line()
        screen.line(screen.red("demo failed: ") + str(problem))
        demo.show_logs()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if code != 0 or not arguments.keep:
            screen.working("Clean up", "stopping the services")
            gone = demo.clean_up()
            screen.clear()
    if code == 0:
        if not gone:
            screen.line(screen.red("demo failed: ") + "processes were left behind and are killed")
            return 1
        screen.step("Cleaned up", "every service stopped, every file removed; %d s in all" %
                    (time.monotonic() - began))
        screen.line()
    return code


if __name__ == "__main__":
    sys.exit(main())
