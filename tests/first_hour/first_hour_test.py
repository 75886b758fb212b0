#!/usr/bin/python3
"""An operator's first hour: a bare Debian 12 that boots systemd in a QEMU guest, the ten lines of
docs/install.md typed as they stand there, the README's files with the site's own values; then an
instance is deleted, and its drive is cleaned and given back. RabbitMQ, Redis, Keystone and
Placement are real ones, on this machine.

  tests/first_hour/first_hour_test.py                    everything, from the build on
  tests/first_hour/first_hour_test.py --package FILE     with this package, not built here

Needs root, mmdebstrap, QEMU and a package mirror, and takes some minutes. What is made once (the
guest's disk) stays below build/first-hour. Nothing of this machine's is changed.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration/e2e"))

import bare_debian  # noqa: E402
import bus  # noqa: E402  (tests/integration/e2e)
import documents  # noqa: E402
from guest import ADDRESS, DRIVE_BYTES, PRODUCT, VENDOR, Guest  # noqa: E402
from services import Services, openstack_api  # noqa: E402
from waiting import wait_until  # noqa: E402

HOST = "compute-2"
HOME = "/home/" + bare_debian.USER
BOOT_S, COMMAND_S = 600, 900
TENANT = b"RECLAIM-TENANT-DATA "
# Of the recording: the instance that was deleted on compute-2.
INSTANCE = "4dee8fde-fe92-4c46-bd4d-bc755777eeeb"
NOVA = """
[DEFAULT]
transport_url = {transport_url}
[placement]
auth_type = password
auth_url = {auth_url}
username = {service_username}
password = {service_password}
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = {region}
"""


def say(text):
    print("first hour: " + text, flush=True)


def check(condition, what, said=""):
    if not condition:
        raise AssertionError("not so: %s\n%s" % (what, said))
    say("ok: " + what)


class FirstHour:
    def __init__(self, folder, guest, services):
        self.folder, self.guest, self.services = folder, guest, services
        self.provider = None

    def run(self, command, user="root", code=0):
        """What it prints. A command that ends otherwise than with `code` fails the test."""
        got, said = self.guest.run(command, user, COMMAND_S)
        if got != code:
            raise AssertionError("`%s` ended with %d:\n%s" % (command, got, said))
        return said

    def rows(self, command):
        """(exit code, rows) of a command that prints a list."""
        code, said = self.guest.run(command + " -f json 2>/run/complaint", "root", COMMAND_S)
        try:
            return code, json.loads(said)
        except ValueError:
            raise AssertionError("`%s` ended with %d and printed no rows:\n%s%s" % (
                command, code, said, self.guest.run("cat /run/complaint")[1])) from None

    def put(self, path, text, mode="0644"):
        self.run("cat >%s <<'END'\n%sEND\nchmod %s %s" % (path, text, mode, path))

    # the site, before Reclaim comes

    def furnish_site(self):
        """Nova's part: its files on the host, and the drive that it has reported to Placement."""
        made = self.services.register(HOST, ADDRESS, vendor=VENDOR, product=PRODUCT)
        self.provider = made["uuid"]
        with self.services.bus() as connection:
            connection.declare_exchange()
        where = {**self.services.endpoints, "transport_url": self.services.transport_url()}
        own = documents.with_values(documents.readme_file("nova.conf"),
                                    {'"144d"': '"%s"' % VENDOR, '"a80a"': '"%s"' % PRODUCT})
        self.put("/etc/nova/nova.conf",
                 (own + NOVA.format(**where)).replace("127.0.0.1", "controller"), "0640")
        self.put("/var/lib/nova/compute_id", made["root_uuid"] + "\n")
        self.catalog_names_controller()
        self.run("mkdir -p %s/build/release && cd %s && tar -xf /dev/vdb && "
                 "chown -R %s: %s" % (HOME, HOME, bare_debian.USER, HOME))
        self.run("apt-get -q update")

    def catalog_names_controller(self):
        """The addresses of the catalog are this machine's loopback; the guest has another name
        for it."""
        keystone = openstack_api.Keystone(self.services.endpoints["auth_url"],
                                          self.services.token("admin"))
        _, body = openstack_api.call("GET", keystone.url + "/endpoints", token=keystone.token)
        for each in body["endpoints"]:
            url = each["url"].replace("127.0.0.1", "controller")
            openstack_api.call("PATCH", "%s/endpoints/%s" % (keystone.url, each["id"]),
                               {"endpoint": {"url": url}}, keystone.token)

    # the ten lines

    def editor(self):
        """What the operator types into the file: the README's, with the site's own values."""
        text = documents.with_values(documents.readme_file("reclaim.conf"), {
            "redis://redis.example:6379/0": "redis://controller:%d/0" % self.services.redis_port(),
            '"144d"': '"%s"' % VENDOR, '"a80a"': '"%s"' % PRODUCT})
        self.put("/usr/local/bin/typed", "#!/bin/sh\ncat >>\"$1\" <<'TYPED'\n%sTYPED\n" % text,
                 "0755")

    def type_lines(self, lines):
        self.editor()
        for line in lines:
            say("$ " + line)
            said = self.run("export EDITOR=/usr/local/bin/typed\n" + line, bare_debian.USER)
            print("".join("    %s\n" % each for each in said.splitlines()[-25:]), end="",
                  flush=True)

    # what is seen then

    def device(self):
        _, rows = self.rows("reclaim device list")
        found = [row for row in rows if ADDRESS.endswith(row["Address"])]
        return found[0] if found else {}

    def wait_state(self, state):
        wait_until(lambda: self.device().get("Device State") == state, "the drive is " + state)

    def is_given_back(self):
        device = self.device()
        if device.get("Device State") == "error":
            raise AssertionError("it went to error: " + device["Note"])
        return self.services.reserved(self.provider) == 0

    def check_udev(self, lines):
        """udevd can lose a reload on a busy host: then the guide has it typed again."""
        typed = next(line for line in lines if "config udev" in line)

        def listed():
            code, said = self.guest.run("ls /dev/reclaim")
            if code != 0 or not said.strip():
                self.run(typed, bare_debian.USER)
            return code == 0 and said.strip()
        say("ok: udev leaves the drive alone: " + wait_until(listed, "/dev/reclaim lists it"))

    def check_doctor(self):
        code, rows = self.rows("reclaim doctor")
        text = json.dumps(rows, indent=1)
        check(code == 0, "doctor finds no error", text)
        check({row["Where"] for row in rows} == {"in the unit"},
              "doctor checked inside the unit's restrictions", text)
        told = {row["Check"]: row for row in rows}
        for name in ("udev rules", "capabilities", "worker", "placement", "rabbitmq", "redis"):
            check(told[name]["Result"] == "ok", "doctor's %s is ok" % name, text)

    def clean_a_drive(self):
        self.wait_state("available")
        say("the drive is in the pool; an instance gets it, and is deleted")
        placement = self.services.placement()
        placement.allocate(INSTANCE, self.provider,
                           "CUSTOM_PCI_%s_%s" % (VENDOR.upper(), PRODUCT))
        self.services.reserve(self.provider, 1)
        placement.free(INSTANCE)
        with self.services.bus() as connection:
            connection.publish_all(bus.recorded())
        wait_until(self.is_given_back, "the drive is given back")
        check(TENANT not in self.guest.drive.read_bytes(), "the tenant's data is gone")
        self.wait_state("available")
        said = self.run("reclaim certificate verify -f value -c Detail")
        say("ok: reclaim certificate verify: " + "; ".join(said.strip().splitlines()))
        _, rows = self.rows("reclaim certificate list")
        check(len(rows) == 1, "there is one certificate", str(rows))
        said = self.run("journalctl --no-pager -q -u reclaim -p err")
        check(said.strip() == "", "the journal has no error", said)
        check(self.run("systemctl is-active reclaim").strip() == "active", "the worker runs")

    # what only the unit's restrictions show

    def check_restrictions(self):
        self.run("mkdir -p /srv/metrics /etc/reclaim/reclaim.conf.d")
        self.put("/etc/reclaim/reclaim.conf.d/metrics.conf",
                 "[metrics]\ntextfile = /srv/metrics/reclaim.prom\n")

        def row(command):
            code, rows = self.rows(command)
            return code, {each["Check"]: each for each in rows}["metrics textfile"]
        code, found = row("reclaim doctor --inside-unit")
        check(code == 0 and found["Result"] == "ok", "outside the unit all may be written", found)
        code, found = row("reclaim doctor")
        check(code == 1 and found["Result"] == "error" and "Read-only" in found["Detail"],
              "doctor finds the folder that the unit may not write to", found)
        setting = found["Remedy"].rpartition(" ")[2]
        self.run("mkdir -p /etc/systemd/system/reclaim.service.d && printf '[Service]\\n%s\\n' "
                 ">/etc/systemd/system/reclaim.service.d/override.conf && "
                 "systemctl daemon-reload" % setting)
        code, found = row("reclaim doctor")
        check(code == 0 and found["Result"] == "ok", "with its remedy it may", found)
        self.run("systemctl restart reclaim")
        wait_until(lambda: self.guest.run("test -s /srv/metrics/reclaim.prom")[0] == 0,
                   "the worker writes there")
        self.run("systemctl stop reclaim")
        self.rows("reclaim doctor")
        self.run("test -d /run/reclaim")
        say("ok: doctor leaves the worker's run directory where it is")


def build(lines):
    for line in lines:
        say("$ " + line)
        done = subprocess.run(["bash", "-ec", line], cwd=ROOT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode != 0:
            raise AssertionError("`%s` ended with %d:\n%s" % (line, done.returncode,
                                                             done.stdout[-3000:]))
    package, = glob.glob(str(ROOT / "build/release/reclaim_*.deb"))
    return package


def pack(folder, package):
    """The build's result where the next line looks for it, as an archive for the guest."""
    place = folder / "files/build/release"
    place.mkdir(parents=True)
    shutil.copy(package, place)
    archive = folder / "files.tar"
    subprocess.run(["tar", "-C", str(folder / "files"), "-cf", str(archive), "."], check=True)
    return archive


def play(folder, package, lines):
    (folder / "drive.img").write_bytes(TENANT * (DRIVE_BYTES // len(TENANT)) +
                                       TENANT[:DRIVE_BYTES % len(TENANT)])
    services = Services(str(folder / "services"))
    guest = None
    try:
        guest = Guest(folder, bare_debian.make(ROOT / "build/first-hour"), pack(folder, package))
        services.start()
        guest.wait_until_up(BOOT_S)
        say("the guest is up")
        hour = FirstHour(folder, guest, services)
        hour.furnish_site()
        hour.type_lines(lines)
        hour.check_udev(lines)
        hour.check_doctor()
        hour.clean_a_drive()
        hour.check_restrictions()
    except Exception:
        if guest and guest.process.poll() is None:
            print(guest.run("journalctl --no-pager -n 60 -u reclaim; "
                            "cat /etc/reclaim/reclaim.conf | grep -v '^#' | grep .")[1])
        raise
    finally:
        if guest:
            guest.kill()
        services.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", help="reclaim_*.deb [built here by the lines of the document]")
    options = parser.parse_args()
    missing = [name for name in ("qemu-system-x86_64", "mmdebstrap", "mke2fs")
               if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        sys.exit("first hour: needs root and %s: tests/setup/install_packages.sh guest packages" %
                 ", ".join(missing or ["mmdebstrap"]))
    building, installing = documents.ten_lines()
    package = options.package or build(building)
    with tempfile.TemporaryDirectory(prefix="reclaim-first-hour-", dir="/var/tmp") as name:
        play(Path(name), package, installing)
    say("all as it should be")


if __name__ == "__main__":
    main()
