"""A small cloud of real services: Keystone, Placement, Nova with its fake driver, Cyborg, RabbitMQ,
Redis and MariaDB, all on loopback, and Reclaim beside them on an emulated host."""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/integration/e2e"))

from services import Services  # noqa: E402  (e2e/services.py)
from service_process import die_with_parent, wait_until_it_answers  # noqa: E402
from waiting import wait_until  # noqa: E402
from worker import EmulatedHost, Programs, Worker  # noqa: E402
import mariadb  # noqa: E402
import openstack_api as api  # noqa: E402

PYTHON = "/usr/bin/python3"
HOST = "compute-1"
NOVA, CYBORG, IMAGES = ("http://127.0.0.1:%d" % port for port in (8774, 6666, 9292))
ADDRESSES = ["0000:0%d:00.0" % number for number in (1, 2, 3, 4)]
UNMANAGED = ADDRESSES[3]
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
host = compute-1
my_ip = 127.0.0.1
compute_driver = fake.FakeDriver
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
# Cyborg's providers come and go below the node's.
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
[cyborg]
{nova_login}
[service_user]
send_service_user_token = true
{nova_login}
[keystone_authtoken]
service_token_roles = service
service_token_roles_required = true
{nova_login}
"""

CYBORG_CONF = """\
[DEFAULT]
transport_url = {transport_url}
host = compute-1
log_file = {folder}/logs/{service}.log
state_path = {folder}/cyborg
use_stderr = false
periodic_interval = 5
[api]
api_paste_config = /etc/cyborg/api-paste.ini
[agent]
# The driver that ships; the suite can let it hide a drive (altered_driver.py).
enabled_drivers = reclaim_altered
resource_provider_name = compute-1
[database]
connection = {cyborg}
[oslo_concurrency]
lock_path = {folder}/cyborg
[reclaim]
socket = {folder}/agent.sock
report_file = {folder}/cyborg/reclaim-reported.json
[placement]
{cyborg_login}
[nova]
{cyborg_login}
[service_user]
send_service_user_token = true
{cyborg_login}
[keystone_authtoken]
service_token_roles = service
service_token_roles_required = true
{cyborg_login}
"""

# The rest is e2e/worker.py's.
RECLAIM_CONF = """\
[oslo_messaging_notifications]
[cyborg]
enabled = true
{reclaim_login}
[agent_door]
socket = {folder}/agent.sock
"""


def call(method, url, body=None, token=None, version=None):
    return api.patiently(lambda: api.call(method, url, body, token, version))[1]


class Cloud:
    def __init__(self, folder, said):
        self.folder, self.said = folder, said
        self.services = Services(os.path.join(folder, "services"))
        self.processes = {}
        self.token_since, self._token = 0.0, None
        for name in ("logs", "nova", "nova/lock", "cyborg"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    # Starting

    def start(self):
        self.services.start(self.said)
        self.values = dict(self.services.endpoints, folder=self.folder, images=IMAGES,
                           transport_url=self.services.transport_url())
        self.database_folder = self.services.path("openstack")
        for name in ("nova_api", "nova", "nova_cell0", "cyborg"):
            mariadb.execute(self.database_folder, None, "CREATE DATABASE " + name)
            self.values[name] = mariadb.url(self.database_folder, name)
        for user in ("nova", "cyborg", "reclaim"):
            self.values[user + "_login"] = LOGIN.format(user=user, **self.values)
        self.add_users()
        self.write("nova.conf", NOVA_CONF)
        with open("/etc/nova/api-paste.ini", encoding="utf-8") as file:
            self.write_text("api-paste.ini", file.read())
        for service in ("api", "conductor", "agent"):
            self.write("cyborg-%s.conf" % service, CYBORG_CONF, service="cyborg-" + service)
        self.add_altered_driver()
        self.change_report()
        self.make_tables()
        self.said("tables and users")
        self.start_stand_ins()
        self.start_nova()
        self.said("Nova")
        for name in ("cyborg-api", "cyborg-conductor"):
            self.start_service(name)
        self.said("Cyborg")
        self.start_reclaim()
        self.said("Reclaim")
        self.start_service("cyborg-agent")

    def write(self, name, text, **more):
        self.write_text(name, text.format(**{**self.values, **more}))

    def write_text(self, name, text):
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def add_users(self):
        auth_url = self.values["auth_url"]
        token, _ = api.log_in(auth_url, "admin", self.values["admin_password"], "admin")
        keystone = api.Keystone(auth_url, token)
        project = keystone.find("project", "service")
        user = keystone.make("user", name="cyborg", domain_id="default",
                             password=self.values["service_password"])
        for role in ("admin", "service"):
            keystone.grant(project, user, keystone.find("role", role))
        for kind, url in (("compute", NOVA + "/v2.1"), ("accelerator", CYBORG + "/v2"),
                          ("image", IMAGES), ("network", IMAGES)):
            service = keystone.make("service", type=kind, name=kind)
            for interface in ("internal", "public", "admin"):
                keystone.make("endpoint", interface=interface, region="RegionOne",
                              service_id=service, url=url)

    def add_altered_driver(self):
        """A package whose entry point is altered_driver.py."""
        folder = "driver/reclaim_altered-1.dist-info"
        os.makedirs(os.path.join(self.folder, folder))
        self.write_text(folder + "/METADATA",
                        "Metadata-Version: 2.1\nName: reclaim-altered\nVersion: 1\n")
        self.write_text(folder + "/entry_points.txt", "[cyborg.accelerator.driver]\n"
                        "reclaim_altered = altered_driver:AlteredDriver\n")

    def change_report(self, hidden=(), rc=None):
        """What the agent reports from now on: without the hidden, with other classes."""
        name = "cyborg/reclaim-reported.json.changes"
        self.write_text(name + ".new", json.dumps({"hidden": list(hidden), "rc": rc or {}}))
        os.replace(os.path.join(self.folder, name + ".new"), os.path.join(self.folder, name))

    def make_tables(self):
        cell0 = self.values["nova_cell0"]
        for words in (["api_db", "sync"], ["cell_v2", "map_cell0", "--database_connection", cell0],
                      ["db", "sync"], ["cell_v2", "create_cell", "--name", "cell1"]):
            self.nova_manage(*words)
        self.run([PYTHON, "-c", "from cyborg.cmd.dbsync import main; main()", "--config-file",
                  os.path.join(self.folder, "cyborg-api.conf"), "upgrade"])

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

    def start_stand_ins(self):
        self.launch("images-and-ports", [os.path.join(HERE, "serve.py"), "images-and-ports",
                                         "9292"])
        wait_until_it_answers(IMAGES + "/", self.processes["images-and-ports"], "its log", READY_S)

    def start_nova(self):
        names = ("nova-conductor", "nova-scheduler", "nova-compute", "nova-api")
        for name in names:
            self.start_service(name)
        self.wait_until_it_is_up("nova-api")
        node = wait_until(lambda: self.services.placement().provider(HOST),
                          "nova-compute has a provider", READY_S)
        self.nova_manage("cell_v2", "discover_hosts")
        # As systemd would: one that could not log in while all began at once.
        for name in names:
            if self.processes[name].poll() is not None:
                self.said(name + " had ended, and is started again")
                self.start_service(name)
        # The fake driver keeps its node's UUID in no file, where libvirt's has compute_id.
        self.compute_id = node["uuid"]

    def start_service(self, name):
        project, service = name.split("-")
        if service == "api":
            port, config = (("8774", self.folder) if project == "nova" else
                            ("6666", os.path.join(self.folder, "cyborg-api.conf")))
            command = [os.path.join(HERE, "serve.py"), name, port, config]
        else:
            config = "nova.conf" if project == "nova" else name + ".conf"
            command = [PYTHON, "-c",
                       "import sys; from %s.cmd.%s import main; sys.exit(main())" %
                       (project, service), "--config-file", os.path.join(self.folder, config)]
        self.launch(name, command)

    def wait_until_it_is_up(self, name):
        url = {"nova-api": NOVA, "cyborg-api": CYBORG}[name] + "/"
        wait_until_it_answers(url, self.processes[name], self.log(name), READY_S)

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

    def start_reclaim(self):
        drives = ["address=%s,serial=LIVE%d,size=32M,duration_ms=1500" % (address, number)
                  for number, address in enumerate(ADDRESSES, 1)]
        # A product of its own, and so a resource class and a flavor of its own.
        drives[3] += ",device=0xa80b,driver=vfio-pci"
        self.host = EmulatedHost(Programs(), os.path.join(self.folder, "host"), drives)
        for number, address in enumerate(ADDRESSES, 1):
            self.host.fill(address, number)
        self.host.write("var/lib/nova/compute_id", self.compute_id)
        self.worker = Worker(
            Programs(), self.services, self.host, HOST, os.path.join(self.folder, "reclaim"),
            survey_s=30,
            device_spec='{"product_id": "a80a"}\n'
                        'device_spec = {"product_id": "a80b", "managed": "false"}')
        self.worker.write_config(RECLAIM_CONF.format(**self.values))
        self.worker.as_operator().install()
        self.worker.start()
        # They come with a partition table, so that an operator's word is needed.
        for number, address in enumerate(ADDRESSES, 1):
            wait_until(lambda at=address: "not registered" in
                       self.worker.field(at, "waiting_for"), address + " is looked at", READY_S)
            named = ("--serial", "LIVE%d" % number) if address == UNMANAGED else ()
            self.reclaim("device", "set", address, "--enrol", *named)

    # Stopping

    def end(self, name, how=signal.SIGTERM):
        """Stops or kills a service of ours; a stop that hangs is a failure."""
        process = self.worker.process if name == "reclaim" else self.processes[name]
        process.send_signal(how)
        process.wait(120)

    def restart(self, name):
        if name == "reclaim":
            self.worker.start()
            return
        self.start_service(name)
        if name.endswith("-api"):
            self.wait_until_it_is_up(name)

    def stop(self):
        if hasattr(self, "worker"):
            self.worker.kill()
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        self.services.stop()

    # As an operator

    def token(self):
        if time.monotonic() - self.token_since > 1200:
            self._token, self.token_since = self.services.token("admin"), time.monotonic()
        return self._token

    def nova(self, method, path, body=None):
        return call(method, NOVA + "/v2.1" + path, body, self.token(), "compute 2.90")

    def cyborg(self, method, path, body=None):
        return call(method, CYBORG + "/v2" + path, body, self.token(), "accelerator 2.3")

    def openstack(self, *words):
        """The command as an operator types it."""
        values = self.services.endpoints
        done = subprocess.run(
            ["openstack", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=300, env={
                **os.environ, "OS_AUTH_URL": values["auth_url"], "OS_USERNAME": "admin",
                "OS_PASSWORD": values["admin_password"], "OS_PROJECT_NAME": "admin",
                "OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default",
                "OS_REGION_NAME": "RegionOne", "OS_IDENTITY_API_VERSION": "3"})
        if done.returncode != 0:
            raise AssertionError("openstack %s: %s" % (" ".join(words), done.stderr[-2000:]))
        return done.stdout

    def reclaim(self, *words):
        code, out, err = self.worker.command(*words)
        if code != 0:
            raise AssertionError("reclaim %s: %s" % (" ".join(words), err))
        return out

    def host_driver(self, address):
        """Of the PCI function, as sysfs has it."""
        return os.path.basename(os.readlink(os.path.join(
            self.host.root, "sys/bus/pci/devices", address, "driver")))

    def leak_is_told(self, address):
        """What `reclaim device show` says of a leaked ARQ; empty: nothing."""
        text = json.dumps(json.loads(self.reclaim("device", "show", address, "-f", "json")))
        return text if "leak" in text else ""

    def server_is_gone(self, uuid):
        try:
            self.nova("GET", "/servers/" + uuid)
            return False
        except api.HttpError as error:
            if error.status == 404:
                return True
            raise

    def delete_arq(self, uuid):
        """A bound ARQ is deleted only with a service token, as Nova has one."""
        token = self.services.token("nova")
        api.call("DELETE", CYBORG + "/v2/accelerator_requests?arqs=" + uuid, None, token,
                 "accelerator 2.3", service_token=token)

    # Placement

    def provider(self, address):
        found = self.services.placement().provider("%s_%s" % (HOST, address))
        return found["uuid"] if found else None

    def reserved(self, address):
        """None while it has no provider, or no inventory."""
        uuid = self.provider(address)
        inventories = self.services.inventories(uuid) if uuid else {}
        return next((each["reserved"] for each in inventories.values()), None)
