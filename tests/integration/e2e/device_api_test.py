#!/usr/bin/python3
"""The device API, answered by a process without drives or privileges, and asked by what nobody here
wrote: the OpenStack SDK, the openstack client with Cyborg's plugin, and curl, with tokens of a real
Keystone."""
import contextlib
import datetime
import filecmp
import glob
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import unittest
from uuid import UUID, uuid5

import cyborg_said
from api_clients import (PACKAGE_DOCUMENTED, credentials, curl, free_port, install_package,
                         openstack_client, sdk, write_cloud)
from api_node import ApiNode
from case import FIRST, LONG_MS, SECOND, services, tear_down_services
from cyborg_case import CyborgEndToEnd, new_uuid
from placement_door import PlacementDoor
from services import openstack_api, openstack_tls
from service_process import die_with_parent  # stack/, which services.py has put on the path
from waiting import DEADLINE_S, wait_until
from worker import EmulatedHost, Programs, Worker

OF_DEVICES = UUID("5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31")  # state/base/uuid.cpp
GPU = "0000:05:00.0"
PORTS = {}


def setUpModule():
    # As documented, and no more: Nova needs the entry `accelerator` for Cyborg itself.
    PORTS["api"] = free_port()
    services().register_endpoint("accelerator-cleaning", "http://127.0.0.1:%d" % PORTS["api"])


def tearDownModule():
    tear_down_services()


def open_files(pid):
    """What a process has open; it may close some of it in the meantime."""
    found = set()
    for entry in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink("/proc/%d/fd/%s" % (pid, entry)))
    return found


def listening(pid):
    """The sockets that a process listens at: ADDRESS:PORT as the kernel writes it, or a path."""
    inodes = open_files(pid)
    found = []
    for table, state, inode, name, wanted in (("tcp", 3, 9, 1, "0A"), ("tcp6", 3, 9, 1, "0A"),
                                              ("unix", 3, 6, 7, "00010000")):
        with open("/proc/%d/net/%s" % (pid, table), encoding="ascii") as file:
            rows = [line.split() for line in file.read().splitlines()[1:]]
        found += [row[name] if len(row) > name else "" for row in rows
                  if row[state] == wanted and "socket:[%s]" % row[inode] in inodes]
    return found


def keys_of(microversion):
    keys = {"uuid", "type", "vendor", "model", "std_board_info", "vendor_board_info", "hostname",
            "created_at", "updated_at", "links"}
    minor = int(microversion.split(".")[1])
    return keys | ({"status"} if minor >= 3 else set()) | \
        ({"device_state"} if minor >= 5 else set()) | \
        ({"cyborg_uuid", "held", "clean_step", "progress", "tags", "waiting_for", "last_error"}
         if minor >= 6 else set()) | \
        ({"percentage_used", "available_spare"} if minor >= 7 else set())


class DeviceApi(CyborgEndToEnd):
    def serving(self, drives=1, **settings):
        made = self.cyborg(drives=drives, **settings)
        self.answer(made)
        return made

    def answer(self, made, port=None, start=True, more="", name="api", **settings):
        """A node that answers for the fleet of that Redis; the ones that clients know, unless a
        port is given."""
        node = ApiNode(Programs(), made.services, os.path.join(made.folder, name), db=made.db,
                       port=port or PORTS["api"])
        node.write_config(more, **settings)
        self.addCleanup(self.end, node)
        self.url = node.url
        self.token = services().token()
        self.node = node.start() if start else node
        return self.node

    def end(self, node):
        """Under AddressSanitizer that is where leaks are told."""
        try:
            if node.process and node.process.poll() is None:
                self.assertEqual(node.stop(), 0, node.log_text()[-3000:])
        finally:
            node.kill()

    def uuid_of(self, made, address=FIRST):
        return made.worker.field(address, "uuid")

    def error_device(self, made, address=FIRST):
        """A tenancy that ends in an erase that did not erase."""
        made.host.set(address, lies_keeps_data=1)
        instance = self.bind(made, address=address)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made, address)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        made.worker.wait_field(address, "device_state", "error")
        made.host.set(address, lies_keeps_data=0)
        return instance

    def get(self, path, **more):
        return curl(self.url + path, **{"token": self.token, **more})

    def wait_state(self, uuid, state):
        wait_until(lambda: self.get("/v2/devices/" + uuid, version="2.5").json()["device_state"] ==
                   state, "the API shows %s" % state)


    def bind_arq(self, made, arq, managed=None):
        """Bound, as a notifier of Cyborg's would say."""
        cyborg_said.notify(made.services, "accelerator_request.bind.end", cyborg_said.arq(
            arq, made.name, FIRST, new_uuid(), made.providers[FIRST], managed=managed))
        wait_until(lambda: arq in made.arqs(), "the ARQ is known")

    def hearing_arqs(self):
        with services().bus() as connection:
            connection.declare_exchange("cyborg")
        return self.serving(more="[listener]\nexchanges = nova,cyborg\n")


class RealClients(DeviceApi):
    def test_the_sdk_lists_shows_filters_and_cleans(self):
        made = self.serving(drives=2)
        instance = self.error_device(made)
        uuid = self.uuid_of(made)
        endpoints = services().endpoints

        devices = sdk(endpoints, "devices")
        self.assertEqual({device["uuid"] for device in devices},
                         {uuid, self.uuid_of(made, SECOND)})
        shown = sdk(endpoints, "device", uuid)
        self.assertEqual((shown["type"], shown["vendor"], shown["model"], shown["hostname"]),
                         ("NVME", "144d", "a80a", made.name))
        self.assertEqual(json.loads(shown["std_board_info"]),
                         {"product_id": "a80a", "pci_address": FIRST})
        for filters, count in ((("hostname=" + made.name,), 2), (("hostname=elsewhere",), 0),
                               (("type=NVME", "vendor=144d"), 2), (("vendor=8086",), 0),
                               (("type=GPU",), 0)):
            self.assertEqual(len(sdk(endpoints, "devices", *filters)), count, filters)
        self.assertEqual(sdk(endpoints, "device", new_uuid())["status"], 404)
        self.assertEqual(sdk(endpoints, "devices", user="nobody")["status"], 403)
        self.assertEqual(sdk(endpoints, "clean", uuid, user="nobody")["status"], 403)

        self.assertEqual(made.worker.field(FIRST, "device_state"), "error")
        self.assertEqual(sdk(endpoints, "clean", uuid), {"status": 202, "body": ""})
        self.assert_released(made, sanitizes=2)
        self.assert_certified(made, instance)
        self.assertEqual(sdk(endpoints, "clean", uuid)["status"], 409)

    def test_the_openstack_client_lists_and_shows(self):
        made = self.hearing_arqs()
        uuid = self.uuid_of(made)
        endpoints = services().endpoints

        def client(*words, **more):
            code, out, err = openstack_client(endpoints, "accelerator", *words, "-f", "json",
                                              **more)
            self.assertEqual(code, 0, err)
            return json.loads(out)
        rows = client("device", "list")
        self.assertEqual([(row["uuid"], row["type"], row["hostname"]) for row in rows],
                         [(uuid, "NVME", made.name)])
        self.assertEqual(client("device", "show", uuid)["vendor"], "144d")
        arq = new_uuid()
        self.bind_arq(made, arq)
        self.assertEqual([row["uuid"] for row in client("arq", "list")], [arq])
        shown = client("arq", "show", arq)
        self.assertEqual((shown["state"], shown["hostname"], shown["attach_handle_info"]["bus"]),
                         ("Bound", made.name, "01"))
        code, _, err = openstack_client(endpoints, "accelerator", "device", "show", new_uuid())
        self.assertEqual(code, 1)
        self.assertIn("not found", err)

    def test_the_clients_find_it_beside_cyborgs_own_entry_by_an_endpoint_override(self):
        made = self.serving()
        endpoints = dict(services().endpoints, region="NoSuchRegion")
        override = {"OS_ACCELERATOR_ENDPOINT_OVERRIDE": self.url, **credentials(endpoints)}
        self.assertEqual([device["uuid"] for device in sdk(endpoints, "devices", **override)],
                         [self.uuid_of(made)])
        cloud = write_cloud(os.path.join(made.folder, "clouds.yaml"), endpoints,
                            accelerator_endpoint_override=self.url)
        code, out, err = openstack_client(endpoints, "--os-cloud", "reclaim", "accelerator",
                                          "device", "list", "-f", "value", "-c", "uuid", **cloud)
        self.assertEqual((code, out.strip()), (0, self.uuid_of(made)), err)


class OurPackage(DeviceApi):
    """reclaim-openstack beside python-cyborgclient, in Debian's own openstack client."""

    def client(self, made):
        """Runs `openstack accelerator device WORDS`: (exit code, output, errors)."""
        folder = os.path.join(made.folder, "client")
        os.makedirs(folder)
        endpoints = services().endpoints
        environment = {"OS_CLOUD": "prod", "PYTHONPATH": install_package(folder),
                       "HOME": folder, **write_cloud(
                           os.path.join(folder, "clouds.yaml"), endpoints,
                           documented=PACKAGE_DOCUMENTED, name="prod")}
        return lambda *words: openstack_client(endpoints, "accelerator", "device", *words,
                                               **environment)

    def answer_of(self, client, *words):
        code, out, err = client(*words, "-f", "json")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def test_it_lists_cleans_and_waits_aborts_and_saves_the_certificate(self):
        made = self.serving()
        instance = self.error_device(made)
        uuid, client = self.uuid_of(made), self.client(made)
        (row,) = self.answer_of(client, "list", "--long", "--state", "error")
        self.assertEqual((row["uuid"], row["device_state"], row["held"]), (uuid, "error", False))
        self.assertTrue(row["last_error"])

        # It fails again, perhaps before the first look.
        made.host.set(FIRST, lies_keeps_data=1)
        code, _, err = client("clean", uuid, "--wait")
        self.assertEqual(code, 3, err)
        self.assertIn(uuid + " is in error: ", err)
        made.host.set(FIRST, lies_keeps_data=0)

        # Stopped, and cleaned at last.
        made.host.set(FIRST, duration_ms=LONG_MS)
        self.assertEqual(client("clean", "%s/%s" % (made.name, FIRST))[0], 0)
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the drive sanitizes")
        code, _, err = client("abort", uuid, "--wait")
        self.assertEqual((code, made.worker.field(FIRST, "device_state")), (0, "error"), err)
        self.finish_sanitize(made)
        made.host.set(FIRST, duration_ms=300)
        code, _, err = client("clean", uuid, "--wait")
        self.assertEqual(code, 0, err)
        self.assertEqual((made.worker.field(FIRST, "device_state"), made.reserved(FIRST)),
                         ("available", 0))
        self.assert_certified(made, instance)

        (row,) = wait_until(lambda: self.answer_of(client, "certificate", "list", "--device", uuid),
                            "the certificate is listed")
        # A real Keystone knows the name. What had the drive was of another project.
        code, out, err = client("certificate", "list", "--project", "service", "--from",
                                "2026-10-01", "--to", "2126-10-31", "-f", "csv")
        self.assertEqual((code, out.splitlines()[1:]), (0, []), err)
        self.assertRegex(err, "the project service: its id is [0-9a-f]{32}")
        saved = os.path.join(made.folder, "saved.json")
        code, _, err = client("certificate", "save", row["id"], "--file", saved)
        self.assertEqual(code, 0, err)
        (kept,) = glob.glob(os.path.join(made.worker.settings["state"],
                                      "certificates", "*%s.json" % row["id"]))
        self.assertTrue(filecmp.cmp(saved, kept, shallow=False), err)
        code, _, err = client("clean", uuid)
        self.assertEqual(code, 1)
        self.assertIn("it is clean already (HTTP 409, req-", err)


class EveryCode(DeviceApi):
    def test_each_listed_code_with_a_useful_body(self):
        made = self.serving(drives=2, survey_s=5)
        self.error_device(made)
        broken, free = self.uuid_of(made), self.uuid_of(made, SECOND)
        nobody = services().token("nobody")

        def clean(uuid, **more):
            return curl("%s/v2/devices/%s/clean" % (self.url, uuid),
                        **{"method": "POST", "version": "2.5", "token": self.token, **more})

        def refused(answer, status, *said):
            self.assertEqual(answer.status, status, answer.body)
            self.assertEqual(answer.headers["content-type"].split(";")[0], "application/json")
            self.assertRegex(answer.headers["x-openstack-request-id"], "^req-")
            for text in said:
                self.assertIn(text, answer.body)
            self.assertGreater(len(answer.body), 20)
        answer = self.get("/v2/devices")
        self.assertEqual(answer.status, 200)
        refused(self.get("/v2/devices", token=None), 401)
        self.assertIn("Keystone uri=", self.get("/v2/devices", token=None).headers[
            "www-authenticate"])
        refused(self.get("/v2/devices", token="gAAAAAnothing"), 401)
        refused(clean(broken, token=nobody), 403, "cyborg:device:clean")
        refused(self.get("/v2/devices/%s/cleaning/steps" % broken, version="2.5", token=nobody),
                403, "cyborg:device:cleaning_steps")
        refused(clean(new_uuid()), 404)
        refused(self.get("/v2/devices/" + new_uuid()), 404)
        refused(self.get("/v2/nothing"), 404)
        refused(curl(self.url + "/v2/devices", method="PUT", token=self.token), 405)
        refused(self.get("/v2/devices", version="9.9"), 406, "2.7")
        refused(clean(broken, version="2.4"), 406, "2.5")
        refused(clean(free), 409, "available")
        taken = self.bind(made, address=SECOND)
        made.tell_nova(taken, "create.end")
        made.worker.wait_field(SECOND, "device_state", "allocated")
        wait_until(lambda: clean(free).body.find("allocated") >= 0, "the view is renewed")
        refused(clean(free), 409, "allocated")
        made.host.set(FIRST, duration_ms=LONG_MS)
        self.assertEqual(clean(broken).status, 202)
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the drive sanitizes")
        self.wait_state(broken, "cleaning")
        refused(clean(broken), 409, "cleaning")
        refused(curl(self.url + "/v2/devices/%s/clean" % broken, method="POST", token=self.token,
                     version="2.5", body="x" * 100_000), 413)
        self.finish_sanitize(made)
        self.wait_state(broken, "available")
        made.free(taken)

    def test_what_is_no_drive_and_what_no_worker_can_clean_is_400(self):
        made = self.cyborg(registered=False, start=False)
        self.plug_in_gpu(made)
        made.register(FIRST)
        made.register(GPU, vendor="10de", product="25b6")
        made.worker.write_config(
            '[pci]\npassthrough_whitelist = {"vendor_id": "10de", "product_id": "25b6"}\n')
        made.worker.start()
        self.answer(made)
        made.worker.wait_field(GPU, "type", "GPU")

        def clean(uuid):
            return curl("%s/v2/devices/%s/clean" % (self.url, uuid), method="POST", version="2.5",
                        token=self.token)
        answer = clean(self.uuid_of(made, GPU))
        self.assertEqual(answer.status, 400, answer.body)
        self.assertIn("GPU", answer.body)
        # A host whose worker has not been heard of for long.
        made.worker.wait_field(FIRST, "device_state", "available")
        gone = self.copy_to_dead_host(made)
        answer = wait_until(lambda: (lambda seen: seen if seen.status != 404 else None)(
            clean(gone)), "the other host is seen")
        self.assertEqual(answer.status, 400, answer.body)
        self.assertIn("compute-gone", answer.body)

    def plug_in_gpu(self, made):
        """A PCI function of the class of a display, without a driver."""
        folder = os.path.join(made.host.root, "sys/bus/pci/devices", GPU)
        os.makedirs(folder)
        for name, text in (("vendor", "0x10de"), ("device", "0x25b6"), ("class", "0x030200")):
            made.host.write(os.path.join("sys/bus/pci/devices", GPU, name), text + "\n")

    def copy_to_dead_host(self, made):
        """A device in error of a host whose last heartbeat is an hour old, as Redis would have it;
        its UUID."""
        redis, key = made.services.redis, "reclaim:{%s}:device:%s"
        fields = json.loads(redis("--json", "hgetall", key % (made.name, FIRST), db=made.db))
        if isinstance(fields, list):
            fields = dict(zip(fields[::2], fields[1::2]))
        fields.update(host="compute-gone", device_state="error", stage="error",
                      uuid=str(uuid5(OF_DEVICES, "compute-gone/" + FIRST)))
        for name, value in fields.items():
            redis("hset", key % ("compute-gone", FIRST), name, value, db=made.db)
        redis("sadd", "reclaim:{compute-gone}:devices", FIRST, db=made.db)
        beat = json.loads(redis("get", "reclaim:{%s}:alive" % made.name, db=made.db))
        for name, value in beat.items():
            if "heartbeat" in name or name.endswith("_at"):
                beat[name] = "2026-01-01T00:00:00Z" if isinstance(value, str) else \
                    value - 3_600_000
        redis("sadd", "reclaim:hosts", "compute-gone", db=made.db)
        redis("set", "reclaim:{compute-gone}:alive", json.dumps(beat), db=made.db)
        return fields["uuid"]

    def test_without_keystone_it_is_503_and_the_cleaning_goes_on(self):
        door = self.keystone_door()
        made = self.cyborg()
        url = self.answer(made, more="[keystone_authtoken]\nregion_name = DoorRegion\n").url
        url += "/v2/devices"
        self.assertEqual(curl(url, token=services().token()).status, 200)
        door.closed = True
        fresh = services().token()
        answer = curl(url, token=fresh)
        self.assertEqual(answer.status, 503, answer.body)
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        self.assert_released(made)
        door.closed = False
        wait_until(lambda: curl(url, token=fresh).status == 200, "Keystone is back")


    def keystone_door(self):
        """Another region, in which Keystone's endpoint is a door that can be closed."""
        endpoints = services().endpoints
        door = PlacementDoor(endpoints["auth_url"].removesuffix("/v3"))
        self.addCleanup(door.shut_down)
        keystone = openstack_api.Keystone(endpoints["auth_url"], services().token("admin"))
        keystone.make("region", id="DoorRegion")
        keystone.make("endpoint", interface="internal", region="DoorRegion",
                      service_id=keystone.find("service", "keystone"), url=door.url + "/v3")
        return door


class Microversions(DeviceApi):
    def test_each_shows_what_came_with_it_and_nothing_else(self):
        made = self.serving()
        uuid = self.uuid_of(made)
        bodies = {}
        for version in ("2.0", "2.3", "2.4", "2.5", "2.6", "2.7"):
            answer = self.get("/v2/devices/" + uuid, version=version)
            bodies[version] = answer.body
            self.assertEqual(set(answer.json()), keys_of(version), version)
            self.assertEqual(answer.headers["openstack-api-version"], "accelerator " + version)
            self.assertIn("openstack-api-version", answer.headers["vary"].lower())
            listed = self.get("/v2/devices", version=version).json()["devices"]
            self.assertEqual([set(device) for device in listed], [keys_of(version)])
        self.assertEqual(bodies["2.3"], bodies["2.4"])
        self.assertEqual(self.get("/v2/devices/" + uuid).body, bodies["2.0"])
        self.assertEqual(self.get("/v2/devices/" + uuid, version="latest").body, bodies["2.7"])
        self.assertEqual(json.loads(bodies["2.5"])["device_state"], "available")
        self.assertEqual(json.loads(bodies["2.5"])["status"], "enabled")

    def test_an_arqs_managed_is_a_boolean_from_2_4_on(self):
        made = self.hearing_arqs()
        for managed, shown in ((None, True), (False, False)):
            arq = new_uuid()
            self.bind_arq(made, arq, managed=managed)
            path = "/v2/accelerator_requests/" + arq

            def info(version):
                answer = self.get(path, version=version)
                return answer.json()["attach_handle_info"] if answer.status == 200 else None
            wait_until(lambda: info("2.4"), "the API knows it")
            self.assertNotIn("managed", info("2.3"))
            self.assertIs(info("2.4")["managed"], shown)
            self.assertEqual(self.get("/v2/accelerator_requests/" + new_uuid()).status, 404)

    def test_the_cleaning_steps_are_listed_in_their_order(self):
        made = self.serving()
        answer = self.get("/v2/devices/%s/cleaning/steps" % self.uuid_of(made), version="2.5")
        self.assertEqual(answer.status, 200, answer.body)
        steps = self.get("/v2/devices/%s/cleaning/steps" % self.uuid_of(made), version="2.7").json()
        for step in answer.json()["steps"]:
            del step["args"]
            self.assertIn(step, steps)
        priorities = [step["priority"] for step in steps]
        self.assertEqual(priorities, sorted(priorities, reverse=True))
        self.assertEqual([step["step"] for step in steps],
                         ["check_health", "recover_sanitize", "reset_controller_state",
                          "reset_namespaces", "sanitize_crypto"])
        self.assertEqual({step["interface"] for step in steps}, {"nvme"})

    def test_the_version_document_needs_no_token(self):
        self.serving()
        for path, status in (("/", 300), ("/v2", 200), ("/v2/", 200)):
            answer = curl(self.url + path)
            self.assertIn(answer.status, (200, status), answer.body)
            text = answer.body
            self.assertIn('"2.0"', text)
            self.assertIn('"2.7"', text)
            self.assertIn(self.url, text)


class RemoteHand(DeviceApi):
    """What an operator does from afar: maintenance, abort, enrol, and reading certificates."""

    def order(self, uuid, name, version="2.6", **more):
        return curl("%s/v2/devices/%s/%s" % (self.url, uuid, name),
                    **{"method": "POST", "version": version, "token": self.token, **more})

    def seen(self, uuid):
        return self.get("/v2/devices/" + uuid, version="2.6").json()

    def with_order_key(self):
        """A node of the API with the master key of orders, and a host with its own."""
        made = self.cyborg(drives=2, start=False)
        path = self.order_key(made, "master", os.urandom(32).hex())
        made.worker.write_config("[security]\norder_key_file = %s\n" % path)
        code, line, err = made.worker.command("security", "order-key", "--host", made.name)
        self.assertEqual(code, 0, err)
        made.worker.write_config("[security]\norder_key_file = %s\n" %
                                 self.order_key(made, "own", line))
        made.worker.start()
        for address in made.providers:
            made.worker.wait_field(address, "device_state", "available")
        self.answer(made, more="[security]\norder_key_file = %s\n" % path)
        return made

    @staticmethod
    def order_key(made, name, text):
        path = os.path.join(made.folder, name + ".key")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_a_host_holds_its_own_key_of_orders_and_no_other(self):
        made = self.cyborg(start=False)
        master = self.order_key(made, "master", os.urandom(32).hex())
        made.worker.write_config("[security]\norder_key_file = %s\n" % master)
        code, line, err = made.worker.command("security", "order-key", "--host", "compute-9")
        self.assertEqual((code, line.split()[0]), (0, "compute-9"), err)
        for path, why in ((master, "holds the fleet's master key"),
                          (self.order_key(made, "other", line), "the key of host compute-9")):
            made.worker.write_config("[security]\norder_key_file = %s\n" % path)
            made.worker.start(wait=False)
            self.assertNotEqual(made.worker.process.wait(DEADLINE_S), 0)
            self.assertIn(why, made.worker.log_text())
            self.assertIn("reclaim security order-key --host " + made.name,
                          made.worker.log_text())
        code, _, err = made.worker.command("security", "order-key", "--host", "compute-9")
        self.assertEqual((code, "and not the fleet's master" in err), (1, True), err)

    def test_disable_and_enable_are_maintenance_of_the_worker(self):
        made = self.serving()
        uuid = self.uuid_of(made)
        for name, status, maintenance, reserved in (("disable", "maintaining", "true", 1),
                                                    ("enable", "enabled", "false", 0)):
            self.assertEqual(self.order(uuid, name, token=services().token("nobody")).status, 403)
            self.assertEqual(self.order(uuid, name, version="2.0").status, 406)
            answer = self.order(uuid, name, version="2.3")
            self.assertEqual((answer.status, answer.body), (200, ""))
            made.worker.wait_field(FIRST, "maintenance", maintenance)
            wait_until(lambda wanted=status: self.seen(uuid)["status"] == wanted, status)
            self.assertEqual(self.seen(uuid)["device_state"], "available")
            wait_until(lambda wanted=reserved: made.reserved(FIRST) == wanted, "in Placement")

    def test_a_cleaning_is_watched_aborted_and_enrolled_from_afar_and_its_certificate_read(self):
        made = self.with_order_key()
        uuid, other = self.uuid_of(made), self.uuid_of(made, SECOND)
        self.assertEqual(self.order(uuid, "abort").status, 409)
        made.host.set(FIRST, duration_ms=LONG_MS)
        instance = self.bind(made)
        made.tell_nova(instance, "create.end")
        self.wait_reserved(made)
        made.free(instance)
        made.tell_nova(instance, "delete.end")
        wait_until(lambda: made.host.sanitize_status(FIRST) == 2, "the drive sanitizes")
        wait_until(lambda: self.seen(uuid)["clean_step"] == {
            "interface": "nvme", "step": "sanitize_crypto"}, "the step is shown")
        self.assertIsInstance(self.seen(uuid)["progress"], float)
        self.assertEqual(self.order(uuid, "enrol").status, 409)
        self.assertEqual(self.order(uuid, "abort").status, 202)
        self.wait_state(uuid, "error")
        self.assertIn("abort", self.seen(uuid)["last_error"])
        self.finish_sanitize(made)
        made.host.set(FIRST, duration_ms=300)
        self.assertEqual(self.order(uuid, "enrol", body='{"serial": "OTHER"}').status, 202)
        made.worker.wait_log("order enrol of %s is refused" % FIRST)
        self.assertEqual(self.seen(uuid)["device_state"], "error")
        self.assertEqual(self.order(uuid, "enrol", body='{"serial": "SERIAL1"}').status, 202)
        self.wait_state(uuid, "available")
        self.assertEqual(made.reserved(FIRST), 0)
        self.certificates_and_pages(made, uuid, other)

    def certificates_and_pages(self, made, uuid, other):
        def listed(query):
            answer = self.get("/v2/certificates" + query, version="2.6")
            self.assertEqual(answer.status, 200, answer.body)
            return answer.json()["certificates"]
        (row,) = wait_until(lambda: listed("?serial=SERIAL1"), "it is sealed")
        self.assertEqual((row["device_uuid"], row["hostname"], row["address"], row["method"]),
                         (uuid, made.name, FIRST, "sanitize_crypto"))
        self.assertEqual(listed("?hostname=elsewhere"), [])
        sealed = curl("%s/v2/certificates/%s" % (self.url, row["id"]), token=self.token,
                      version="2.6")
        folder = os.path.join(made.worker.settings["state"], "certificates")
        (name,) = [name for name in os.listdir(folder) if row["id"] in name]
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            self.assertEqual(sealed.body, file.read())
        first = self.get("/v2/devices?limit=1&sort_key=uuid", version="2.6").json()
        second = curl(first["devices_links"][0]["href"], token=self.token, version="2.6").json()
        self.assertEqual([page["devices"][0]["uuid"] for page in (first, second)],
                         sorted((uuid, other)))
        self.assertNotIn("devices_links", second)
        self.assertEqual(self.order(uuid, "retire", version="2.7", body=(
            '{"as": "reused", "reason": "case 4711"}')).status, 202)
        self.wait_state(uuid, "error")
        (kept,) = wait_until(lambda: [each for each in listed("?device_uuid=" + uuid)
                                      if each["released_at"] is None], "it is sealed, too")
        self.assertNotEqual(kept["id"], row["id"])
        sealed = self.get("/v2/certificates/" + kept["id"], version="2.6")
        self.assertIn("retired: reused", sealed.json()["sealed"]["certificate"]["not_returned"])
        self.assertEqual(self.get("/v2/certificates/" + row["id"], version="2.6").status, 404)


class Tokens(DeviceApi):
    def short_token(self, life_s):
        """A token that ends with the application credential it was got with."""
        endpoints = services().endpoints
        token, body = openstack_api.log_in(endpoints["auth_url"], "reclaim",
                                           endpoints["service_password"], "service")
        # Keystone takes no offset: it is UTC.
        ends = (datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) +
                datetime.timedelta(seconds=life_s))
        url = endpoints["auth_url"]
        credential = openstack_api.call(
            "POST", "%s/users/%s/application_credentials" % (url, body["user"]["id"]),
            {"application_credential": {"name": new_uuid(), "expires_at": ends.isoformat()}},
            token)[1]["application_credential"]
        headers, _ = openstack_api.call("POST", url + "/auth/tokens", {"auth": {"identity": {
            "methods": ["application_credential"], "application_credential": {
                "id": credential["id"], "secret": credential["secret"]}}}})
        return headers["X-Subject-Token"]

    def test_an_expired_token_is_401_though_it_was_good_and_cached(self):
        self.serving()
        # A slow machine may take longer than a token lives; then the next one lives longer.
        for life_s in (8, 60, 250):
            token = self.short_token(life_s)
            status = self.get("/v2/devices", token=token).status
            if status == 200:
                break
        self.assertEqual(status, 200)
        wait_until(lambda: self.get("/v2/devices", token=token).status == 401, "it expires")

    def test_no_token_is_in_any_log(self):
        made = self.serving()
        tokens = [self.token, services().token("nobody"), "gAAAAABnobodyissuedthis"]
        for token in tokens:
            for words in ((), ("-H", "X-Service-Token: " + token)):
                curl(self.url + "/v2/devices?token=" + token, *words, token=token)
                curl(self.url + "/v2/devices/" + token, *words, token=token)
        text = self.node.log_text() + made.worker.log_text()
        # A token in the path is the caller's own leak; in the headers it is a secret.
        self.assertIn("/v2/devices", text)
        for token in tokens[:2]:
            self.assertNotIn(token[:60], text.replace("token=" + token, "").replace(
                "/v2/devices/" + token, ""))
        kept = made.services.redis("--scan", db=made.db)
        for token in tokens[:2]:
            self.assertNotIn(token[:40], kept)

    def test_the_operators_policy_file_decides(self):
        made = self.cyborg()
        path = os.path.join(made.folder, "policy.yaml")

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        write('"cyborg:device:get_all": "role:reader or role:admin"\n'
              '"cyborg:device:clean": "!"\n')
        node = self.answer(made, more="[oslo_policy]\npolicy_file = %s\n" % path)
        self.assertEqual(self.get("/v2/devices", token=services().token("nobody")).status, 200)
        uuid, nobody = self.uuid_of(made), services().token("nobody")

        def clean():
            return curl("%s/v2/devices/%s/clean" % (self.url, uuid), method="POST",
                        version="2.5", token=self.token).status
        self.assertEqual(clean(), 403)
        # The file is read again when the process is told so; what cannot be used changes nothing.
        write('"cyborg:device:get_all": "role:admin or"\n')
        node.process.send_signal(signal.SIGHUP)
        node.wait_log(r"ERROR reclaim.api .*the policy stays as it was.*%s:1:" % path)
        self.assertEqual(clean(), 403)
        self.assertEqual(self.get("/v2/devices", token=nobody).status, 200)
        write('"cyborg:device:clean": "role:admin"\n')
        node.process.send_signal(signal.SIGHUP)
        node.wait_log(r"reclaim.api .*policy file %s was read again" % path)
        self.assertEqual(clean(), 409)
        self.assertEqual(self.get("/v2/devices", token=nobody).status, 403)


class Fleet(DeviceApi):
    def test_any_node_answers_for_the_whole_fleet(self):
        made = self.serving()
        instance = self.error_device(made)
        uuid = self.uuid_of(made)
        host = EmulatedHost(Programs(), os.path.join(made.folder, "second"),
                            ["address=%s,serial=OTHER,size=32M,duration_ms=300" % FIRST])
        host.write("etc/machine-id", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\n")
        name = made.name + "-second"
        row = made.services.register(name, FIRST, owner="cyborg")
        host.write("var/lib/nova/compute_id", row["root_uuid"] + "\n")
        second = Worker(Programs(), made.services, host, name,
                        os.path.join(made.folder, "second-worker"), db=made.db)
        self.addCleanup(second.kill)
        second.start()
        second.wait_field(FIRST, "device_state", "available")
        both = {uuid: made.name, second.field(FIRST, "uuid"): name}
        for node in (self.node, self.answer(made, port=free_port(), name="other")):
            self.url = node.url
            wait_until(lambda: {device["uuid"]: device["hostname"] for device in
                                self.get("/v2/devices").json()["devices"]} == both,
                       node.url + " shows both hosts")
        # Asked by the second node, the first one cleans.
        answer = curl("%s/v2/devices/%s/clean" % (self.url, uuid), method="POST", version="2.5",
                      token=self.token)
        self.assertEqual((answer.status, answer.body), (202, ""))
        self.assert_released(made, sanitizes=2)
        self.assert_certified(made, instance)
        self.assertEqual(host.sanitizes(FIRST), 0)
        self.assertEqual(second.stop(), 0)


class Metrics(DeviceApi):
    def scraped_by_prometheus(self, folder, node):
        """A real Prometheus that reads that node each second; what a query of it answers."""
        os.makedirs(folder)
        path = os.path.join(folder, "prometheus.yml")
        with open(path, "w", encoding="ascii") as file:
            file.write("global: {scrape_interval: 1s}\n"
                       "scrape_configs: [{job_name: reclaim, static_configs: "
                       "[{targets: ['127.0.0.1:%d']}]}]\n" % node.port)
        port = free_port()
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(
                ["prometheus", "--config.file", path, "--storage.tsdb.path",
                 os.path.join(folder, "data"), "--web.listen-address", "127.0.0.1:%d" % port],
                stdout=log, stderr=log, preexec_fn=die_with_parent)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def query(text):
            answer = curl("http://127.0.0.1:%d/api/v1/query?query=%s" % (port, text), check=False)
            if answer is None or answer.status != 200:
                return None
            return [float(row["value"][1]) for row in answer.json()["data"]["result"]]
        return query

    def test_a_real_prometheus_scrapes_the_fleet(self):
        made = self.serving()
        self.assertEqual(curl(self.url + "/metrics").status, 404)
        self.end(self.node)
        node = self.answer(made, more="[api]\nmetrics = true\n")
        answer = curl(node.url + "/metrics")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(FIRST, answer.body)
        self.assert_good(answer.body)
        query = self.scraped_by_prometheus(os.path.join(made.folder, "prometheus"), node)
        wait_until(lambda: query("reclaim_worker_up") == [1.0], "Prometheus sees the worker")
        available = "sum(reclaim_devices%7Bstate=%22available%22%7D)"
        wait_until(lambda: query(available) == [1.0], "Prometheus sees the drive")
        # What the worker measures comes by Redis, and in the file for node_exporter.
        wait_until(lambda: (query("reclaim_surveys_total%7Bresult=%22ok%22%7D") or [0])[0] > 0,
                   "Prometheus sees the surveys")
        for peer in ("redis", "placement"):
            count = "sum(reclaim_request_duration_seconds_count%%7Bpeer=%%22%s%%22%%7D)" % peer
            wait_until(lambda c=count: (query(c) or [0])[0] > 0, "Prometheus sees " + peer)
        self.assertEqual(made.worker.stop(), 0)
        wait_until(lambda: query("reclaim_worker_up") == [0.0], "Prometheus sees it stopped")
        self.assertNotIn("reclaim_surveys_total", curl(node.url + "/metrics").body)

    def assert_good(self, text):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual((checked.returncode, checked.stdout), (0, ""), text)

    def test_a_worker_writes_the_file_that_node_exporter_reads(self):
        made = self.cyborg(start=False)
        path = os.path.join(made.folder, "reclaim.prom")
        made.worker.write_config("[metrics]\ntextfile = %s\n" % path)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "available")

        def text():
            with open(path, encoding="ascii") as file:
                return file.read()
        wait_until(lambda: os.path.exists(path) and re.search(
            r'reclaim_devices{host="%s",flow="cyborg",state="available"} 1$' % made.name, text(),
            re.MULTILINE), "the file has the drive")
        self.assert_good(text())
        self.assertIn("reclaim_loop_lag_seconds_bucket", text())
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        self.assertNotIn("reclaim_host_paused_until_timestamp_seconds{", text())
        code, _, err = made.worker.command("host", "pause", made.name, "--until", "8h",
                                           "--reason", "power work")
        self.assertEqual(code, 0, err)
        wait_until(lambda: 'reclaim_host_paused_until_timestamp_seconds{host="%s"} ' % made.name
                   in text(), "the file has the pause")
        self.assertEqual(made.worker.stop(), 0)
        self.assertIn('reclaim_worker_up{host="%s"} 0' % made.name, text())
        self.assertNotIn("reclaim_surveys_total", text())


class Doors(DeviceApi):
    """Where it listens."""

    def test_without_authentication_only_the_unix_socket_and_loopback(self):
        made = self.cyborg()
        path = os.path.join(made.folder, "api.sock")
        node = self.answer(made, settings="[api]\nauth = none\nunix_socket = %s\n" % path)
        self.assert_answers_at(made, path)
        rebound = curl("http://evil.example/v2/devices", "--unix-socket", path)
        self.assertEqual(rebound.status, 403, rebound.body)
        self.assertEqual(node.stop(), 0)
        self.assertFalse(os.path.exists(path))
        node.write_config(settings="[api]\nauth = none\nbind = 0.0.0.0:%d\n" % free_port())
        code, _, err = node.command("api")
        self.assertEqual(code, 78)
        self.assertRegex(err, "loopback")

    def assert_answers_at(self, made, path):
        answer = curl("http://localhost/v2/devices", "--unix-socket", path)
        self.assertEqual([device["uuid"] for device in answer.json()["devices"]],
                         [self.uuid_of(made)])
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_the_worker_listens_nowhere(self):
        made = self.cyborg(start=False)
        path = os.path.join(made.folder, "api.sock")
        everywhere = "[api]\nauth = none\nunix_socket = %s\nbind = 127.0.0.1:%d\n" % (
            path, free_port())
        made.worker.write_config(everywhere)
        made.worker.start()
        made.worker.wait_log("answered by `reclaim api`")
        self.assertEqual(listening(made.worker.process.pid), [])
        self.assertEqual(made.worker.stop(), 0)

    def test_the_process_that_answers_has_no_privilege_and_no_drive(self):
        self.serving()
        with open("/proc/%d/status" % self.node.process.pid, encoding="ascii") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines())
        self.assertEqual((status["CapEff"], status["NoNewPrivs"]), ("0" * 16, "1"))
        self.assertEqual(self.get("/v2/devices").status, 200)
        files = open_files(self.node.process.pid)
        self.assertFalse([file for file in files if file.startswith("/dev/nvme")], files)
        self.assertEqual(len(listening(self.node.process.pid)), 1)

    def test_systemd_hears_when_it_is_ready_alive_and_stopping(self):
        made = self.cyborg(start=False)
        node = self.answer(made, start=False)
        path = os.path.join(made.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            said = []

            def listen():
                while said[-1:] != ["END"]:
                    said.extend(manager.recv(4096).decode().splitlines())
            # All the time, for a full queue loses what is said next.
            listener = threading.Thread(target=listen, daemon=True)
            listener.start()
            node.start(NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
            for words in ("READY=1", "STATUS=listening at " + node.url,
                          "WATCHDOG=1"):
                wait_until(lambda: words in said, words)
            self.assertEqual(node.stop(), 0)
            wait_until(lambda: "STOPPING=1" in said, "STOPPING=1")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"END", path)
            listener.join()

    def test_tls(self):
        made = self.cyborg()
        openstack_tls.make_certificates(made.folder)
        pem = os.path.join(made.folder, "server.pem")
        port = free_port()
        node = self.answer(made, port=port,
                           more="[api]\ncert_file = %s\nkey_file = %s\n" % (pem, pem))
        token = services().token()
        authority = os.path.join(made.folder, "ca.pem")
        answer = curl("https://localhost:%d/v2/devices" % port, "--cacert", authority, token=token)
        self.assertEqual(answer.status, 200)
        self.assertIsNone(curl("https://localhost:%d/" % port, "--cacert",
                               os.path.join(made.folder, "other-ca.pem"), check=False))
        self.assertEqual(curl("http://localhost:%d/v2/devices" % port, token=token).status, 400)
        self.assertEqual(curl("https://localhost:%d/v2/devices" % port, "--cacert", authority,
                              token=token).status, 200)
        # A certificate of another authority, rotated in place.
        openstack_tls.make_certificates(made.folder)
        node.process.send_signal(signal.SIGHUP)
        node.wait_log(r"TLS certificate %s was read again" % pem)
        self.assertEqual(curl("https://localhost:%d/v2/devices" % port, "--cacert", authority,
                              token=token).status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
