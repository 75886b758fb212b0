#!/usr/bin/python3
"""A real Keystone and a real Placement (Debian's packages) on loopback ports, over a MariaDB of
their own, in one directory.

  openstack.py start DIR [--template FOLDER] [--tls] [--owner-pid PID] [--without-traits]
  openstack.py stop DIR
  openstack.py register DIR --host compute-2 --device 0000:01:00.0 --vendor 1b36 --product 0010
                        --one-time-use [--reserved 1] [--allocate CONSUMER]
  openstack.py register DIR --host compute-2 --device 0000:01:00.0 --owner cyborg
                        [--allocate CONSUMER]
  openstack.py endpoint DIR --type accelerator --url http://127.0.0.1:6666
  openstack.py free DIR --consumer CONSUMER
  openstack.py show DIR

`start` returns when both services answer and has then written DIR/endpoints.json, which says how to
reach them. Databases, keys, certificates and logs are all in DIR; nothing of /etc is read and no
system service is touched. With --template, tables, users and keys are copied from FOLDER, where the
first start puts them; without, they are made each time. `register` does what Nova does for a
one-time-use device, in Nova's order, or what Cyborg's agent and conductor do for one of theirs.
"""
import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import uuid as uuids

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import mariadb  # noqa: E402  (beside this file)
import openstack_api as api  # noqa: E402
import openstack_template  # noqa: E402
import openstack_tls  # noqa: E402
import service_process  # noqa: E402

PYTHON = "/usr/bin/python3"  # Debian's, for which its packages are; never another one in the PATH
REGION = "RegionOne"

KEYSTONE_CONF = """\
[DEFAULT]
log_file = {dir}/keystone.log
use_stderr = false
[database]
connection = {keystone_database}
[fernet_tokens]
key_repository = {dir}/fernet-keys
[fernet_receipts]
key_repository = {dir}/receipt-keys
[credential]
key_repository = {dir}/credential-keys
[cache]
enabled = true
backend = dogpile.cache.memory
[token]
expiration = {token_life_s}
[identity]
password_hash_rounds = 4
[oslo_policy]
policy_file = {dir}/keystone-policy.yaml
policy_dirs = {dir}/no-policies
"""

PLACEMENT_CONF = """\
[DEFAULT]
log_file = {dir}/placement.log
use_stderr = false
[api]
auth_strategy = keystone
[placement_database]
connection = {placement_database}
sync_on_startup = {sync}
[keystone_authtoken]
www_authenticate_uri = {auth_url}
auth_url = {auth_url}
auth_type = password
username = placement
password = {service_password}
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = {region}
token_cache_time = 10
[oslo_policy]
policy_file = {dir}/placement-policy.yaml
policy_dirs = {dir}/no-policies
"""


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def read_endpoints(directory):
    with open(os.path.join(directory, "endpoints.json")) as file:
        return json.load(file)


def listening_socket():
    """Bound by us and handed over, so that nobody else can take the port meanwhile."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    return sock


def spawn(directory, service, sockets, extra, environment=None):
    fds = {option: sock.fileno() for option, sock in sockets.items()}
    command = [PYTHON, os.path.join(HERE, "openstack_service.py"), service, directory]
    for option, fd in fds.items():
        command += ["--" + option, str(fd)]
    # Placement asks Keystone on loopback; a proxy of the environment has no business there.
    inherited = {key: value for key, value in os.environ.items()
                 if not key.lower().endswith("_proxy")}
    log = open(os.path.join(directory, service + ".out"), "wb")
    process = subprocess.Popen(command + extra, pass_fds=tuple(fds.values()), stdout=log,
                               stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                               cwd=directory, env={**inherited, **(environment or {})})
    log.close()
    return process


def set_up_keystone(endpoints):
    """Service project and users, Placement in the catalog, an application credential."""
    token, _ = api.log_in(endpoints["auth_url"], "admin", endpoints["admin_password"], "admin")
    keystone = api.Keystone(endpoints["auth_url"], token)
    project = keystone.make("project", name="service", domain_id="default")
    admin, reader = keystone.find("role", "admin"), keystone.find("role", "reader")
    service_role = keystone.find_or_make("role", "service")  # Debian 13's Keystone brings it
    for name, roles in (("placement", (admin, service_role)), ("nova", (admin, service_role)),
                        ("reclaim", (admin, service_role)), ("operator", (admin,)),
                        ("nobody", (reader,))):
        user = keystone.make("user", name=name, domain_id="default",
                             password=endpoints["service_password"])
        for role in roles:
            keystone.grant(project, user, role)
    service = keystone.make("service", type="placement", name="placement")
    for interface in ("internal", "public", "admin"):
        keystone.make("endpoint", interface=interface, region=REGION, service_id=service,
                      url=endpoints["placement_url"])
    token, body = api.log_in(endpoints["auth_url"], "reclaim", endpoints["service_password"],
                             "service")
    owner = api.Keystone(endpoints["auth_url"], token)
    endpoints["application_credential_id"] = owner.application_credential(
        body["user"]["id"], "reclaim", endpoints["application_credential_secret"])


def add_tls_region(endpoints):
    """A second region, whose Placement is behind TLS."""
    token, _ = api.log_in(endpoints["auth_url"], "admin", endpoints["admin_password"], "admin")
    keystone = api.Keystone(endpoints["auth_url"], token)
    keystone.make("region", id="TlsRegion")
    keystone.make("endpoint", interface="internal", region="TlsRegion",
                  service_id=keystone.find("service", "placement"),
                  url=endpoints["tls"]["placement_url"])


def new_secrets():
    return {"admin_username": "admin", "admin_password": secrets.token_hex(12),
            "service_username": "reclaim", "service_password": secrets.token_hex(12),
            "service_project": "service", "domain": "Default", "region": REGION,
            "application_credential_secret": secrets.token_hex(12)}


class Stack:
    """One that is being started in a directory."""

    def __init__(self, directory, owner_pid=None):
        self.directory, self.owner_pid = directory, owner_pid
        self.processes = {}
        self.sockets = {service: {"fd": listening_socket()}
                        for service in ("keystone", "placement")}
        port = {service: sockets["fd"].getsockname()[1]
                for service, sockets in self.sockets.items()}
        self.urls = {"auth_url": "http://127.0.0.1:%d/v3" % port["keystone"],
                     "placement_url": "http://127.0.0.1:%d" % port["placement"]}

    def add_tls(self):
        """Where TLS is served, for endpoints.json."""
        openstack_tls.make_certificates(self.directory)
        tls = {name: os.path.join(self.directory, name + ".pem")
               for name in ("ca", "other-ca", "client")}
        for service, key in (("keystone", "auth_url"), ("placement", "placement_url")):
            for option in ("tls", "mtls"):
                sock = self.sockets[service][option + "-fd"] = listening_socket()
                number = sock.getsockname()[1]
                prefix = "mtls_" if option == "mtls" else ""
                path = "/v3" if service == "keystone" else ""
                tls[prefix + key] = "https://localhost:%d%s" % (number, path)
                # The certificate names localhost only.
                tls["misnamed_" + prefix + key] = "https://127.0.0.1:%d%s" % (number, path)
        return tls

    def note_processes(self):
        write(self.directory, "pids.json",
              json.dumps({name: process.pid for name, process in self.processes.items()}))

    def start_database(self):
        self.processes["mariadb"] = mariadb.start(self.directory, self.owner_pid)
        self.note_processes()
        mariadb.wait_until_it_answers(self.directory, self.processes["mariadb"])

    def start_services(self, endpoints, prepared, token_life_s, without_traits):
        values = dict(endpoints, dir=self.directory, token_life_s=token_life_s,
                      sync="false" if prepared else "true",
                      **{service + "_database": mariadb.url(self.directory, service)
                         for service in self.sockets})
        write(self.directory, "keystone.conf", KEYSTONE_CONF.format(**values))
        write(self.directory, "placement.conf", PLACEMENT_CONF.format(**values))
        os.makedirs(os.path.join(self.directory, "no-policies"), exist_ok=True)
        for service in self.sockets:
            write(self.directory, service + "-policy.yaml", "{}\n")
        words = (["--owner-pid", str(self.owner_pid)] if self.owner_pid else []) + (
            ["--prepared"] if prepared else [])
        more = {"keystone": ["--region", REGION, "--auth-url", endpoints["auth_url"]],
                "placement": ["--without-traits"] if without_traits else []}
        for service, sockets in self.sockets.items():
            self.processes[service] = spawn(self.directory, service, sockets,
                                            words + more[service],
                                            {"ADMIN_PASSWORD": endpoints["admin_password"]})
            for sock in sockets.values():
                sock.close()
        self.note_processes()
        for service, url in (("keystone", endpoints["auth_url"]),
                             ("placement", endpoints["placement_url"] + "/")):
            service_process.wait_until_it_answers(url, self.processes[service],
                                                  os.path.join(self.directory, service + ".out"))

    def make_from_nothing(self, token_life_s=3600, without_traits=False):
        """Databases, tables, users and keys; both services run then. Returns the endpoints."""
        endpoints = {**self.urls, **new_secrets()}
        self.start_database()
        for service in self.sockets:
            mariadb.execute(self.directory, None, "CREATE DATABASE " + service)
        self.start_services(endpoints, False, token_life_s, without_traits)
        set_up_keystone(endpoints)
        return endpoints


def make_template(directory):
    """What openstack_template keeps: a stack that was set up and has ended in order."""
    stack = Stack(directory, os.getpid())
    try:
        write(directory, "endpoints.json", json.dumps(stack.make_from_nothing(without_traits=True)))
        end_processes(directory, [stack.processes[service].pid for service in stack.sockets])
        mariadb.shut_down(directory, stack.processes["mariadb"])
    finally:
        end_processes(directory, [process.pid for process in stack.processes.values()])


def start(args):
    directory = os.path.abspath(args.directory)
    os.makedirs(directory, exist_ok=True)
    if os.path.exists(os.path.join(directory, "pids.json")):
        raise SystemExit("%s has a stack already; stop it first" % directory)
    if args.template:
        openstack_template.copy(os.path.abspath(args.template), directory, make_template)
    stack = Stack(directory, args.owner_pid)
    try:
        tls = stack.add_tls() if args.tls else None
        if args.template:
            made = read_endpoints(directory)
            os.unlink(os.path.join(directory, "endpoints.json"))
            endpoints = {**made, **stack.urls}
            stack.start_database()
            for key in stack.urls:
                mariadb.execute(directory, "keystone",
                                "UPDATE endpoint SET url = %s WHERE url = %s",
                                (endpoints[key], made[key]))
            stack.start_services(endpoints, True, args.token_life_s, args.without_traits)
        else:
            endpoints = stack.make_from_nothing(args.token_life_s, args.without_traits)
        if tls:
            endpoints["tls"] = tls
            add_tls_region(endpoints)
    except BaseException:
        stop(args)
        raise
    write(directory, "endpoints.json", json.dumps(endpoints, indent=2) + "\n")
    print(json.dumps({key: endpoints[key] for key in ("auth_url", "placement_url", "region")}))


PROGRAMS = ("openstack_service.py", "mariadb.py")


def end_processes(directory, pids, deadline_s=10):
    def ours():
        return [pid for pid in pids if any(service_process.is_ours(pid, program, directory)
                                           for program in PROGRAMS)]
    for pid in ours():
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + deadline_s
    while ours():
        if time.monotonic() > deadline:
            for pid in ours():
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.02)


def stop(args):
    directory = os.path.abspath(args.directory)
    path = os.path.join(directory, "pids.json")
    if not os.path.exists(path):
        return
    with open(path) as file:
        end_processes(directory, list(json.load(file).values()))
    os.unlink(path)


def admin_placement(directory):
    endpoints = read_endpoints(directory)
    token, _ = api.log_in(endpoints["auth_url"], "nova", endpoints["service_password"], "service")
    return api.Placement(endpoints["placement_url"], token)


def resource_class(args):
    kind = "NVME" if args.owner == "cyborg" else "PCI"  # as the specification of its driver says
    return "CUSTOM_%s_%s_%s" % (kind, args.vendor.upper(), args.product.upper())


def register(args):
    """Nova's order: provider, inventory, traits, allocation, and then the burn. Cyborg's providers
    have the address in lower case and a UUID made of their name; nothing burns them."""
    placement = admin_placement(args.directory)
    name = resource_class(args)
    placement.call("PUT", "/resource_classes/" + name)
    root = placement.make_provider(args.host)
    if args.owner == "cyborg":
        text = "%s_%s" % (args.host, args.device.lower())
        child = placement.make_provider(text, root["uuid"],
                                        str(uuids.uuid3(uuids.NAMESPACE_DNS, text)))
        traits = ["OWNER_CYBORG"]
    else:
        child = placement.make_provider("%s_%s" % (args.host, args.device.upper()), root["uuid"])
        traits = ["COMPUTE_MANAGED_PCI_DEVICE"]
    shape = {"total": 1, "max_unit": 1}
    placement.put_inventory(child["uuid"], name, **shape)
    if args.one_time_use:
        traits += ["HW_PCI_ONE_TIME_USE", "OWNER_NOVA"]
    placement.put_traits(child["uuid"], traits + args.trait)
    if args.allocate:
        placement.allocate(args.allocate, child["uuid"], name)
    if args.reserved:
        placement.put_inventory(child["uuid"], name, reserved=args.reserved, **shape)
    print(json.dumps({"uuid": child["uuid"], "name": child["name"], "root_uuid": root["uuid"],
                      "resource_class": name}))


def endpoint(args):
    """A service and its one endpoint in the catalog, as the documentation registers ours."""
    endpoints = read_endpoints(args.directory)
    token, _ = api.log_in(endpoints["auth_url"], "admin", endpoints["admin_password"], "admin")
    keystone = api.Keystone(endpoints["auth_url"], token)
    service = keystone.make("service", type=args.type, name=args.type)
    keystone.make("endpoint", interface="internal", region=endpoints["region"],
                  service_id=service, url=args.url)


def free(args):
    admin_placement(args.directory).free(args.consumer)


def move(args):
    admin_placement(args.directory).move(args.consumer, args.to)


def show(args):
    placement = admin_placement(args.directory)
    rows = [("PROVIDER", "UUID", "RESOURCE CLASS", "TOTAL", "RESERVED", "CONSUMERS")]
    for provider in placement.call("GET", "/resource_providers")["resource_providers"]:
        path = "/resource_providers/%s/" % provider["uuid"]
        inventories = placement.call("GET", path + "inventories")["inventories"]
        consumers = ",".join(placement.call("GET", path + "allocations")["allocations"]) or "-"
        for name, inventory in inventories.items():
            rows.append((provider["name"], provider["uuid"], name, str(inventory["total"]),
                         str(inventory["reserved"]), consumers))
        if not inventories:
            rows.append((provider["name"], provider["uuid"], "-", "-", "-", consumers))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, function):
        sub = commands.add_parser(name)
        sub.add_argument("directory", metavar="DIR")
        sub.set_defaults(function=function)
        return sub

    sub = command("start", start)
    sub.add_argument("--template", metavar="FOLDER")
    sub.add_argument("--tls", action="store_true")
    sub.add_argument("--owner-pid", type=int, help="the services end when this process has")
    sub.add_argument("--token-life-s", type=int, default=3600)
    sub.add_argument("--without-traits", action="store_true",
                     help="leave Placement with the traits of Debian 12's os-traits")
    command("stop", stop)
    command("show", show)
    sub = command("register", register)
    sub.add_argument("--host", required=True)
    sub.add_argument("--device", required=True)
    sub.add_argument("--vendor", default="1b36")
    sub.add_argument("--product", default="0010")
    sub.add_argument("--owner", choices=("nova", "cyborg"), default="nova")
    sub.add_argument("--one-time-use", action="store_true")
    sub.add_argument("--reserved", type=int, default=0)
    sub.add_argument("--allocate", metavar="CONSUMER", type=lambda text: str(uuids.UUID(text)))
    sub.add_argument("--trait", action="append", default=[])
    sub = command("endpoint", endpoint)
    sub.add_argument("--type", required=True)
    sub.add_argument("--url", required=True)
    sub = command("free", free)
    sub.add_argument("--consumer", required=True)
    sub = command("move", move)
    sub.add_argument("--consumer", required=True)
    sub.add_argument("--to", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_arguments()
    arguments.function(arguments)
