"""The cloud with a real Cyborg: one host, whose drives Cyborg's agent reports."""
import json
import os
import subprocess

from cloud import HERE, PYTHON, READY_S, Cloud, call
import openstack_api as api
from waiting import wait_until

CYBORG = "http://127.0.0.1:6666"
HOST = "compute-1"
ADDRESSES = ["0000:0%d:00.0" % number for number in (1, 2, 3, 4)]
UNMANAGED = ADDRESSES[3]
CLASS, CLASS_UNMANAGED = "CUSTOM_NVME_144D_A80A", "CUSTOM_NVME_144D_A80B"

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


class CyborgCloud(Cloud):
    ADDRESSES = {HOST: ADDRESSES}
    DATABASES = Cloud.DATABASES + ["cyborg"]
    USERS = Cloud.USERS + ["cyborg"]
    ENDPOINTS = Cloud.ENDPOINTS + [("accelerator", CYBORG + "/v2")]
    NOVA_MORE = """\
[DEFAULT]
host = compute-1
compute_driver = fake.FakeDriver
[cyborg]
{nova_login}
"""
    RECLAIM_CONF = """\
[oslo_messaging_notifications]
[cyborg]
enabled = true
{reclaim_login}
[agent_door]
socket = {folder}/agent.sock
"""

    def start(self):
        os.makedirs(os.path.join(self.folder, "cyborg"))
        super().start()
        for name in ("cyborg-api", "cyborg-conductor"):
            self.start_service(name)
        self.said("Cyborg")
        self.start_worker(HOST, device_spec='{"product_id": "a80a"}\n'
                          'device_spec = {"product_id": "a80b", "managed": "false"}')
        self.enrol()
        self.said("Reclaim")
        self.start_service("cyborg-agent")

    def add_users(self):
        super().add_users()
        user = self.keystone.make("user", name="cyborg", domain_id="default",
                                  password=self.values["service_password"])
        for role in ("admin", "service"):
            self.keystone.grant(self.keystone.find("project", "service"), user,
                                self.keystone.find("role", role))

    def write_files(self):
        for service in ("api", "conductor", "agent"):
            self.write("cyborg-%s.conf" % service, CYBORG_CONF, service="cyborg-" + service)
        # A package whose entry point is altered_driver.py.
        folder = "driver/reclaim_altered-1.dist-info"
        os.makedirs(os.path.join(self.folder, folder))
        self.write_text(folder + "/METADATA",
                        "Metadata-Version: 2.1\nName: reclaim-altered\nVersion: 1\n")
        self.write_text(folder + "/entry_points.txt", "[cyborg.accelerator.driver]\n"
                        "reclaim_altered = altered_driver:AlteredDriver\n")
        self.change_report()

    def change_report(self, hidden=(), rc=None):
        """What the agent reports from now on: without the hidden, with other classes."""
        self.replace("cyborg/reclaim-reported.json.changes",
                     {"hidden": list(hidden), "rc": rc or {}})

    def make_tables(self):
        super().make_tables()
        self.run([PYTHON, "-c", "from cyborg.cmd.dbsync import main; main()", "--config-file",
                  os.path.join(self.folder, "cyborg-api.conf"), "upgrade"])

    def start_service(self, name):
        config = os.path.join(self.folder, name + ".conf")
        if name == "cyborg-api":
            self.launch(name, [os.path.join(HERE, "serve.py"), name, "6666", config])
        elif name.startswith("cyborg-"):
            self.launch_main(name, "cyborg.cmd." + name.split("-")[1], [config])
        else:
            super().start_service(name)

    def url_of(self, name):
        return CYBORG + "/" if name == "cyborg-api" else super().url_of(name)

    def drive(self, address):
        # A product of its own, and so a resource class and a flavor of its own.
        more = ",device=0xa80b,driver=vfio-pci" if address == UNMANAGED else ""
        return super().drive(address) + more

    def prepare(self, name):
        for number, address in enumerate(ADDRESSES, 1):
            self.hosts[name].fill(address, number)

    def enrol(self):
        """They come with a partition table, so that an operator's word is needed."""
        for number, address in enumerate(ADDRESSES, 1):
            wait_until(lambda at=address: "not registered" in
                       self.worker_of(at).field(at, "waiting_for"), address + " is looked at",
                       READY_S)
            named = ("--serial", "LIVE%d" % number) if address == UNMANAGED else ()
            self.reclaim("device", "set", address, "--enrol", *named)

    # As an operator

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

    def host_driver(self, address):
        """Of the PCI function, as sysfs has it."""
        return os.path.basename(os.readlink(os.path.join(
            self.hosts[HOST].root, "sys/bus/pci/devices", address, "driver")))

    def leak_is_told(self, address):
        """What `reclaim device show` says of a leaked ARQ; empty: nothing."""
        text = json.dumps(json.loads(self.reclaim("device", "show", address, "-f", "json")))
        return text if "leak" in text else ""

    def delete_arq(self, uuid):
        """A bound ARQ is deleted only with a service token, as Nova has one."""
        token = self.services.token("nova")
        api.call("DELETE", CYBORG + "/v2/accelerator_requests?arqs=" + uuid, None, token,
                 "accelerator 2.3", service_token=token)
