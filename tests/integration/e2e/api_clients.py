"""The device API's callers in the tests: curl, the OpenStack SDK and the openstack client, none of
which we wrote."""
import contextlib
import json
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile

import yaml

from waiting import DEADLINE_S

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
DOCUMENTED = os.path.join(HERE, "../../../docs/device-api-clients.md")
PACKAGE = os.path.join(HERE, "../../../clients/python")
PACKAGE_DOCUMENTED = os.path.join(PACKAGE, "README.md")

def free_port():
    """One that no connection is given by the kernel before a server binds it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first = int(file.read().split()[0])
    while True:
        port = random.randrange(10_000, max(first, 20_000))
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


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
    command = ["curl", "-s", "-i", "--max-time", str(DEADLINE_S), "--http1.1", "-X", method, *words]
    if token:
        command += ["-H", "X-Auth-Token: " + token]
    if version:
        command += ["-H", "OpenStack-API-Version: accelerator " + version]
    if body is not None:
        command += ["-H", "Expect:", "-H", "Content-Type: application/json", "--data-binary", "@-"]
    # Bytes, for the ends of lines are HTTP's.
    done = subprocess.run([*command, url], input=body.encode() if body is not None else None,
                          capture_output=True, timeout=DEADLINE_S, check=False,
                          env=clean_environment())
    text = done.stdout.decode()
    if not text.startswith("HTTP/"):
        if check:
            raise AssertionError("curl %s ended with %d: %s%s" % (
                url, done.returncode, done.stderr.decode(), text[:500]))
        return None
    return Answer(text)


def credentials(endpoints, user="operator"):
    """OS_* of one of the stack's users."""
    return {"OS_AUTH_URL": endpoints["auth_url"], "OS_USERNAME": user,
            "OS_PASSWORD": endpoints["service_password"], "OS_PROJECT_NAME": "service",
            "OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default",
            "OS_IDENTITY_API_VERSION": "3", "OS_REGION_NAME": endpoints["region"],
            "OS_INTERFACE": "internal"}


def install_package(folder):
    """reclaim-openstack, installed below a folder as its README says, without a network; where that
    is, for PYTHONPATH."""
    source, target = os.path.join(folder, "source"), os.path.join(folder, "site")
    shutil.copytree(PACKAGE, source)  # pip builds where the source is
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--root-user-action", "ignore",
                    "--no-build-isolation", "--no-deps", "--no-index", "--target", target, source],
                   check=True, env=clean_environment())
    return target


def write_cloud(path, endpoints, user="operator", documented=DOCUMENTED, name="reclaim", **more):
    """The clouds.yaml that the documentation tells operators to write, with this stack's Keystone
    and one of its users in it; the environment, as documented, in which clients find its cloud
    `name`."""
    with open(documented, encoding="utf-8") as file:
        text = file.read()
    clouds = yaml.safe_load(re.search(r"```yaml\n(clouds:\n.*?)```", text, re.DOTALL).group(1))
    cloud = clouds["clouds"][name]
    cloud["auth"].update(auth_url=endpoints["auth_url"], username=user, project_name="service",
                         password=endpoints["service_password"])
    cloud.update(region_name=endpoints["region"], **more)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
              encoding="utf-8") as file:
        yaml.safe_dump(clouds, file)
    exported = re.findall(r"^export (OS_\w+)=(\S+)$", text, re.MULTILINE)
    return {"OS_CLIENT_CONFIG_FILE": path, **dict(exported)}


def run_client(command, endpoints, user, environment):
    """As a user of the documented clouds.yaml, unless an environment says otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment or {"OS_CLOUD": "reclaim", **write_cloud(
            os.path.join(folder, "clouds.yaml"), endpoints, user)}
        return subprocess.run([PYTHON, *command], text=True, capture_output=True,
                              timeout=DEADLINE_S, check=False, env=clean_environment(**environment))


def sdk(endpoints, *words, user="operator", **environment):
    done = run_client([os.path.join(HERE, "sdk_client.py"), *words], endpoints, user, environment)
    if done.returncode != 0:
        raise AssertionError("the SDK ended with %d: %s" % (done.returncode, done.stderr[-3000:]))
    return json.loads(done.stdout)


def openstack_client(endpoints, *words, user="operator", **environment):
    """(exit code, output, errors) of `openstack WORDS`."""
    done = run_client(["/usr/bin/openstack", *words], endpoints, user, environment)
    return done.returncode, done.stdout, done.stderr
