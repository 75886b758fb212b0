"""A small cloud of real services: Keystone, Placement, Nova with a fake driver, RabbitMQ, Redis and
MariaDB, all on loopback, and Reclaim beside them on emulated hosts. A suite derives its own."""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/integration/e2e"))
sys.path.insert(0, os.path.join(ROOT, "tests/demo"))

import check  # noqa: E402  (demo/check.py)
from services import Services  # noqa: E402  (e2e/services.py)
from service_process import die_with_parent, wait_until_it_answers  # noqa: E402
from waiting import wait_until  # noqa: E402
from worker import EmulatedHost, Programs, Worker  # noqa: E402
import mariadb  # noqa: E402
import openstack_api as api  # noqa: E402

PYTHON = "/usr/bin/python3"
NOVA, IMAGES = ("http://127.0.0.1:%d" % port for port in (8774, 9292))
SURVEY_S = 30
READY_S = 300  # a service that starts on a busy machine

LOGIN = """\
auth_type = password
auth_url = {auth_url}
username = {user}
password = {service_password}
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = RegionOne
"""

NOVA_CONF = """\
[DEFAULT]
transport_url = {transport_url}
my_ip = 127.0.0.1
state_path = {folder}/nova
log_dir = {folder}/logs
use_stderr = false
osapi_compute_workers = 1
[api]
auth_strategy = keystone
[api_database]
connection = {nova_api}
[database]
connection = {nova}
[conductor]
workers = 1
[scheduler]
workers = 1
[oslo_concurrency]
lock_path = {folder}/nova/lock
[oslo_messaging_notifications]
driver = messagingv2
[notifications]
notification_format = both
[compute]
# What another has changed below the node's provider is seen at once.
resource_provider_association_refresh = 5
[vnc]
enabled = false
[glance]
endpoint_override = {images}
[neutron]
endpoint_override = {images}
{nova_login}
[placement]
{nova_login}
[service_user]
send_service_user_token = true
{nova_login}
[keystone_authtoken]
service_token_roles = service
service_token_roles_required = true
{nova_login}
"""


def call(method, url, body=None, token=None, version=None):
    return api.patiently(lambda: api.call(method, url, body, token, version))[1]


class Cloud:
    """A suite's class says which hosts there are and what they have (ADDRESSES), adds to nova.conf
    (NOVA_MORE), has one file beside it for each process that differs, and says what its workers are
    told (drives, worker_settings, RECLAIM_CONF)."""

    ADDRESSES = {}  # host: [PCI addresses]
    DATABASES = ["nova_api", "nova", "nova_cell0"]
    USERS = ["nova", "reclaim"]
    ENDPOINTS = [("compute", NOVA + "/v2.1"), ("image", IMAGES), ("network", IMAGES)]
    NOVA_MORE = ""
    COMPUTE = "nova.cmd.compute"  # the module of nova-compute
    RECLAIM_CONF = ""  # the rest is e2e/worker.py's

    def __init__(self, folder, said):
        self.folder, self.said = folder, said
        self.services = Services(os.path.join(folder, "services"))
        self.processes = {}
        self.hosts, self.workers = {}, {}
        self.host_names = {address: name for name, addresses in self.ADDRESSES.items()
                           for address in addresses}
        self.computes = ["nova-" + name for name in self.ADDRESSES]
        self.provider_addresses = {}
        self.token_since, self._token = 0.0, None
        for name in ("logs", "nova", "nova/lock"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    # Starting

    def start(self):
        self.services.start(self.said)
        self.services.keep_novas_queues_empty()
        self.values = dict(self.services.endpoints, folder=self.folder, images=IMAGES,
                           transport_url=self.services.transport_url())
        self.database_folder = self.services.path("openstack")
        for name in self.DATABASES:
            mariadb.execute(self.database_folder, None, "CREATE DATABASE " + name)
            self.values[name] = mariadb.url(self.database_folder, name)
        for user in self.USERS:
            self.values[user + "_login"] = LOGIN.format(user=user, **self.values)
        self.add_users()
        self.write("nova.conf", NOVA_CONF + self.NOVA_MORE)
        with open("/etc/nova/api-paste.ini", encoding="utf-8") as file:
            self.write_text("api-paste.ini", file.read())
        self.write_files()
        self.make_tables()
        self.said("tables and users")
        self.launch("images-and-ports", [os.path.join(HERE, "serve.py"), "images-and-ports",
                                         "9292"])
        wait_until_it_answers(IMAGES + "/", self.processes["images-and-ports"], "its log", READY_S)
        self.start_nova()
        self.said("Nova")

    def write_files(self):
        """What a suite's own processes need before they start."""

    def write(self, name, text, **more):
        self.write_text(name, text.format(**{**self.values, **more}))

    def write_text(self, name, text):
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def replace(self, name, body):
        """For who may read it at any moment."""
        self.write_text(name + ".new", json.dumps(body))
        os.replace(os.path.join(self.folder, name + ".new"), os.path.join(self.folder, name))

    def add_users(self):
        auth_url = self.values["auth_url"]
        token, _ = api.log_in(auth_url, "admin", self.values["admin_password"], "admin")
        self.keystone = api.Keystone(auth_url, token)
        for kind, url in self.ENDPOINTS:
            service = self.keystone.make("service", type=kind, name=kind)
            for interface in ("internal", "public", "admin"):
                self.keystone.make("endpoint", interface=interface, region="RegionOne",
                                   service_id=service, url=url)

    def make_tables(self):
        cell0 = self.values["nova_cell0"]
        for words in (["api_db", "sync"], ["cell_v2", "map_cell0", "--database_connection", cell0],
                      ["db", "sync"], ["cell_v2", "create_cell", "--name", "cell1"]):
            self.nova_manage(*words)

    def nova_manage(self, *words):
        self.run([PYTHON, "-c", "import sys; from nova.cmd.manage import main; sys.exit(main())",
                  "--config-file", os.path.join(self.folder, "nova.conf"), *words])

    def run(self, command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=900)
        if done.returncode != 0:
            raise RuntimeError("%s ended with %d: %s" % (" ".join(command), done.returncode,
                                                        (done.stderr + done.stdout)[-3000:]))
        return done.stdout

    def start_nova(self):
        names = ["nova-conductor", "nova-scheduler", *self.computes, "nova-api"]
        for name in names:
            self.start_service(name)
        self.wait_until_it_is_up("nova-api")

        def up(host):
            # As systemd would: one that could not log in while all began at once.
            for name in names:
                if self.processes[name].poll() is not None:
                    self.said(name + " had ended, and is started again")
                    self.start_service(name)
            return self.services.placement().provider(host)
        for host in self.ADDRESSES:
            wait_until(lambda name=host: up(name), "nova-compute has the provider " + host, READY_S)
        self.nova_manage("cell_v2", "discover_hosts")

    def start_service(self, name):
        """Of Nova; a suite's own are its own to start."""
        if name == "nova-api":
            self.launch(name, [os.path.join(HERE, "serve.py"), name, "8774", self.folder])
            return
        own = os.path.join(self.folder, name + ".conf")
        files = [os.path.join(self.folder, "nova.conf"), *([own] if os.path.exists(own) else [])]
        self.launch_main(name, self.COMPUTE if name in self.computes else
                         "nova.cmd." + name.split("-")[1], files)

    def launch_main(self, name, module, files):
        self.launch(name, [PYTHON, "-c", "import sys; from %s import main; sys.exit(main())" %
                           module, "--log-file", self.log(name),
                           *[word for path in files for word in ("--config-file", path)]])

    def url_of(self, name):
        return {"nova-api": NOVA}[name] + "/"

    def wait_until_it_is_up(self, name):
        wait_until_it_answers(self.url_of(name), self.processes[name], self.log(name), READY_S)

    def launch(self, name, command):
        path = [HERE, os.path.join(self.folder, "driver")]
        with open(os.path.join(self.folder, "logs", name + ".out"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent,
                env={**os.environ, "PYTHONPATH": ":".join(path)})

    def log(self, name):
        return os.path.join(self.folder, "logs", name + ".log")

    # Reclaim

    def drive(self, address):
        """As the emulator takes it: a number of its own is the serial's."""
        number = list(self.host_names).index(address) + 1
        return "address=%s,serial=LIVE%d,size=32M,duration_ms=1500" % (address, number)

    def start_worker(self, name, **settings):
        """On an emulated host that has the node's UUID."""
        host = EmulatedHost(Programs(), os.path.join(self.folder, name),
                            [self.drive(address) for address in self.ADDRESSES[name]])
        # The fake driver keeps its node's UUID in no file, where libvirt's has compute_id.
        host.write("var/lib/nova/compute_id", self.services.placement().provider(name)["uuid"])
        worker = Worker(Programs(), self.services, host, name,
                        os.path.join(self.folder, "reclaim-" + name), survey_s=SURVEY_S, **settings)
        worker.write_config(self.RECLAIM_CONF.format(**self.values))
        worker.as_operator().install()
        self.hosts[name], self.workers[name] = host, worker
        self.prepare(name)
        worker.start()

    def prepare(self, name):
        """The drives of a host before its worker starts."""

    def host_of(self, address):
        return self.hosts[self.host_names[address]]

    def worker_of(self, address):
        return self.workers[self.host_names[address]]

    def reclaim(self, command, verb, address, *words):
        """An operator's command about a device."""
        code, out, err = self.worker_of(address).command(command, verb, address, *words)
        if code != 0:
            raise AssertionError("reclaim %s %s: %s" % (command, verb, err))
        return out

    def dirty(self, address, seed):
        """Whether any of a tenant's bytes is there, seen from outside."""
        return self.host_of(address).digest(address, seed)["tenant_blocks_kept"] != "0"

    # Stopping

    def end(self, name, how=signal.SIGTERM):
        """Stops or kills a service of ours; a stop that hangs is a failure."""
        process = self.process(name)
        process.send_signal(how)
        process.wait(120)

    def process(self, name):
        """`reclaim` is the worker of the first host, `reclaim HOST` that of another."""
        worker = self.worker_named(name)
        return worker.process if worker else self.processes[name]

    def worker_named(self, name):
        word, _, host = name.partition(" ")
        return self.workers[host or next(iter(self.ADDRESSES))] if word == "reclaim" else None

    def restart(self, name):
        worker = self.worker_named(name)
        if worker:
            worker.start()
            return
        self.start_service(name)
        if name.endswith("-api"):
            self.wait_until_it_is_up(name)

    def stop(self):
        for worker in self.workers.values():
            worker.kill()
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        self.services.stop()

    # In the end

    def wrong_with_queues(self):
        """Which of the notifiers' queues and of Reclaim's hold what nobody reads: sentences."""
        queues = check.queues_of_notifiers(self.services.list_queues())
        self.said("messages in " + ", ".join("%s: %d" % (name, messages)
                                             for name, (messages, _) in sorted(queues.items())))
        return check.wrong_with_queues(queues)

    # As an operator

    def token(self):
        if time.monotonic() - self.token_since > 1200:
            self._token, self.token_since = self.services.token("admin"), time.monotonic()
        return self._token

    def nova(self, method, path, body=None):
        return call(method, NOVA + "/v2.1" + path, body, self.token(), "compute 2.90")

    def make_flavor(self, name, **extra_specs):
        self.nova("POST", "/flavors", {"flavor": {
            "name": name, "id": name, "ram": 64, "vcpus": 1, "disk": 0}})
        self.nova("POST", "/flavors/%s/os-extra_specs" % name,
                  {"extra_specs": {key.replace("__", ":"): value
                                   for key, value in extra_specs.items()}})

    def server_is_gone(self, uuid):
        try:
            self.nova("GET", "/servers/" + uuid)
            return False
        except api.HttpError as error:
            if error.status == 404:
                return True
            raise

    # Placement

    def provider(self, address):
        found = self.services.placement().provider(
            "%s_%s" % (self.host_names[address], address.upper()))
        return found["uuid"] if found else None

    def address_of(self, provider):
        """None: it is no drive's. Of one that was made anew, too: Nova's names end with it."""
        if provider not in self.provider_addresses:
            name = self.services.placement().call(
                "GET", "/resource_providers/" + provider)["name"]
            address = name.rpartition("_")[2].lower()
            self.provider_addresses[provider] = address if address in self.host_names else None
        return self.provider_addresses[provider]

    def reserved(self, address):
        """None while it has no provider, or no inventory."""
        uuid = self.provider(address)
        inventories = self.services.inventories(uuid) if uuid else {}
        return next((each["reserved"] for each in inventories.values()), None)
