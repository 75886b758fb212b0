#!/usr/bin/python3
"""A small stand-in for Cyborg's REST API (cyborg-api is not in Debian), in the standard library.

  cyborg.py start DIR [--max-version 2.3] [--bare-version] [--stack STACK_DIR [--register]]
                      [--owner-pid PID]
  cyborg.py stop DIR
  cyborg.py do DIR COMMAND [NAME=VALUE ...]      prints what the command made, as JSON

`start` returns when it answers and has written DIR/cyborg.json: {"url": the root, "endpoint": what
a catalog names}. It serves GET /, /v2, /v2/accelerator_requests[/UUID], /v2/devices[/UUID],
/v2/deployables[/UUID] and POST /v2/devices/UUID/disable|enable, in the shapes of Cyborg's own
samples (tests/data/cyborg-samples; cyborg_samples_test.py holds it against them). As in Cyborg,
who is not an admin sees the ARQs of its own project only, an ARQ's attach handle is shown while it
is Bound only, and unbinding wipes its host, provider and instance.

--max-version 2.4 adds `managed` to attach handles. --bare-version reads and writes the header
OpenStack-API-Version as Cyborg of 2024.1 to 2026.1 does, without "accelerator". With --stack (a
folder that openstack.py has started) tokens are validated by that Keystone, else any token is an
admin's; --register enters it in that Keystone's catalog as service type `accelerator`.

Nothing of Placement is touched: what real Cyborg does there (reserving at disable) is the test's
to do.

Commands (what they return is the row as the API shows it):
  device hostname=H address=0000:c1:00.0 [type=SSD] [vendor=1b36] [product=0010] [provider=UUID]
         [board=json|python|address]     a device with its deployable; provider=none: not in
         Placement yet; board: std_board_info as drivers write it today, as Python's repr, or with
         pci_address
  arq [project=UUID] [profile=NAME]                       a new one, Initial
  bind arq=UUID device=UUID instance=UUID [managed=true|false] [state=BindStarted|Bound]
  unbind arq=UUID [state=Unbound|UnbindFailed]
  set arq=UUID NAME=JSON ...                              any member, also to what it may not be
  delete arq=UUID
  disable device=UUID / enable device=UUID
  expire                                                  tokens seen so far are answered 401
  fault kind=503|401|html|garbage|truncated|slow [path=/v2/devices] [times=1] [delay_ms=1000]
  max_version value=2.4                                   as if upgraded
  requests                                                what was asked since the last time
"""
import argparse
import datetime
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid as uuids

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import openstack_api as api  # noqa: E402  (beside this file)
import service_process  # noqa: E402

PYTHON = "/usr/bin/python3"
MIN_VERSION = (2, 0)
ADMIN = {"admin": True, "project": None}


def now():
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0).isoformat()


def version_text(version):
    return "%d.%d" % version


class Fault(Exception):
    """An answer other than 200."""

    def __init__(self, status, words):
        super().__init__(words)
        self.status = status


class World:
    """What Cyborg's database holds. Every method is called with the lock held."""

    def __init__(self, max_version):
        self.lock = threading.Lock()
        self.max_version = max_version
        self.arqs, self.devices, self.deployables = [], [], []
        self.faults = []
        self.expired, self.seen = set(), set()
        self.requests = []

    def find(self, rows, uuid, what):
        for row in rows:
            if row["uuid"] == uuid:
                return row
        raise Fault(404, "%s not found with uuid=%s." % (what, uuid))

    # Commands.

    def do_device(self, hostname, address, type="SSD", vendor="1b36", product="0010",
                  provider="", board="json"):
        info = {"product_id": product, "controller": "Non-Volatile memory controller"}
        if board == "address":
            info["pci_address"] = address
        name = "%s_%s" % (hostname, address)
        device = {"uuid": str(uuids.uuid4()), "type": type, "vendor": vendor,
                  "model": "miss model info",
                  "std_board_info": repr(info) if board == "python" else json.dumps(info),
                  "vendor_board_info": json.dumps({"vendor_info": "ssd_vb_info"}),
                  "hostname": hostname, "status": "enabled", "created_at": now(),
                  "updated_at": None}
        self.devices.append(device)
        # Cyborg's provider is the version-3 UUID of its name.
        rp_uuid = provider or str(uuids.uuid3(uuids.NAMESPACE_DNS, name))
        self.deployables.append({
            "uuid": str(uuids.uuid4()), "parent_id": None, "root_id": None, "name": name,
            "num_accelerators": 1, "device_id": len(self.devices),
            "attributes_list": json.dumps([{"rc": "CUSTOM_SSD"}]),
            "rp_uuid": None if provider == "none" else rp_uuid, "driver_name": "INSPUR",
            "bitstream_id": None, "created_at": now(), "updated_at": now()})
        return dict(device, provider=self.deployables[-1]["rp_uuid"])

    def do_arq(self, project="4e01a8e0-52b4-42e4-be67-20dd82f0ef77", profile="nvme"):
        arq = {"uuid": str(uuids.uuid4()), "state": "Initial", "project_id": project,
               "device_profile_name": profile, "device_profile_group_id": 0, "hostname": None,
               "device_rp_uuid": None, "instance_uuid": None, "attach_handle_type": "",
               "attach_handle_uuid": None, "attach_handle_info": {}, "created_at": now(),
               "updated_at": None}
        self.arqs.append(arq)
        return arq

    def do_bind(self, arq, device, instance, managed="", state="Bound"):
        row = self.find(self.arqs, arq, "ARQ")
        device_row = self.find(self.devices, device, "Device")
        deployable = self.deployables[self.devices.index(device_row)]
        domain, bus, slot, function = re.split("[:.]", deployable["name"].rpartition("_")[2])
        handle = {"domain": domain, "bus": bus, "device": slot, "function": function}
        if managed:
            handle["managed"] = managed == "true"
        row.update(state=state, hostname=device_row["hostname"], instance_uuid=instance,
                   device_rp_uuid=deployable["rp_uuid"], updated_at=now())
        if state == "Bound":
            row.update(attach_handle_type="PCI", attach_handle_uuid=str(uuids.uuid4()),
                       attach_handle_info=handle)
        return row

    def do_unbind(self, arq, state="Unbound"):
        row = self.find(self.arqs, arq, "ARQ")
        row.update(state=state, hostname=None, device_rp_uuid=None, instance_uuid=None,
                   attach_handle_type="", attach_handle_uuid=None, attach_handle_info={},
                   updated_at=now())
        return row

    def do_set(self, arq, **members):
        row = self.find(self.arqs, arq, "ARQ")
        row.update({name: json.loads(value) for name, value in members.items()})
        return row

    def do_delete(self, arq):
        self.arqs.remove(self.find(self.arqs, arq, "ARQ"))

    def do_disable(self, device):
        return self.set_status(device, "maintaining")

    def do_enable(self, device):
        return self.set_status(device, "enabled")

    def set_status(self, device, status):
        row = self.find(self.devices, device, "Device")
        row.update(status=status, updated_at=now())
        return row

    def do_expire(self):
        self.expired |= self.seen

    def do_fault(self, kind, path="", times="1", delay_ms="1000"):
        self.faults += [(kind, path, int(delay_ms))] * int(times)

    def do_max_version(self, value):
        self.max_version = tuple(int(part) for part in value.split("."))

    def do_requests(self):
        asked, self.requests = self.requests, []
        return asked

    # Answers.

    def show_arq(self, row, version, url):
        shown = dict(row, links=[link(url, "v2/accelerator_requests", row["uuid"])])
        handle = dict(row["attach_handle_info"] or {})
        if version < (2, 4):
            handle.pop("managed", None)
        elif handle and row["attach_handle_type"] == "PCI":
            handle.setdefault("managed", True)
        shown["attach_handle_info"] = handle
        return shown

    def show_device(self, row, version, url):
        shown = dict(row, links=[link(url, "v2/devices", row["uuid"])])
        if version < (2, 3):
            del shown["status"]
        return shown

    def show_deployable(self, row, version, url):
        return dict(row, links=[link(url, "v2/deployables", row["uuid"]),
                                link(url, "deployables", row["uuid"], "bookmark")])

    def answer(self, method, path, query, version, caller, url):
        parts = path.strip("/").split("/")[1:]
        kind, rest = parts[0] if parts else "", parts[1:]
        if kind == "devices" and len(rest) == 2 and method == "POST":
            if version < (2, 3) or rest[1] not in ("disable", "enable"):
                raise Fault(404, "Not Found")
            if not caller["admin"]:
                raise Fault(403, "Policy doesn't allow cyborg:device:%s to be performed." % rest[1])
            getattr(self, "do_" + rest[1])(rest[0])
            return None
        if method != "GET" or len(rest) > 1:
            raise Fault(404, "Not Found")
        tables = {
            "accelerator_requests": (self.arqs, self.show_arq, "arqs", "ARQ"),
            "devices": (self.devices, self.show_device, "devices", "Device"),
            "deployables": (self.deployables, self.show_deployable, "deployables", "Deployable"),
        }
        if kind not in tables:
            raise Fault(404, "Not Found")
        rows, show, plural, what = tables[kind]
        if kind == "accelerator_requests" and not caller["admin"]:
            rows = [row for row in rows if row["project_id"] == caller["project"]]
        elif not caller["admin"]:
            raise Fault(403, "Policy doesn't allow cyborg:%s:get_all to be performed." %
                        what.lower())
        if rest:
            return show(self.find(rows, rest[0], what), version, url)
        for name in ("hostname", "type", "vendor") if kind == "devices" else ():
            if name in query:
                rows = [row for row in rows if row[name] == query[name][0]]
        if kind == "accelerator_requests" and "instance" in query:
            rows = [row for row in rows if row["instance_uuid"] == query["instance"][0]]
        # Cyborg lists the newest first.
        return {plural: [show(row, version, url) for row in reversed(rows)]}


def link(url, resource, uuid, rel="self"):
    return {"href": "%s/accelerator/%s/%s" % (url, resource, uuid), "rel": rel}


def version_document(world, url):
    return {"id": "v2.0", "status": "CURRENT", "min_version": version_text(MIN_VERSION),
            "max_version": version_text(world.max_version),
            "links": [{"href": url + "/accelerator/v2/", "rel": "self"}]}


def root_document(world, url):
    version = dict(version_document(world, url), id="v2")
    return {"name": "OpenStack Cyborg API", "description": "A stand-in for tests.",
            "versions": [version], "default_version": version}


class Keystone:
    """Says whose token it is; without a stack, everybody is an admin."""

    def __init__(self, stack):
        self.endpoints = None
        if stack:
            with open(os.path.join(stack, "endpoints.json")) as file:
                self.endpoints = json.load(file)

    def caller(self, token):
        """None: no good token."""
        if not token:
            return None
        if self.endpoints is None:
            return ADMIN
        own, _ = api.log_in(self.endpoints["auth_url"], "nova", self.endpoints["service_password"],
                            "service")
        request = urllib.request.Request(self.endpoints["auth_url"] + "/auth/tokens?nocatalog",
                                         headers={"X-Auth-Token": own, "X-Subject-Token": token})
        try:
            with api.OPENER.open(request, timeout=60) as answer:
                body = json.loads(answer.read().decode())["token"]
        except urllib.error.HTTPError:
            return None
        return {"admin": "admin" in [role["name"] for role in body.get("roles", [])],
                "project": body.get("project", {}).get("id")}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are written apart
    world = keystone = bare_version = None  # of the class that serve() makes

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.handle_request("GET")

    def do_POST(self):
        self.handle_request("POST")

    def handle_request(self, method):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/control":
            return self.control(json.loads(body))
        with self.world.lock:
            self.world.requests.append({
                "method": method, "path": self.path,
                "version": self.headers.get("OpenStack-API-Version")})
            fault = next((each for each in self.world.faults if url.path.startswith(each[1])), None)
            if fault:
                self.world.faults.remove(fault)
        if fault and not self.misbehave(*fault):
            return None
        return self.answer(method, url)

    def control(self, words):
        with self.world.lock:
            try:
                made = getattr(self.world, "do_" + words.pop("do"))(**words)
            except Fault as error:
                return self.send_body(error.status, json.dumps(str(error)).encode())
            text = json.dumps(made)
        return self.send_body(200, text.encode())

    def misbehave(self, kind, _path, delay_ms):
        """True: answer as usual after all."""
        if kind == "slow":
            time.sleep(delay_ms / 1000.0)
            return True
        if kind == "html":
            self.send_body(502, b"<html><h1>Bad Gateway</h1></html>", {"Content-Type": "text/html"})
        elif kind == "garbage":
            self.send_body(200, b"{\"arqs\": [\x00\xff")
        elif kind == "truncated":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"{\"arqs\": [")
            self.close_connection = True
        else:
            self.fail(int(kind), "told to")
        return False

    def answer(self, method, url):
        base = "http://%s" % self.headers.get("Host", "127.0.0.1")
        try:
            if url.path == "/" and method == "GET":
                with self.world.lock:
                    return self.send_json(root_document(self.world, base))
            if url.path != "/v2" and not url.path.startswith("/v2/"):
                raise Fault(404, "Not Found")
            # Version 2's own document needs no token.
            public = url.path.rstrip("/") == "/v2"
            caller = ADMIN if public else self.caller()
            version = self.requested_version()
            headers = self.version_headers(version)
            with self.world.lock:
                if version[0] != 2 or not MIN_VERSION <= version <= self.world.max_version:
                    raise Fault(406, "Version %s was requested but the minor version is not "
                                "supported by this service. The supported version range is: "
                                "[%s, %s]." % (version_text(version), version_text(MIN_VERSION),
                                               version_text(self.world.max_version)))
                if public:
                    document = version_document(self.world, base)
                else:
                    document = self.world.answer(method, url.path,
                                                 urllib.parse.parse_qs(url.query), version, caller,
                                                 base)
            return self.send_json(document, headers)
        except Fault as error:
            return self.fail(error.status, str(error))

    def caller(self):
        token = self.headers.get("X-Auth-Token", "")
        with self.world.lock:
            self.world.seen.add(token)
            expired = token in self.world.expired
        caller = None if expired else self.keystone.caller(token)
        if caller is None:
            raise Fault(401, "The request you have made requires authentication.")
        return caller

    def requested_version(self):
        text = self.headers.get("OpenStack-API-Version")
        if text is None:
            return MIN_VERSION
        words = text.split()
        if not self.bare_version and len(words) == 2 and words[0] == "accelerator":
            text = words[1]
        if re.fullmatch(r"\d+\.\d+", text):
            return tuple(int(part) for part in text.split("."))
        if self.bare_version:
            return MIN_VERSION  # without a word
        raise Fault(406, "Invalid value for OpenStack-API-Version header")

    def version_headers(self, version):
        spoken = version_text(version)
        return {"OpenStack-API-Minimum-Version": version_text(MIN_VERSION),
                "OpenStack-API-Maximum-Version": version_text(self.world.max_version),
                "OpenStack-API-Version": spoken if self.bare_version else "accelerator " + spoken,
                "Vary": "OpenStack-API-Version"}

    def fail(self, status, words):
        if status == 401:
            body = {"error": {"code": 401, "title": "Unauthorized", "message": words}}
            return self.send_body(401, json.dumps(body).encode(),
                                  {"WWW-Authenticate": "Keystone uri=\"http://keystone\""})
        if status == 406:
            body = {"error_message": words}
        else:
            fault = {"debuginfo": None, "faultcode": "Client", "faultstring": words}
            body = {"error_message": json.dumps(fault)}
        return self.send_body(status, json.dumps(body).encode(), self.version_headers(MIN_VERSION))

    def send_json(self, document, headers=None):
        text = b"" if document is None else json.dumps(document).encode()
        return self.send_body(200, text, headers)

    def send_body(self, status, text, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve(args):
    service_process.end_with_owner(args.owner_pid)
    handler = type("BoundHandler", (Handler,), {
        "world": World(tuple(int(part) for part in args.max_version.split("."))),
        "keystone": Keystone(args.stack), "bare_version": args.bare_version})
    server = Server(("127.0.0.1", 0), handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=args.fd)
    server.serve_forever()


def start(args):
    directory = os.path.abspath(args.directory)
    os.makedirs(directory, exist_ok=True)
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    url = "http://127.0.0.1:%d" % sock.getsockname()[1]
    command = [PYTHON, os.path.abspath(__file__), "serve", directory, "--fd", str(sock.fileno()),
               "--max-version", args.max_version]
    command += ["--bare-version"] if args.bare_version else []
    command += ["--stack", os.path.abspath(args.stack)] if args.stack else []
    command += ["--owner-pid", str(args.owner_pid)] if args.owner_pid else []
    with open(os.path.join(directory, "cyborg.out"), "wb") as log:
        process = subprocess.Popen(command, pass_fds=(sock.fileno(),), stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
    sock.close()
    service_process.wait_until_it_answers(url + "/", process, os.path.join(directory, "cyborg.out"))
    about = {"url": url, "endpoint": url + "/v2", "pid": process.pid}
    if args.register:
        register(Keystone(args.stack).endpoints, about["endpoint"])
    with open(os.path.join(directory, "cyborg.json"), "w") as file:
        json.dump(about, file)
    print(json.dumps(about))


def register(endpoints, url):
    token, _ = api.log_in(endpoints["auth_url"], "admin", endpoints["admin_password"], "admin")
    keystone = api.Keystone(endpoints["auth_url"], token)
    service = keystone.make("service", type="accelerator", name="cyborg")
    for interface in ("internal", "public", "admin"):
        keystone.make("endpoint", interface=interface, region=endpoints["region"],
                      service_id=service, url=url)


def about(directory):
    with open(os.path.join(directory, "cyborg.json")) as file:
        return json.load(file)


def stop(args):
    directory = os.path.abspath(args.directory)
    path = os.path.join(directory, "cyborg.json")
    if not os.path.exists(path):
        return
    pid = about(directory)["pid"]
    if service_process.is_ours(pid, "cyborg.py", directory):
        os.kill(pid, signal.SIGTERM)
    os.unlink(path)


def do(args):
    words = dict(word.split("=", 1) for word in args.words)
    _, made = api.call("POST", about(args.directory)["url"] + "/control",
                       dict(words, do=args.what))
    print(json.dumps(made))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, function):
        sub = commands.add_parser(name)
        sub.add_argument("directory", metavar="DIR")
        sub.set_defaults(function=function)
        return sub

    for name, function in (("start", start), ("serve", serve)):
        sub = command(name, function)
        sub.add_argument("--max-version", default="2.3")
        sub.add_argument("--bare-version", action="store_true")
        sub.add_argument("--stack")
        sub.add_argument("--owner-pid", type=int)
        if name == "start":
            sub.add_argument("--register", action="store_true")
        else:
            sub.add_argument("--fd", type=int, required=True)
    command("stop", stop)
    sub = command("do", do)
    sub.add_argument("what", metavar="COMMAND")
    sub.add_argument("words", nargs="*", metavar="NAME=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_arguments()
    arguments.function(arguments)
