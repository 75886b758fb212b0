"""The real services behind doors, the emulated hosts and their workers: what can be stopped, killed
and started again, one by one."""
import contextlib
import functools
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(os.path.dirname(HERE), "integration/e2e")
sys.path.insert(0, E2E)

from services import Services  # noqa: E402  (puts stack/ on the path)
import bus  # noqa: E402
import openstack  # noqa: E402  (stack/)
import service_process  # noqa: E402
from waiting import is_zombie, wait_until  # noqa: E402
from worker import EmulatedHost, Programs, Worker  # noqa: E402

from disk import Disk  # noqa: E402  (beside this file)
from door import Door  # noqa: E402

DELETED = "4dee8fde-fe92-4c46-bd4d-bc755777eeeb"  # of the recording (e2e/case.py)
RECORDED_HOST = "compute-2"
STATE_SIZE = "8m"
# Of a service: its folder, and what a long run has room in.
SERVICE_DISKS = {"redis": (("redis",), "256m"), "rabbitmq": (("rabbitmq", "mnesia"), "64m")}
BROKER_SERVES_S = 60  # with room again; RabbitMQ looks at it every 10 s at most
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"
MORE_CONFIG = """\
[listener]
queue = reclaim
dead_letter_queue = reclaim_dead
"""

# What the drive itself counts.
Drive = namedtuple("Drive", "sanitizes running writes")


class Cloud(Services):
    """Services that a worker reaches through doors only; who watches goes past them."""

    def __init__(self, folder):
        super().__init__(folder)
        self.doors = {}
        self.disks = {name: Disk(self.path(*folder), size)
                      for name, (folder, size) in SERVICE_DISKS.items()}
        self.pids_lock = threading.Lock()

    def start_all(self, said):
        self.start(said)
        self.openstack_sockets = {
            name: int(url.split("/")[2].split(":")[1]) for name, url in (
                ("keystone", self.endpoints["auth_url"]),
                ("placement", self.endpoints["placement_url"]))}
        self.doors = {"redis": Door(self.redis_port()), "rabbitmq": Door(self.broker["port"]),
                      **{name: Door(port) for name, port in self.openstack_sockets.items()}}

    def stop_all(self):
        for door in self.doors.values():
            door.close()
        self.stop()
        for disk in self.disks.values():
            disk.unmount()

    # One service

    def pids_of(self, name):
        """Of all its processes that are there."""
        if name == "redis":
            return [self.redis_server.number("redis.pid")]
        if name == "rabbitmq":
            with open(self.path("rabbitmq", "server.pid"), encoding="ascii") as file:
                group = int(file.read())
            found = subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True,
                                   check=False).stdout
            return [int(word) for word in found.split()]
        with open(self.path("openstack", "pids.json"), encoding="ascii") as file:
            return [json.load(file)[name]]

    def signal(self, name, number):
        for pid in self.pids_of(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill_one(self, name):
        if name == "redis":
            self.kill_redis()
        elif name == "rabbitmq":
            self.kill_broker()
        else:
            (pid,) = self.pids_of(name)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: is_zombie(pid), name + " is gone")

    def start_one(self, name):
        """On the same port, with what it has saved."""
        if name == "redis":
            self.start_redis()
        elif name == "rabbitmq":
            self.start_broker()
        else:
            self.start_openstack_service(name)

    def fill_disk(self, name, appendfsync=None):
        if appendfsync:
            self.redis("CONFIG", "SET", "appendfsync", appendfsync)
        self.disks[name].fill()

    def free_disk(self, name):
        """Whether it had to be started again: by systemd where it has ended, by its operator where
        it takes no messages."""
        self.disks[name].free()
        if name == "redis":
            (pid,) = self.pids_of(name)
            if not is_zombie(pid):
                self.redis("CONFIG", "SET", "appendfsync", "always")  # as redis.sh started it
                return False
        else:
            try:
                wait_until(self.broker_serves, "RabbitMQ serves", BROKER_SERVES_S)
                return False
            except AssertionError:
                self.kill_broker()
        self.start_one(name)
        return True

    def broker_serves(self):
        """Whether it takes a message, and says so."""
        try:
            with self.bus() as connection:
                queue, _, _ = connection.channel.queue_declare(exclusive=True)
                connection.channel.basic_publish_confirm(
                    bus.amqp.Message("room again"), routing_key=queue, confirm_timeout=20)
        except Exception:  # py-amqp has many ways to say that it does not
            return False
        return True

    def start_openstack_service(self, name):
        directory, port = self.path("openstack"), self.openstack_sockets[name]

        def bound():
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                sock.close()
                return None
            sock.listen(128)
            return sock
        sock = wait_until(bound, "port %d of %s is free" % (port, name))
        more = ["--region", openstack.REGION, "--auth-url", self.endpoints["auth_url"]]
        process = openstack.spawn(
            directory, name, {"fd": sock},
            ["--owner-pid", str(os.getpid()), "--prepared"] + (more if name == "keystone" else []),
            {"ADMIN_PASSWORD": self.endpoints["admin_password"]})
        sock.close()
        path = os.path.join(directory, "pids.json")
        with self.pids_lock:
            with open(path, encoding="ascii") as file:
                pids = json.load(file)
            pids[name] = process.pid
            with open(path + ".new", "w", encoding="ascii") as file:
                json.dump(pids, file)
            os.replace(path + ".new", path)
        url = self.endpoints["auth_url"] if name == "keystone" else (
            self.endpoints["placement_url"] + "/")
        service_process.wait_until_it_answers(url, process,
                                              os.path.join(directory, name + ".out"))

    # What Nova says

    def tell_deleted(self, host, consumer):
        """Published and confirmed by the broker; an exception if it was not."""
        with self.bus() as connection:
            connection.declare_exchange()
            for message in self.deletions_recorded():
                exchange, key, body = bus.changed(message, give_fresh_id)
                body = body.replace(RECORDED_HOST, host).replace(DELETED, consumer)
                connection.channel.basic_publish_confirm(
                    bus.amqp.Message(body, content_type="application/json",
                                     content_encoding="utf-8", delivery_mode=2, priority=0),
                    exchange=exchange, routing_key=key, confirm_timeout=20)

    @staticmethod
    @functools.cache
    def deletions_recorded():
        """The two that say that an instance is gone: versioned and legacy."""
        return [message for message in bus.recorded(RECORDED_HOST, RECORDED_HOST)
                if DELETED in message[2] and bus.event_of(message[2]).endswith("delete.end")]


def give_fresh_id(content):
    content["message_id"] = str(uuid.uuid4())


class Host:
    """An emulated host, its drives, its worker, and the worker's state folder on a small file
    system of its own."""

    def __init__(self, cloud, number, survey_s, drives, sanitize_ms, zeroes):
        self.cloud, self.number = cloud, number
        self.name = "worker-%d" % number  # as the schedule names it
        self.lock = threading.RLock()     # of its process
        self.wanted = False               # that its process runs
        self.exits = []                   # how it ended when nobody had asked for it
        self.starts = 0
        self.folder = os.path.join(os.path.dirname(cloud.folder), self.name)
        self.addresses = ["0000:%02x:00.0" % bus_number for bus_number in range(1, drives + 1)]
        os.makedirs(self.folder)
        programs = Programs()
        # The last drive of each host can do no sanitize, and is zeroed.
        self.emulated = EmulatedHost(programs, os.path.join(self.folder, "host"), [
            "address=%s,serial=S%d-%d,size=16M,duration_ms=%d%s" % (
                address, number, index, sanitize_ms[index],
                ",sanicap=none" if index in zeroes else "")
            for index, address in enumerate(self.addresses)])
        self.state = os.path.join(self.folder, "worker/state")
        self.disk = Disk(self.state, STATE_SIZE)
        self.clock_file = os.path.join(self.folder, "clock")
        self.library = (sorted(glob.glob(FAKETIME)) or [os.environ.get("CHAOS_FAKETIME", "")])[0]
        self.set_clock(0)
        doors = cloud.doors
        self.worker = Worker(
            programs, cloud, self.emulated, self.name, os.path.join(self.folder, "worker"),
            survey_s=survey_s, samples=32, redis_port=doors["redis"].port,
            transport_url="rabbit://%s:%s@127.0.0.1:%d/" % (
                cloud.broker["user"], cloud.broker["password"].replace("@", "%40").replace(
                    ":", "%3A"), doors["rabbitmq"].port),
            auth_url="http://127.0.0.1:%d/v3" % doors["keystone"].port,
            region="%s\nendpoint_override = http://127.0.0.1:%d" % (
                cloud.endpoints["region"], doors["placement"].port),
            device_spec=json.dumps({"vendor_id": "144d", "product_id": "a80a",
                                    "zero_rate": "8M"}))
        self.worker.write_config(MORE_CONFIG)
        self.worker.as_operator(redis_port=cloud.redis_port()).install()

    # Its process

    def start(self):
        with self.lock:
            self.wanted = True
            self.starts += 1
            clock = {} if not self.library else {
                "LD_PRELOAD": "%s %s" % (self.library, self.worker.programs.preload),
                "FAKETIME_TIMESTAMP_FILE": self.clock_file, "FAKETIME_NO_CACHE": "1",
                "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
            self.worker.start(wait=False, **clock)

    def kill(self):
        with self.lock:
            self.wanted = False
            self.worker.kill()

    def stop(self, deadline_s=120):
        """Its exit code; None where it had to be killed."""
        with self.lock:
            self.wanted = False
            process = self.worker.process
            if process.poll() is not None:
                return process.returncode
            process.send_signal(signal.SIGTERM)
            try:
                return process.wait(deadline_s)
            except subprocess.TimeoutExpired:
                self.worker.kill()
                return None

    def signal(self, number):
        """Whether there was one to send it to."""
        with self.lock:
            runs = self.worker.process.poll() is None
            if runs:
                self.worker.process.send_signal(number)
            return runs

    def look_after(self):
        """As systemd would: one that ended by itself is started again. Returns what it said."""
        with self.lock:
            if not self.wanted or self.worker.process.poll() is None:
                return None
            ended = (self.worker.process.returncode, self.worker.log)
            self.exits.append(ended)
            self.start()
            return ended

    # Its clock and its drives

    def set_clock(self, offset_s):
        with open(self.clock_file + ".new", "w", encoding="ascii") as file:
            file.write("%+d\n" % offset_s)
        os.replace(self.clock_file + ".new", self.clock_file)

    def drives(self):
        """Of each address, what the drive counts: sanitizes accepted, whether one runs, writes."""
        found, address = {}, None
        for line in self.emulated.tool("show").splitlines():
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if not line.startswith(" "):
                address = line.split()[0]
                found[address] = Drive(0, False, 0)
            elif line.startswith("  sanitize"):
                found[address] = found[address]._replace(
                    sanitizes=int(words["accepted"]), running=words["status"] == "2")
            elif "host_writes" in words:
                found[address] = found[address]._replace(writes=int(words["host_writes"]))
        return found

    def kept(self, address, seed):
        """How many of the blocks that a tenant wrote are still there, and how many there were."""
        digest = self.emulated.digest(address, seed)
        return int(digest["tenant_blocks_kept"]), int(digest["tenant_blocks"])
