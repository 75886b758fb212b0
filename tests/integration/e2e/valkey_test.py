#!/usr/bin/python3
"""A worker on valkey-server in redis-server's place cleans a drive. Only where Debian has it."""
import json
import os
import shutil
import sys
import unittest

from case import DELETED, FIRST, EndToEnd, tear_down_services

SERVER = shutil.which("valkey-server")


def tearDownModule():
    tear_down_services()


class Valkey(EndToEnd):
    def test_a_drive_is_given_back(self):
        made = self.setting()
        self.assertRegex(made.services.redis("info", "server"), r"(?m)^valkey_version:")
        self.delete(made)
        self.assert_released(made)
        self.assertEqual(made.certificate(FIRST)["instance"], DELETED)
        code, out, err = made.worker.command("certificate", "verify", "--all")
        self.assertEqual(code, 0, out + err)
        _, out, err = made.worker.command("doctor", "-f", "json")
        results = {row["Check"]: row["Result"] for row in json.loads(out)}
        self.assertEqual(results["redis"], "ok", out + err)


if __name__ == "__main__":
    if not SERVER:
        print("skipped: no valkey-server; Debian 13 and bookworm-backports have it")
        sys.exit(77)
    os.environ["RECLAIM_TEST_REDIS_SERVER"] = SERVER
    unittest.main(verbosity=2)
