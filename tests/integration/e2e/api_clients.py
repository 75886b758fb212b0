"""The device API's callers in the tests: curl, the OpenStack SDK and the openstack client, none of
which we wrote."""
import json
import os
import socket
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def clean_environment(**more):
    """Without a proxy and without whatever cloud the caller's shell speaks to."""
    kept = {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith("OS_")}
    return {**kept, **more}


class Answer:
    def __init__(self, text):
        head, _, self.body = text.partition("\r\n\r\n")
        lines = head.split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()

    def json(self):
        return json.loads(self.body)


def curl(url, *words, method="GET", token=None, version=None, body=None, check=True):
    """One request by curl; what it said, or with check=False perhaps None."""
    command = ["curl", "-s", "-i", "--max-time", "60", "--http1.1", "-X", method, *words]
    if token:
        command += ["-H", "X-Auth-Token: " + token]
    if version:
        command += ["-H", "OpenStack-API-Version: accelerator " + version]
    if body is not None:
        command += ["-H", "Expect:", "-H", "Content-Type: application/json", "--data-binary", "@-"]
    # Bytes, for the ends of lines are HTTP's.
    done = subprocess.run([*command, url], input=body.encode() if body is not None else None,
                          capture_output=True, timeout=90, check=False, env=clean_environment())
    text = done.stdout.decode()
    if not text.startswith("HTTP/"):
        if check:
            raise AssertionError("curl %s ended with %d: %s%s" % (
                url, done.returncode, done.stderr.decode(), text[:500]))
        return None
    return Answer(text)


def credentials(endpoints, user="reclaim"):
    """OS_* of one of the stack's users."""
    return {"OS_AUTH_URL": endpoints["auth_url"], "OS_USERNAME": user,
            "OS_PASSWORD": endpoints["service_password"], "OS_PROJECT_NAME": "service",
            "OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default",
            "OS_IDENTITY_API_VERSION": "3", "OS_REGION_NAME": endpoints["region"],
            "OS_INTERFACE": "public"}


CLOUD = """\
clouds:
  reclaim:
    auth:
      auth_url: {auth_url}
      username: {service_username}
      password: {service_password}
      project_name: service
      user_domain_name: Default
      project_domain_name: Default
    region_name: {region}
    accelerator_endpoint_override: {url}
"""


def write_cloud(path, endpoints, url):
    """A clouds.yaml whose cloud `reclaim` has the device API in Cyborg's place: the openstack
    client takes an endpoint override from there only."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
              encoding="utf-8") as file:
        file.write(CLOUD.format(url=url, **endpoints))
    return {"OS_CLIENT_CONFIG_FILE": path}


def sdk(endpoints, *words, user="reclaim", **environment):
    done = subprocess.run([PYTHON, os.path.join(HERE, "sdk_client.py"), *words], text=True,
                          capture_output=True, timeout=120, check=False,
                          env=clean_environment(**credentials(endpoints, user), **environment))
    if done.returncode != 0:
        raise AssertionError("the SDK ended with %d: %s" % (done.returncode, done.stderr[-3000:]))
    return json.loads(done.stdout)


def openstack_client(endpoints, *words, user="reclaim", **environment):
    """(exit code, output, errors) of `openstack WORDS`."""
    done = subprocess.run([PYTHON, "/usr/bin/openstack", *words], text=True, capture_output=True,
                          timeout=120, check=False,
                          env=clean_environment(**credentials(endpoints, user), **environment))
    return done.returncode, done.stdout, done.stderr
