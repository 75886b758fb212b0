"""The real services that Reclaim speaks to, each in a folder of its own and on loopback ports:
started together, stopped together. For the end-to-end tests and the demo."""
import argparse
import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait

HERE = os.path.dirname(os.path.abspath(__file__))
STACK = os.path.join(os.path.dirname(HERE), "stack")
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
# Where the build put what is tested; ctest says it (CMakeLists.txt beside this).
BUILD = os.path.abspath(os.environ.get("RECLAIM_BUILD", os.path.join(ROOT, "build/test")))
sys.path.insert(0, STACK)

import openstack  # noqa: E402  (stack/openstack.py)
import openstack_api  # noqa: E402, F401
import openstack_tls  # noqa: E402, F401
from bus import Bus  # noqa: E402
from waiting import DEADLINE_S, is_zombie, takes_part, wait_until  # noqa: E402

VENDOR, PRODUCT = "144d", "a80a"
RESOURCE_CLASS = "CUSTOM_PCI_144D_A80A"
REDIS = os.path.join(STACK, "redis.sh")


class RedisServer:
    """One that stack/redis.sh starts in a folder."""

    def __init__(self, folder, tied=True):
        self.folder, self.tied = folder, tied
        os.makedirs(folder, exist_ok=True)

    def start(self, *options):
        run([REDIS, "start", self.folder, *owner_words(self.tied), *options])
        takes_part("Redis on port %d" % self.port, os.path.join(self.folder, "redis.log"),
                   lambda: self.number("redis.pid"))

    def stop(self):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            self.signal(signal.SIGCONT)
        run([REDIS, "stop", self.folder])

    def number(self, name):
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            return int(file.read())

    @property
    def port(self):
        return self.number("redis.port")

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    def cli(self, *words):
        return run(["redis-cli", "-p", str(self.port), *words]).rstrip("\n")

    def asked(self, *words):
        """The answer, with its last newline; nothing where it does not answer yet, and nothing
        where its connections are closed, as those of a replica that becomes a master."""
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True,
                              text=True, check=False).stdout

    def signal(self, number):
        os.kill(self.number("redis.pid"), number)

    def kill(self):
        pid = self.number("redis.pid")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists("/proc/%d" % pid) or is_zombie(pid), "it is gone")


class Services:
    """RabbitMQ, Redis, Keystone and Placement under one folder. Tied, they and the `reclaim` that
    uses them end when this process has, also where it was killed; else they run until stopped."""

    def __init__(self, folder, tied=True):
        self.folder, self.tied = folder, tied
        self.broker = None
        self.redis_server = RedisServer(self.path("redis"), tied)
        self.endpoints = None
        self._placement = None
        self._placement_since = 0.0

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, said=lambda name: None):
        """All at the same time; `said` is called with the name of each that answers. Interrupted by
        an exception, it has started nothing that stop() does not find."""
        os.makedirs(self.folder, exist_ok=True)

        def begin(name, function):
            function()
            said(name)
        with ThreadPoolExecutor() as pool:
            begun = {name: pool.submit(begin, name, function) for name, function in (
                ("RabbitMQ", self.start_broker), ("Redis", self.start_redis),
                ("Keystone and Placement", self.start_openstack))}
            try:
                wait(begun.values())
            except BaseException:
                # What is still starting finds its service gone and gives up. An interrupted join()
                # of Python 3.11 takes its thread for ended, which is why none is called here.
                while wait(begun.values(), timeout=0.1).not_done:
                    self.stop()
                raise
        failures = ["%s: %s" % (name, future.exception()) for name, future in begun.items()
                    if future.exception()]
        if failures:
            raise RuntimeError("; ".join(failures))

    def stop(self):
        for step in (self.stop_openstack, self.stop_redis, self.kill_broker):
            with contextlib.suppress(Exception):
                step()

    # RabbitMQ

    def start_broker(self):
        self.broker = json.loads(run([os.path.join(STACK, "rabbitmq.sh"), "start",
                                      self.path("rabbitmq"),
                                      *owner_words(self.tied)]).splitlines()[-1])
        takes_part("RabbitMQ", self.path("rabbitmq", "log", "console.log"),
                   lambda: self.broker["pid"])

    def stop_broker(self):
        run([os.path.join(STACK, "rabbitmq.sh"), "stop", self.path("rabbitmq")])

    def kill_broker(self):
        run([os.path.join(STACK, "rabbitmq.sh"), "kill", self.path("rabbitmq")])

    def rabbitmqctl(self, *words):
        return run([os.path.join(STACK, "rabbitmq.sh"), "ctl", self.path("rabbitmq"), *words])

    def keep_novas_queues_empty(self):
        """As the README says."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            line, = [line for line in file if line.startswith("rabbitmqctl set_policy ")]
        self.rabbitmqctl(*shlex.split(line)[1:])

    def list_queues(self):
        """A line each: its name, messages and consumers."""
        return self.rabbitmqctl("--quiet", "list_queues", "--no-table-headers", "name", "messages",
                                "consumers")

    def bus(self):
        return Bus(self.broker)

    def transport_url(self):
        return "rabbit://%s:%s@127.0.0.1:%d/" % (
            self.broker["user"], self.broker["password"].replace("@", "%40").replace(":", "%3A"),
            self.broker["port"])

    # Redis

    def start_redis(self):
        users = self.path("redis", "users.acl")
        if not os.path.exists(users):
            with open(users, "w", encoding="utf-8") as file:
                file.write("user default on nopass ~* &* +@all\n")
        self.redis_server.start("--aclfile", users)

    def redis_user(self, host):
        """Makes the user that docs/redis.md gives to a host; as it stands in a URL."""
        return self.make_redis_user("reclaim-HOST", HOST=host)

    def redis_user_of_api(self):
        """The same of a node of the device API."""
        return self.make_redis_user("reclaim-api")

    def redis_user_of_operator(self):
        """The same of an operator, who may delete a host."""
        return self.make_redis_user("reclaim-operator")

    def make_redis_user(self, name, **words):
        with open(os.path.join(ROOT, "docs/redis.md"), encoding="utf-8") as file:
            command = re.search(r"ACL SETUSER %s .*?(?=```)" % name, file.read(), re.S).group()
        for word, value in {"PASSWORD": "secret", **words}.items():
            command, name = command.replace(word, value), name.replace(word, value)
        assert self.redis(*shlex.split(command)) == "OK", command
        self.redis("ACL", "SAVE")
        return name + ":secret"

    def stop_redis(self):
        self.redis_server.stop()

    def kill_redis(self):
        self.redis_server.kill()

    def redis_port(self):
        return self.redis_server.port

    def redis(self, *words, db=0):
        return self.redis_server.cli("-n", str(db), *words)

    # Keystone and Placement

    def start_openstack(self):
        run([openstack.PYTHON, os.path.join(STACK, "openstack.py"), "start",
             self.path("openstack"), "--template", os.path.join(BUILD, "openstack-template"),
             *owner_words(self.tied)])
        self.endpoints = openstack.read_endpoints(self.path("openstack"))
        for service in ("keystone", "placement"):
            takes_part(service.capitalize(), self.path("openstack", service + ".out"),
                       lambda service=service: self.openstack_pid(service))

    def stop_openstack(self):
        run([openstack.PYTHON, os.path.join(STACK, "openstack.py"), "stop",
             self.path("openstack")])

    def openstack_pid(self, service):
        with open(self.path("openstack", "pids.json"), encoding="ascii") as file:
            return json.load(file)[service]

    def placement(self):
        if self._placement is None or time.monotonic() - self._placement_since > 1800:
            self._placement = openstack.admin_placement(self.path("openstack"))
            self._placement_since = time.monotonic()
        return self._placement

    def register(self, host, address, reserved=0, consumer=None, one_time_use=None, owner="nova",
                 traits=(), vendor=VENDOR, product=PRODUCT):
        """As Nova registers a one-time-use device, or Cyborg one of its own; returns its
        provider."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            openstack.register(argparse.Namespace(
                directory=self.path("openstack"), host=host, device=address, vendor=vendor,
                product=product, reserved=reserved, allocate=consumer, trait=list(traits),
                owner=owner,
                one_time_use=owner == "nova" if one_time_use is None else one_time_use))
        return json.loads(printed.getvalue())

    def register_endpoint(self, service_type, url):
        openstack.endpoint(argparse.Namespace(directory=self.path("openstack"), type=service_type,
                                              url=url))

    def token(self, user="operator", project="service", **more):
        """A token of one of the stack's users: `operator` is an admin, `reclaim` and `nova` are
        services as well, `nobody` reads."""
        password = self.endpoints["service_password"]
        if user == "admin":
            password, project = self.endpoints["admin_password"], "admin"
        token, _ = openstack.api.log_in(self.endpoints["auth_url"], user, password, project, **more)
        return token

    def inventories(self, provider):
        body = self.placement().call("GET", "/resource_providers/%s/inventories" % provider)
        return body["inventories"]

    def inventory(self, provider):
        (inventory,) = self.inventories(provider).values()
        return inventory

    def reserved(self, provider):
        return self.inventory(provider)["reserved"]

    def reserve(self, provider, reserved):
        (resource_class,) = self.inventories(provider)
        self.placement().put_inventory(provider, resource_class, total=1, max_unit=1,
                                       reserved=reserved)

    def generation(self, provider):
        return self.placement().generation(provider)

    def consumers(self, provider):
        body = self.placement().call("GET", "/resource_providers/%s/allocations" % provider)
        return list(body["allocations"])

    def requests(self):
        """What Placement's own log says it was asked, in order: (method, path, status)."""
        line = re.compile(r'"(GET|PUT|POST|DELETE) (\S+)" status: (\d+)')
        found = []
        with open(self.path("openstack", "placement.log"), encoding="utf-8") as file:
            for text in file:
                match = line.search(text)
                if match:
                    found.append((match.group(1), match.group(2), int(match.group(3))))
        return found


def owner_words(tied):
    return ["--owner-pid", str(os.getpid())] if tied else []


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=DEADLINE_S,
                          start_new_session=True, **more)
    sys.stderr.writelines(line + "\n" for line in done.stderr.splitlines()
                          if line.startswith("retried "))
    if done.returncode != 0:
        raise RuntimeError("%s ended with %d: %s" % (" ".join(command), done.returncode,
                                                    (done.stderr or done.stdout)[-2000:]))
    return done.stdout
