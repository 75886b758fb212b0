"""`reclaim api` as it runs on a node without drives: it has Redis, Keystone and no privilege."""
import os

from api_clients import free_port
from worker import Process

CONFIG = """\
[redis]
url = redis://{redis_user}@127.0.0.1:{redis_port}/{db}
"""

SETTINGS = """\
[api]
bind = 127.0.0.1:{port}
[keystone_authtoken]
auth_type = password
auth_url = {auth_url}
username = {service_username}
password = {service_password}
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = {region}
"""

# What root of a test may that the user of reclaim-api.service may not.
WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


class ApiNode(Process):
    def __init__(self, programs, services, folder, db=0, port=None):
        super().__init__(programs, services, folder, "api.conf")
        self.db = db
        self.redis_user = services.redis_user_of_api()
        self.port = port or free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.write_config()

    def write_config(self, more="", settings=SETTINGS):
        """`settings`: where it listens and whose tokens it takes."""
        self.write(CONFIG.format(redis_user=self.redis_user,
                                 redis_port=self.services.redis_port(), db=self.db) +
                   settings.format(port=self.port, **self.services.endpoints) + more)

    def start(self, **more):
        self.launch("api", before=WITHOUT_PRIVILEGES if os.geteuid() == 0 else (), **more)
        self.wait_log(r"reclaim\.service.* ready$")
        self.wait_log(r"connected to Redis$")
        return self
