"""What Nova and an operator do over HTTP: make tokens, users, resource providers, allocations."""
import http.client
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# Our services are on loopback; an http_proxy of the environment has no business there.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
TRIES = 5


class HttpError(Exception):
    def __init__(self, method, url, status, body):
        super().__init__("%s %s: %d %s" % (method, url, status, body[:500]))
        self.status = status
        # Somebody else was quicker, or the service has a moment of weakness.
        self.passing = status >= 500 or (status == 409 and "placement.concurrent_update" in body)


def patiently(attempt):
    """What attempt() returns. It is made again where a client of a cloud would ask again, and each
    time says so on standard error: test.sh collects these lines."""
    for number in range(1, TRIES):
        try:
            return attempt()
        except HttpError as error:
            if not error.passing:
                raise
            problem = error
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            problem = error
        print("retried (%d of %d): %s" % (number, TRIES - 1, " ".join(str(problem).split())),
              file=sys.stderr, flush=True)
        time.sleep(0.1 * 2 ** number)
    return attempt()


def call(method, url, body=None, token=None, microversion=None, service_token=None):
    """One request; returns (headers, decoded body or None); HttpError for a status over 299."""
    headers = {"Accept": "application/json"}
    if token:
        headers["X-Auth-Token"] = token
    if service_token:
        headers["X-Service-Token"] = service_token
    if microversion:
        # Placement's, unless it names another service ("compute 2.90").
        headers["OpenStack-API-Version"] = (
            microversion if " " in microversion else "placement " + microversion)
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    try:
        with OPENER.open(request, timeout=60) as answer:
            text = answer.read().decode()
            return answer.headers, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        raise HttpError(method, url, error.code, error.read().decode(errors="replace")) from None


def log_in(auth_url, user, password, project):
    domain = {"id": "default"}
    who = {"auth": {
        "identity": {"methods": ["password"],
                     "password": {"user": {"name": user, "password": password, "domain": domain}}},
        "scope": {"project": {"name": project, "domain": domain}}}}
    headers, body = patiently(lambda: call("POST", auth_url + "/auth/tokens", who))
    return headers["X-Subject-Token"], body["token"]


class Keystone:
    def __init__(self, auth_url, token):
        self.url, self.token = auth_url, token

    def make(self, kind, plural=None, **fields):
        url = "%s/%s" % (self.url, plural or kind + "s")
        return call("POST", url, {kind: fields}, self.token)[1][kind]["id"]

    def find(self, kind, name):
        found = self.all_named(kind, name)
        if not found:
            raise LookupError("Keystone at %s has no %s \"%s\"" % (self.url, kind, name))
        return found[0]["id"]

    def find_or_make(self, kind, name):
        found = self.all_named(kind, name)
        return found[0]["id"] if found else self.make(kind, name=name)

    def all_named(self, kind, name):
        url = "%s/%ss?name=%s" % (self.url, kind, urllib.parse.quote(name))
        return call("GET", url, token=self.token)[1][kind + "s"]

    def grant(self, project_id, user_id, role_id):
        call("PUT", "%s/projects/%s/users/%s/roles/%s" % (self.url, project_id, user_id, role_id),
             token=self.token)

    def application_credential(self, user_id, name, secret):
        """With the user's own token: nobody else may make one."""
        return call("POST", "%s/users/%s/application_credentials" % (self.url, user_id),
                    {"application_credential": {"name": name, "secret": secret}},
                    self.token)[1]["application_credential"]["id"]


class Placement:
    """As Nova's report client speaks to it: what is refused because somebody else wrote meanwhile
    is read and written again."""

    def __init__(self, url, token):
        self.url, self.token = url, token

    def call(self, method, path, body=None, microversion="1.28"):
        """One request that may be sent twice."""
        return patiently(lambda: self.once(method, path, body, microversion))

    def once(self, method, path, body=None, microversion="1.28"):
        return call(method, self.url + path, body, self.token, microversion)[1]

    def last_modified(self, path):
        return patiently(lambda: call("GET", self.url + path, token=self.token,
                                      microversion="1.28"))[0]["Last-Modified"]

    def provider(self, name):
        rows = self.call("GET", "/resource_providers?name=" + urllib.parse.quote(name, safe=""))
        rows = rows["resource_providers"]
        return rows[0] if rows else None

    def make_provider(self, name, parent=None, uuid=None):
        body = {"name": name}
        if uuid:
            body["uuid"] = uuid
        if parent:
            body["parent_provider_uuid"] = parent
        return patiently(lambda: self.provider(name) or
                         self.once("POST", "/resource_providers", body))

    def generation(self, uuid):
        return self.call("GET", "/resource_providers/" + uuid)["generation"]

    def put_inventory(self, uuid, resource_class, **fields):
        """The whole inventory, as Nova does; what is not named, Placement sets to its default."""
        return patiently(lambda: self.once(
            "PUT", "/resource_providers/%s/inventories" % uuid,
            {"resource_provider_generation": self.generation(uuid),
             "inventories": {resource_class: fields}}))

    def put_traits(self, uuid, traits):
        patiently(lambda: self.once(
            "PUT", "/resource_providers/%s/traits" % uuid,
            {"resource_provider_generation": self.generation(uuid), "traits": traits}))

    def allocate(self, consumer, uuid, resource_class):
        """A new consumer's, and a processor of the host's root provider, as an instance has; one
        that has it already, by an answer that was lost, is left so."""
        root = self.call("GET", "/resource_providers/" + uuid)["root_provider_uuid"]
        if "VCPU" not in self.call("GET", "/resource_providers/%s/inventories" % root)[
                "inventories"]:
            self.put_inventory(root, "VCPU", total=1000)

        def attempt():
            if uuid in self.once("GET", "/allocations/" + consumer)["allocations"]:
                return
            self.once("PUT", "/allocations/" + consumer, {
                "allocations": {root: {"resources": {"VCPU": 1}},
                                uuid: {"resources": {resource_class: 1}}},
                "consumer_generation": None, "project_id": "demo", "user_id": "demo"})
        patiently(attempt)

    def move(self, consumer, to):
        """What one consumer has to another, in one request: Nova's move_allocations."""
        def attempt():
            had = self.once("GET", "/allocations/" + consumer)
            if not had["allocations"]:
                return  # an answer was lost
            self.once("POST", "/allocations", {
                consumer: {"allocations": {}, "project_id": had["project_id"],
                           "user_id": had["user_id"],
                           "consumer_generation": had["consumer_generation"]},
                to: {"allocations": {provider: {"resources": each["resources"]}
                                     for provider, each in had["allocations"].items()},
                     "project_id": had["project_id"], "user_id": had["user_id"],
                     "consumer_generation": None}})
        patiently(attempt)

    def free(self, consumer):
        """That it has none already is an error, unless it was a lost answer that took them."""
        def attempt():
            try:
                self.once("DELETE", "/allocations/" + consumer)
            except HttpError as error:
                if error.status != 404 or not asked:
                    raise
            finally:
                asked.append(True)
        asked = []
        patiently(attempt)

    def tree(self, host):
        root = self.provider(host)
        if not root:
            return []
        return self.call("GET", "/resource_providers?in_tree=" + root["uuid"])["resource_providers"]
