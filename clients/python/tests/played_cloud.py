"""A cloud as the clients see it: Keystone's token and catalog, and answers of the device API,
played over real HTTP to the real SDK. What the API says is in its golden files (tests/data/api)."""
import contextlib
import http.server
import json
import logging
import os
import threading
from types import SimpleNamespace

import openstack

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/data/api")
URL_IN_GOLDEN = "http://reclaim:6667"


def golden(name):
    with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
        return file.read()


def error(status, text):
    """An error in the API's form, as in clean-409.json."""
    fault = json.dumps({"debuginfo": None, "faultcode": "Client", "faultstring": text})
    return status, json.dumps({"error_message": fault})


class PlayedCloud:
    """`answers`: {"GET /v2/devices": text | (status, text) | a list of them, the last one for
    good}. A path is found with and without its query. `asked` has every request to the device API
    but those for its versions, as (method, path with query, microversion header, body)."""

    def __init__(self, answers=None, root=None, highest="2.6", service="accelerator-cleaning",
                 interface="public"):
        self.answers, self.asked = dict(answers or {}), []
        self.service, self.interface = service, interface
        self.root, self.highest = root, highest
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, text, **headers):
                body = text.encode() if isinstance(text, str) else text
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                cloud.serve(self)

            do_POST = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.registered = self.url
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def serve(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length).decode()
        path, _, _ = request.path.partition("?")
        if path.startswith("/v3"):
            return self.keystone(request, path)
        if path in ("/", "/v2", "/v2/"):
            return request.answer(200, self.document(path))
        self.asked.append((request.command, request.path,
                           request.headers.get("OpenStack-API-Version"), body))
        key = "%s %s" % (request.command, request.path)
        found = self.answers.get(key, self.answers.get("%s %s" % (request.command, path)))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if found is None:
            found = error(404, "played: nothing for " + key)
        status, text = found if isinstance(found, tuple) else (200, found)
        if isinstance(text, str):
            text = text.replace(URL_IN_GOLDEN, self.url)
        return request.answer(status, text, X_Openstack_Request_Id="req-played")

    def document(self, path):
        text = self.root if self.root and path == "/" else golden(
            "root.json" if path == "/" else "v2.json")
        document = json.loads(text.replace(URL_IN_GOLDEN, self.url))
        for version in document.get("versions", [document]):
            version["max_version"] = self.highest
        return json.dumps(document)

    def keystone(self, request, path):
        if path != "/v3/auth/tokens":
            return request.answer(200, json.dumps({"version": {
                "id": "v3.14", "status": "stable",
                "links": [{"rel": "self", "href": self.url + "/v3/"}]}}))
        catalog = [{"id": "s", "type": self.service, "name": "reclaim", "endpoints": [
            {"id": "e", "interface": self.interface, "region": "RegionOne",
             "region_id": "RegionOne", "url": self.registered}]}]
        return request.answer(201, json.dumps({"token": {
            "methods": ["password"], "expires_at": "2999-01-01T00:00:00.000000Z",
            "issued_at": "2026-01-01T00:00:00.000000Z", "audit_ids": ["a"], "catalog": catalog,
            "roles": [{"id": "r", "name": "admin"}],
            "user": {"id": "u", "name": "admin", "domain": {"id": "default", "name": "Default"}},
            "project": {"id": "p", "name": "admin",
                        "domain": {"id": "default", "name": "Default"}}}}), X_Subject_Token="t")

    def connect(self, **more):
        return openstack.connection.Connection(
            auth={"auth_url": self.url + "/v3", "username": "admin", "password": "p",
                  "project_name": "admin", "user_domain_name": "Default",
                  "project_domain_name": "Default"},
            region_name="RegionOne", **more)


class Said(logging.Handler):
    """What a command logs at WARNING and above: the client prints it."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def run(command, cloud, *words, **settings):
    """Runs a command's class as the client does. SimpleNamespace(code, out, said)."""
    with contextlib.ExitStack() as stack:
        printed = []
        out = SimpleNamespace(write=printed.append, flush=lambda: None, isatty=lambda: False,
                              encoding="utf-8")
        app = SimpleNamespace(client_manager=SimpleNamespace(
            sdk_connection=cloud.connect(**settings)), stdout=out)
        made = command(app, None)
        said = Said()
        logger = logging.getLogger("reclaim_openstack")
        logger.addHandler(said)
        stack.callback(logger.removeHandler, said)
        propagate, logger.propagate = logger.propagate, False
        stack.callback(setattr, logger, "propagate", propagate)
        code = made.run(made.get_parser("test").parse_args(list(words)))
        return SimpleNamespace(code=code, out="".join(printed), said=said.lines)
