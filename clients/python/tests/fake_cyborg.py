"""Cyborg's modules as far as the driver needs them, with objects that take what a real Cyborg's
take (tests/data/cyborg-objects) and nothing else; and a worker's door that answers what it is
told."""
import contextlib
import http.server
import importlib
import json
import pathlib
import socketserver
import sys
import threading
import types

from oslo_config import cfg

DATA = pathlib.Path(__file__).resolve().parents[3] / "tests/data/cyborg-objects"
TABLE = json.loads((DATA / "driver_objects.json").read_text(encoding="utf-8"))

KINDS = {"text": str, "boolean": bool, "integer": int}
WORDS = {"device_type": "device_types", "device_state": "device_states",
         "attach_type": "attach_types"}


def _check(kind, value, version):
    if kind in KINDS:
        assert type(value) is KINDS[kind], (kind, value)
    elif kind in WORDS:
        words = TABLE[WORDS[kind]]
        if kind == "device_type" and version < 17:
            words = [word for word in words if word not in ("NVME", "MDEV", "PCI")]
        assert value in words, (kind, value)
    elif kind.startswith("list of "):
        assert all(type(one).__name__ == kind[len("list of "):] for one in value), (kind, value)
    else:
        assert type(value).__name__ == kind, (kind, value)


def _object(name, version):
    fields = {field: rule for field, rule in TABLE["objects"][name].items()
              if rule.get("since", 0) <= version}

    def set_field(self, field, value):
        assert field in fields, "%s of Cyborg %s has no field %s" % (name, version, field)
        if value is not None or not fields[field].get("nullable"):
            _check(fields[field]["kind"], value, version)
        object.__setattr__(self, field, value)
    return type(name, (), {"fields": fields, "__setattr__": set_field})


def whole(thing):
    """As plain values; fails where a field that must be there is not set."""
    if isinstance(thing, list):
        return [whole(one) for one in thing]
    if not hasattr(type(thing), "fields"):
        return thing
    return {field: whole(getattr(thing, field)) for field in type(thing).fields}


@contextlib.contextmanager
def cyborg(host="compute-1", version=17):
    """The driver's module, loaded beside a Cyborg of this version."""
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.StrOpt("host", default=host)])
    conf([])
    made = {}

    def module(name, **members):
        made[name] = types.ModuleType(name)
        made[name].__dict__.update(members)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(made[parent], last, made[name])

    words = {"DEVICE_SSD": "SSD", "AH_TYPE_PCI": "PCI"}
    if version >= 17:
        words["DEVICE_NVME"] = "NVME"
    for name in ("cyborg", "cyborg.accelerator", "cyborg.accelerator.drivers", "cyborg.common",
                 "cyborg.objects", "cyborg.objects.driver_objects"):
        module(name)
    module("cyborg.accelerator.drivers.driver", GenericDriver=type("GenericDriver", (), {}))
    module("cyborg.common.constants", **words)
    module("cyborg.conf", CONF=conf)
    for name, last in (("DriverDevice", "device"), ("DriverControlPathID", "controlpath_id"),
                       ("DriverDeployable", "deployable"), ("DriverAttribute", "attribute"),
                       ("DriverAttachHandle", "attach_handle")):
        module("cyborg.objects.driver_objects.driver_" + last, **{name: _object(name, version)})
    ours = "reclaim_openstack.cyborg.driver"
    sys.modules.pop(ours, None)
    sys.modules.update(made)
    try:
        yield importlib.import_module(ours)
    finally:
        for name in [*made, ours]:
            sys.modules.pop(name, None)


def drive(address="0000:01:00.0", **changed):
    """One as the worker tells it: clean, and on offer."""
    return {"address": address, "state": "available", "state_since_ms": 100, "vendor": "144d",
            "product_id": "a80a", "model": "SSD 980", "serial": "S1",
            "resource_class": "CUSTOM_NVME_144D_A80A", "traits": ["HW_NVME_CES", "HW_NVME_BES"],
            "action": "sanitize_crypto", "managed": True, "provider": "p", "status": "",
            "held": False, "handed_over": False, "clean": True, "offered": True, "cleaned_ms": 100,
            "looked_ms": 100, **changed}


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self):
        request, _ = super().get_request()
        return request, ("unix", 0)


class FakeDoor:
    """Answers at a unix socket. `drives` by address; `on_cleanup(address)` gives asked_ms."""

    def __init__(self, path, host="compute-1"):
        self.host = host
        self.drives = {}
        self.asked = []
        self.on_cleanup = lambda address: 1000
        self.on_look = lambda address, since_ms: None
        self.broken = None  # (status, body) of every answer
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_args):
                pass

            def do_GET(self):  # noqa: N802
                door.answer(self)

            do_POST = do_GET

        self._server = _Server(path, Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, handler):
        self.asked.append("%s %s" % (handler.command, handler.path))
        status, body = self.broken or self._told(handler.command, handler.path)
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def _told(self, method, path):
        path, _, query = path.partition("?")
        rest = path[len("/v1/drives"):].strip("/").split("/")
        if rest == [""]:
            return 200, {"host": self.host, "now_ms": 1, "drives": list(self.drives.values())}
        if rest[0] not in self.drives:
            return 404, {"error": "it is no drive of Cyborg's"}
        if method == "POST" and rest[1:] == ["cleanup"]:
            return 202, {"asked_ms": self.on_cleanup(rest[0])}
        self.on_look(rest[0], int(query.partition("=")[2] or 0))
        return 200, self.drives[rest[0]]

    def shut_down(self):
        self._server.shutdown()
        self._server.server_close()
