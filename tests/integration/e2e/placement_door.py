"""A door between the worker and the real Placement."""
import contextlib
import http.server
import json
import threading
import time
import urllib.error
import urllib.request


class PlacementDoor:
    """Stands between the worker and Placement and notes what is written; while `closed`, it answers
    503 as a load balancer does whose servers are all gone."""

    def __init__(self, url):
        door = self
        self.closed = False
        self.refused = 0
        self.written = []  # of each PUT: (path, body)
        self.answered = []  # of each request: when it came, and when its answer was there
        self.before_put = lambda body: None  # called with what is about to be written
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or an answer's body waits 40 ms for its head's ACK

            def answer(self, status, headers, body):
                # Who was killed in between does not wait for an answer.
                with contextlib.suppress(ConnectionError):
                    self.send(status, headers, body)

            def send(self, status, headers, body):
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("connection", "transfer-encoding", "content-length",
                                            "server", "date"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle_any(self):
                began = time.time()
                self.pass_on()
                door.answered.append((began, time.time()))

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if door.closed:
                    door.refused += 1
                    return self.answer(503, [("Content-Type", "text/plain")], b"no server is up\n")
                if self.command == "PUT":
                    door.written.append((self.path, json.loads(body or b"{}")))
                    door.before_put(door.written[-1][1])
                request = urllib.request.Request(url + self.path, data=body or None,
                                                 method=self.command)
                for name, value in self.headers.items():
                    if name.lower() not in ("host", "connection", "content-length"):
                        request.add_header(name, value)
                try:
                    with opener.open(request, timeout=60) as answer:
                        return self.answer(answer.status, answer.getheaders(), answer.read())
                except urllib.error.HTTPError as error:
                    return self.answer(error.code, error.headers.items(), error.read())

            do_GET = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def shut_down(self):
        self.server.shutdown()
        self.server.server_close()

    def reserved_written(self, provider):
        """The values of `reserved` that the worker has asked for, in order."""
        return [inventory.get("reserved", 0)
                for path, body in self.written if provider in path
                for inventory in inventories_of(body)]


def inventories_of(body):
    """Of a PUT to one inventory, or to all of a provider."""
    if "inventories" in body:
        return list(body["inventories"].values())
    return [body] if "reserved" in body or "total" in body else []
