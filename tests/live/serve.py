#!/usr/bin/python3
"""One WSGI service in the foreground, behind a threaded server, as uwsgi would run it.

  serve.py nova-api PORT CONFIG_FOLDER
  serve.py cyborg-api PORT CONFIG_FILE
  serve.py images-and-ports PORT

The last is the least of Glance and Neutron that Nova's fake driver asks for: one image without
content, which every snapshot is too, and no ports.
"""
import json
import os
import re
import sys

from werkzeug import serving

from serve_ids import IMAGE

IMAGE_FIELDS = {
    "id": IMAGE, "name": "none", "status": "active", "visibility": "public", "owner": "live",
    "container_format": "bare", "disk_format": "raw", "size": 0, "min_ram": 0, "min_disk": 0,
    "protected": False, "tags": [], "checksum": None, "virtual_size": 0,
    "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    "file": "/v2/images/%s/file" % IMAGE, "schema": "/v2/schemas/image"}


def images_and_ports(environ, start_response):
    path = environ["PATH_INFO"].rstrip("/")
    if path.startswith("/v2/schemas"):
        # Nova takes what the schema does not name for a property of the image's owner.
        body = {"name": "image", "properties": {name: {} for name in IMAGE_FIELDS},
                "additionalProperties": {"type": "string"}}
    elif path.startswith("/v2/images/") or environ["REQUEST_METHOD"] == "POST":
        body = IMAGE_FIELDS
    elif path == "/v2/images":
        body = {"images": [IMAGE_FIELDS]}
    elif path.startswith("/v2.0/"):
        name = re.sub("-", "_", path.rsplit("/", 1)[1])
        body = {name: []}
    else:
        body = {"versions": []}
    text = json.dumps(body).encode()
    start_response("200 OK", [("Content-Type", "application/json"),
                              ("Content-Length", str(len(text)))])
    return [text]


def nova_api(folder):
    os.environ["OS_NOVA_CONFIG_DIR"] = folder
    sys.argv = ["nova-api"]
    from nova.wsgi import osapi_compute
    return osapi_compute.application


def cyborg_api(config):
    sys.argv = ["cyborg-api", "--config-file", config]
    from cyborg.wsgi import api
    return api.application


class Handler(serving.WSGIRequestHandler):
    disable_nagle_algorithm = True

    def log(self, kind, message, *args):
        pass


def main():
    service, port = sys.argv[1], int(sys.argv[2])
    more = sys.argv[3:]
    app = {"nova-api": nova_api, "cyborg-api": cyborg_api,
           "images-and-ports": lambda: images_and_ports}[service](*more)
    serving.make_server("127.0.0.1", port, app, threaded=True,
                        request_handler=Handler).serve_forever()


main()
