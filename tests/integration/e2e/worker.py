"""An emulated host and the shipped `reclaim` on it, behind the emulator's LD_PRELOAD."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

from services import BUILD, run
from service_process import die_with_parent  # stack/, which services.py has put on the path
from waiting import DEADLINE_S, takes_part, wait_until

CONFIG = """\
[DEFAULT]
transport_url = {transport_url}
host = {host}
state_path = {state}
[listener]
queue = reclaim_{host}
dead_letter_queue = reclaim_{host}_dead
[oslo_messaging_rabbit]
rabbit_retry_interval = 1
rabbit_retry_backoff = 0
[redis]
url = redis://{redis_user}@127.0.0.1:{redis_port}/{db}
[placement]
auth_type = password
auth_url = {auth_url}
username = {username}
password = {password}
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = {region}
[nvme]
device_spec = {device_spec}
enrol_first_sight = {first_sight}
verify_samples = {samples}
[reclaim]
survey_interval_s = {survey_s}
sysfs_root = {root}/sys
dev_root = {root}/dev
proc_root = {root}/proc
libvirt_dirs = {root}/run/libvirt/qemu,{root}/etc/libvirt/qemu
compute_id_file = {root}/var/lib/nova/compute_id
machine_id_file = {root}/etc/machine-id
run_path = {root}/run/reclaim
"""


class Programs:
    """What is tested, and the emulator that it is tested with."""

    def __init__(self):
        self.reclaim = os.path.join(BUILD, "reclaim")
        self.emulator = os.path.join(BUILD, "tests/emulator/reclaim-emulator")
        shim = os.path.join(BUILD, "tests/emulator/libreclaim_emulator.so")
        # A sanitizer's runtime has to come before the emulator's library.
        first = os.environ.get("RECLAIM_PRELOAD_FIRST", "")
        self.preload = (first + " " + shim).strip()
        self.sanitized = bool(first)


class EmulatedHost:
    """A host in a folder: drives, other PCI functions, sysfs, libvirt's directories, machine-id."""

    def __init__(self, programs, root, drives, functions=()):
        self.programs = programs
        self.root = root
        words = []
        for drive in drives:
            words += ["--drive", drive]
        for function in functions:
            words += ["--function", function]
        self.tool("create", *words)
        os.makedirs(os.path.join(root, "run/reclaim"), exist_ok=True)

    def tool(self, command, *words):
        return run([self.programs.emulator, command, self.root, *words])

    def fill(self, address, seed):
        self.tool("fill", address, "--seed", str(seed))

    def set(self, address, **settings):
        self.tool("set", address, *["%s=%s" % pair for pair in settings.items()])

    def digest(self, address, seed):
        return dict(word.split("=") for word in
                    self.tool("digest", address, "--seed", str(seed)).split())

    def sanitizes(self, address):
        """How many sanitize commands the drive has accepted in its life."""
        return int(re.search(r"accepted=(\d+)", self.tool("show", address)).group(1))

    def sanitize_status(self, address):
        """SSTAT of the sanitize log: 1 completed, 2 in progress, 3 failed."""
        return int(re.search(r"sanitize status=(\d+)", self.tool("show", address)).group(1))

    def write(self, path, text):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self, path):
        os.unlink(os.path.join(self.root, path))


class Process:
    """`reclaim` with a configuration of its own, as it runs until it is stopped."""

    def __init__(self, programs, services, folder, name):
        self.programs, self.services, self.folder = programs, services, folder
        self.config = os.path.join(folder, name)
        self.process = None
        self.runs = 0
        os.makedirs(folder, exist_ok=True)

    def write(self, text):
        descriptor = os.open(self.config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)

    def environment(self, **more):
        return {**os.environ, **more}

    def launch(self, command, before=(), debug=True, **environment):
        self.runs += 1
        self.log = os.path.join(self.folder, "%s-%d.log" % (command, self.runs))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*before, self.programs.reclaim, "--config-file", self.config,
                 *(["--debug"] if debug else []), command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent if self.services.tied else None,
                env=self.environment(**environment))
        takes_part("reclaim %s in %s" % (command, self.folder), self.log,
                   lambda: self.process.pid)

    def stop(self, deadline_s=DEADLINE_S):
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(deadline_s)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def must_run(self):
        if self.process and self.process.poll() is not None:
            raise AssertionError("it ended with %s:\n%s" % (self.process.returncode,
                                                           self.log_text()[-3000:]))

    def wait_log(self, pattern, deadline_s=DEADLINE_S):
        expression = re.compile(pattern, re.MULTILINE)

        def seen():
            found = expression.search(self.log_text())
            if not found:
                self.must_run()
            return found
        return self.wait_until(seen, "%r in %s" % (pattern, self.log), deadline_s)

    def wait_until(self, condition, what, deadline_s=DEADLINE_S):
        """Who waits in vain is shown what the process said last."""
        try:
            return wait_until(condition, what, deadline_s)
        except AssertionError as late:
            raise AssertionError("%s\n%s" % (late, self.log_text()[-3000:])) from None

    def command(self, *words, stdin=None):
        """(exit code, standard output, standard error)."""
        done = subprocess.run([self.programs.reclaim, "--config-file", self.config, *words],
                              input=stdin, capture_output=True, text=True, timeout=DEADLINE_S,
                              check=False, env=self.environment())
        return done.returncode, done.stdout, done.stderr


class Worker(Process):
    """`reclaim serve` as an operator runs it on one emulated host."""

    def __init__(self, programs, services, host, name, folder, **settings):
        super().__init__(programs, services, folder, "reclaim.conf")
        self.host, self.name = host, name
        self.db = settings.pop("db", 0)
        os.makedirs(os.path.join(folder, "state"), exist_ok=True)
        self.settings = {
            "transport_url": services.transport_url(), "host": name, "db": self.db,
            "state": os.path.join(folder, "state"), "redis_port": services.redis_port(),
            "redis_user": services.redis_user(name),
            "auth_url": services.endpoints["auth_url"],
            "username": services.endpoints["service_username"],
            "password": services.endpoints["service_password"],
            "region": services.endpoints["region"], "root": host.root, "survey_s": 3600,
            "device_spec": json.dumps({"vendor_id": "144d", "product_id": "a80a"}),
            "samples": 64, "first_sight": "accept", **settings}
        self.write_config()

    def write_config(self, more="", **settings):
        self.settings.update(settings)
        self.write(CONFIG.format(**self.settings) + more)

    def environment(self, **more):
        return {**os.environ, "LD_PRELOAD": self.programs.preload,
                "RECLAIM_EMULATOR_ROOT": self.host.root, **more}

    def start(self, wait=True, **more):
        self.launch("serve", **more)
        if wait:
            self.wait_log(r"reclaim\.service.* ready$")
            self.wait_log(r"consuming from")
        return self

    # the operator's commands

    def as_operator(self, **settings):
        """One with an operator's login to Redis."""
        operator = Worker(self.programs, self.services, self.host, self.name,
                          self.folder + "-operator", db=self.db)
        operator.write_config(**{**self.settings, **settings,
                                 "redis_user": self.services.redis_user_of_operator()})
        return operator

    def install(self):
        """As an operator does before workers start: a host's login may not."""
        code, out, err = self.command("redis", "install")
        if code != 0:
            raise AssertionError("redis install: " + err)
        return out

    def devices(self):
        code, out, err = self.command("device", "list", "-f", "json")
        if code != 0:
            raise AssertionError("device list: " + err)
        return {row["Address"]: row for row in json.loads(out)}

    # what is in Redis, as an operator with redis-cli sees it

    def field(self, address, name):
        return self.services.redis("hget", "reclaim:{%s}:device:%s" % (self.name, address), name,
                                   db=self.db)

    def wait_field(self, address, name, wanted, deadline_s=DEADLINE_S):
        def look():
            self.must_run()
            return self.field(address, name) == wanted
        return self.wait_until(look, "%s of %s is %s (see %s)" % (name, address, wanted, self.log),
                               deadline_s)

    def measured(self):
        """{(metric, values of its labels without the host): its numbers}, as Redis has them."""
        text = self.services.redis("get", "reclaim:{%s}:metrics" % self.name, db=self.db)
        return {(metric, *labels): numbers for metric, labels, numbers in json.loads(text or "[]")}

    def certificates(self):
        """Of each file of the host's chain, in order: what was certified."""
        found = []
        for path in sorted(glob.glob(os.path.join(self.settings["state"], "certificates/*.json"))):
            with open(path, encoding="utf-8") as file:
                sealed = json.load(file)["sealed"]
            if "certificate" in sealed:
                found.append(sealed["certificate"])
        return found

    def journal(self):
        """[(from, trigger, to)] of the host's journal."""
        text = self.services.redis("--json", "xrange", "reclaim:{%s}:journal" % self.name, "-", "+",
                                   db=self.db)
        entries = []
        for _, fields in json.loads(text):
            entry = dict(zip(fields[::2], fields[1::2])) if isinstance(fields, list) else fields
            entries.append(entry)
        return entries


def temporary_folder():
    """Short, because a unix socket's path has 107 bytes."""
    return tempfile.mkdtemp(prefix="reclaim-e2e-")


def commands_folder(test):
    """Gone with the test. Nobody but root may write a directory above a command, so it is not in
    the temporary folder; by that one's name in its own leftovers.py knows whose it is."""
    folder = tempfile.mkdtemp(prefix="reclaim-%s-" % os.path.basename(tempfile.gettempdir()),
                              dir="/run")
    test.addCleanup(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    return folder
