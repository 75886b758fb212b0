#!/usr/bin/python3
"""A worker that speaks TLS with Redis cleans a drive, and tells when the certificates expire. Only
where hiredis has TLS: Debian 13."""
import json
import os
import ssl
import subprocess
import unittest

from api_clients import free_port
from case import DELETED, FIRST, EndToEnd, tear_down_services
from services import STACK, run
from waiting import wait_until

METRIC = "reclaim_redis_tls_not_after_timestamp_seconds"


def tearDownModule():
    tear_down_services()


class RedisTls(EndToEnd):
    """The port without TLS stays, for the test's own redis-cli."""

    def tls_setting(self):
        made = self.setting(start=False)
        self.folder = os.path.join(made.folder, "tls")
        os.makedirs(self.folder)
        run([os.path.join(STACK, "redis_tls.sh"), self.folder])
        self.port = free_port()
        self.configure(made, "tls-cert-file", self.file("server.pem"),
                       "tls-key-file", self.file("server.key"),
                       "tls-ca-cert-file", self.file("ca.pem"), "tls-auth-clients", "yes",
                       "tls-port", str(self.port))
        self.addCleanup(self.configure, made, "tls-port", "0")
        made.worker.write_config(
            "[redis]\nurl = rediss://%s@127.0.0.1:%d/%d\ntls_ca_file = %s\ntls_cert_file = %s\n"
            "tls_key_file = %s\n" % (made.worker.settings["redis_user"], self.port, made.db,
                                     self.file("ca.pem"), self.file("client.pem"),
                                     self.file("client.key")))
        return made

    def configure(self, made, *words):
        self.assertEqual(made.services.redis("config", "set", *words), "OK")

    def file(self, name):
        return os.path.join(self.folder, name)

    def end_of(self, certificate):
        """In seconds since the epoch, as openssl says it."""
        said = run(["openssl", "x509", "-noout", "-enddate", "-in", self.file(certificate)])
        return ssl.cert_time_to_seconds(said.strip().partition("=")[2])

    def told(self, made):
        """{certificate: when it expires}, as the worker's metrics have it."""
        return {of[1]: int(numbers[0]) for of, numbers in made.worker.measured().items()
                if of[0] == METRIC}

    def connections(self, made):
        """The server's ends of the worker's connections."""
        lines = made.services.redis("client", "list").splitlines()
        user = made.worker.settings["redis_user"].partition(":")[0]
        return [line for line in lines if " user=%s " % user in line]

    def test_a_drive_is_given_back_and_the_certificates_ends_are_told(self):
        made = self.tls_setting()
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        found = self.connections(made)
        self.assertTrue(found)
        for line in found:
            self.assertIn(" laddr=127.0.0.1:%d " % self.port, line)
        self.delete(made)
        self.assert_released(made)
        self.assertEqual(made.certificate(FIRST)["instance"], DELETED)

        ends = {"server": self.end_of("server.pem"), "client": self.end_of("client.pem")}
        wait_until(lambda: self.told(made) == ends, "both ends are told: %s" % ends)
        self.check_doctor(made)
        self.check_a_renewed_certificate(made, ends)

    def check_doctor(self, made):
        _, out, err = made.worker.command("doctor", "-f", "json")
        row, = [row for row in json.loads(out) if row["Check"] == "redis tls"]
        self.assertEqual(row["Result"], "warning", err)  # both certificates are of two days
        self.assertIn("verified by the authorities of " + self.file("ca.pem"), row["Detail"])

    def check_a_renewed_certificate(self, made, ends):
        """As docs/metrics.md says of ReclaimRedisTlsExpires."""
        subprocess.run(["openssl", "x509", "-req", "-in", self.file("server.csr"), "-CA",
                        self.file("ca.pem"), "-CAkey", self.file("ca.key"), "-extfile",
                        self.file("server.ext"), "-days", "30", "-out", self.file("renewed.pem")],
                       check=True, stderr=subprocess.DEVNULL)
        self.configure(made, "tls-cert-file", self.file("renewed.pem"),
                       "tls-key-file", self.file("server.key"))
        user = made.worker.settings["redis_user"].partition(":")[0]
        self.assertGreater(int(made.services.redis("client", "kill", "user", user)), 0)
        wanted = {**ends, "server": self.end_of("renewed.pem")}
        wait_until(lambda: self.told(made) == wanted, "the renewed one's end is told: %s" % wanted)
        made.worker.must_run()


if __name__ == "__main__":
    unittest.main(verbosity=2)
