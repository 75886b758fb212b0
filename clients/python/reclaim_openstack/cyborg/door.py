"""The client of the worker's agent door: HTTP over a unix socket, nothing but the standard library.

Each request has a connection of its own, so that threads that wait for cleanings share nothing.
"""
import http.client
import json
import socket

ANSWER_BYTES_MAX = 4 << 20
REQUEST_S = 30


class DoorError(Exception):
    """The worker refuses, or says what cannot be understood."""


class DoorAway(DoorError):
    """The worker cannot be reached, or cannot tell now: asking again may help."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout_s):
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _said(body):
    """What an error's body says in words."""
    try:
        told = json.loads(body)
        return str(told.get("error") or told.get("error_message") or told)[:500]
    except (ValueError, AttributeError):
        return repr(body[:200])


class Door:
    def __init__(self, path, timeout_s=REQUEST_S):
        self.path = path
        self._timeout_s = timeout_s

    def drives(self):
        """{"host", "now_ms", "drives": [...]}: all drives of this host."""
        answer = self._ask("GET", "/v1/drives")
        drives = answer.get("drives")
        if not isinstance(drives, list) or not all(isinstance(one, dict) for one in drives):
            raise DoorError("the answer of %s has no list of drives" % self.path)
        return answer

    def drive(self, address, since_ms):
        """One drive; where it was not looked at since then, the worker looks again."""
        return self._ask("GET", "/v1/drives/%s?since_ms=%d" % (address, since_ms))

    def order_cleanup(self, address):
        """When it was asked, by the worker's clock, in milliseconds."""
        asked_ms = self._ask("POST", "/v1/drives/%s/cleanup" % address).get("asked_ms")
        if not isinstance(asked_ms, int):
            raise DoorError("the answer of %s does not say when it was asked" % self.path)
        return asked_ms

    def _ask(self, method, target):
        connection = _Connection(self.path, self._timeout_s)
        try:
            connection.request(method, target, headers={"Content-Length": "0"}
                               if method == "POST" else {})
            response = connection.getresponse()
            body = response.read(ANSWER_BYTES_MAX + 1)
        except PermissionError as problem:
            raise DoorAway(
                "%s: %s: the agent's user has to be in the group that Reclaim's [agent_door] group "
                "names" % (self.path, problem.strerror)) from problem
        except (OSError, http.client.HTTPException) as problem:
            raise DoorAway("Reclaim's worker does not answer at %s: %s; see that reclaim.service "
                           "runs and has [agent_door] socket = %s"
                           % (self.path, problem or type(problem).__name__, self.path)) from problem
        finally:
            connection.close()
        if len(body) > ANSWER_BYTES_MAX:
            raise DoorError("the answer of %s is longer than %d bytes" %
                            (self.path, ANSWER_BYTES_MAX))
        if response.status >= 500:
            raise DoorAway("Reclaim's worker cannot tell now: %s" % _said(body))
        if response.status >= 400:
            raise DoorError("Reclaim's worker refuses %s %s: %s" % (method, target, _said(body)))
        try:
            answer = json.loads(body)
        except ValueError as problem:
            raise DoorError("the answer of %s is not JSON" % self.path) from problem
        if not isinstance(answer, dict):
            raise DoorError("the answer of %s is no object" % self.path)
        return answer
