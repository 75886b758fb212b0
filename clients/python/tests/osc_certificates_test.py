"""openstack accelerator device certificate and cleaning."""
import contextlib
import io
import json
import os
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

from osc_lib import exceptions

from played_cloud import PlayedCloud, error, golden, run
from reclaim_openstack.osc import certificates, cleaning, devices, orders

UUID = "29fea63c-fdff-581d-adb6-18b692a7ca42"
ID = "5f0f7f0e-8f0c-4b51-9a55-0d1a5d0c9f11"
ROW = {"id": ID, "sequence": 2, "device_uuid": UUID, "hostname": "compute-1",
       "address": "0000:01:00.0", "model": "Example NVMe", "serial": "S1", "instance": "",
       "method": "sanitize_crypto", "sanitization_class": "purge",
       "released_at": "2026-05-15T10:25:30.000Z", "links": []}
SEALED = ('{"sealed":\n{"sequence":2,"previous":"00","key_id":"91ab","certificate":{"schema":1,'
          '"id":"%s","serial":"S1","evidence":{"sstat":257},"tags":["db"]}}\n,"signature":"kq=="}\n'
          % ID).encode()


class Case(unittest.TestCase):
    def cloud(self, answers, **more):
        made = PlayedCloud(answers, **more)
        self.addCleanup(made.close)
        return made


class Certificates(Case):
    def test_list_filters(self):
        cloud = self.cloud({"GET /v2/certificates": json.dumps({"certificates": [ROW]})})
        rows = json.loads(run(certificates.ListCertificates, cloud, "--host", "compute-1",
                              "--device", UUID, "--serial", "S1", "-f", "json").out)
        self.assertEqual([(row["id"], row["serial"], row["instance"]) for row in rows],
                         [(ID, "S1", "")])
        (_, path, version, _), = cloud.asked
        self.assertEqual(sorted(path.partition("?")[2].split("&")), sorted([
            "hostname=compute-1", "device_uuid=" + UUID, "serial=S1"]))
        self.assertEqual(version, "accelerator-cleaning 2.6")
        row = json.loads(run(certificates.ListCertificates, cloud, "--long", "-f", "json").out)[0]
        self.assertEqual(row["sanitization_class"], "purge")

    def test_a_host_that_has_no_device_is_said(self):
        cloud = self.cloud({"GET /v2/certificates": '{"certificates": []}',
                            "GET /v2/devices": golden("devices-2.5.json")})
        with self.assertRaisesRegex(exceptions.CommandError,
                                    "no device here is of the host compute-9; did you mean"):
            run(certificates.ListCertificates, cloud, "--host", "compute-9")
        run(certificates.ListCertificates, cloud, "--host", "compute-1")

    def of_tenants(self, projects):
        """A cloud of devices whose last certificates are of these projects, one a day."""
        answers, rows = {}, []
        for day, project in enumerate(projects, 5):
            identifier = ID[:-2] + "%02d" % day
            rows.append({**ROW, "id": identifier, "instance": UUID,
                         "released_at": "2026-10-%02dT00:00:00.000Z" % day})
            content = {"id": identifier, **({"project": project} if project else {})}
            answers["GET /v2/certificates/" + identifier] = json.dumps(
                {"sealed": {"sequence": 1, "key_id": "a", "certificate": content}})
        return self.cloud({**answers, "GET /v2/certificates": json.dumps({"certificates": rows})})

    def days(self, cloud, *words):
        ran = run(certificates.ListCertificates, cloud, *words, "-f", "json")
        return [int(row["id"][-2:]) for row in json.loads(ran.out)], ran.said

    def test_all_of_a_tenant_in_a_period(self):
        mine, other = "8d0e5b2c1a474f6d9b3e7c5a90f1e2d3", "1" * 32
        cloud = self.of_tenants([mine, other, "", mine])
        days, said = self.days(cloud, "--project", mine)
        self.assertEqual(days, [5, 8])
        self.assertIn("1 erasure names no project: whose they were is not known, and they are not "
                      "shown", said)
        self.assertTrue(any("earlier ones are in each host's chain" in line for line in said))
        for words, wanted in ((("--from", "2026-10-06", "--to", "2026-10-07"), [6, 7]),
                              (("--to", "2026-10-06T00:00:00Z"), [5]),
                              (("--from", "2026-10-08T00:00:00.001Z"), []),
                              (("--project", mine, "--from", "2026-10-06"), [8]),
                              (("--instance", UUID.upper()), [5, 6, 7, 8]),
                              (("--instance", ID), [])):
            self.assertEqual(self.days(cloud, *words)[0], wanted, words)
        with self.assertRaisesRegex(exceptions.CommandError, "--from: '2026-13-01' is neither"):
            self.days(cloud, "--from", "2026-13-01")
        with self.assertRaisesRegex(exceptions.CommandError, "exchange the two"):
            self.days(cloud, "--from", "2026-10-02", "--to", "2026-10-01")

    def test_what_was_not_returned_counts_when_it_was_verified(self):
        rows = [{**ROW, "released_at": None}]
        verified = {"verified_at": "2026-10-05T00:00:00.000Z"}
        sealed = json.dumps({"sealed": {"certificate": verified}})
        cloud = self.cloud({"GET /v2/certificates": json.dumps({"certificates": rows}),
                            "GET /v2/certificates/" + ID: sealed})
        self.assertEqual(len(self.days(cloud, "--from", "2026-10-05")[0]), 1)
        self.assertEqual(len(self.days(cloud, "--from", "2026-10-06")[0]), 0)

    def test_a_project_is_found_by_name_too(self):
        mine = "8d0e5b2c1a474f6d9b3e7c5a90f1e2d3"
        cloud = self.of_tenants([mine])
        identity = SimpleNamespace(
            find_project=lambda name: SimpleNamespace(id=mine) if name == "shop" else None)
        with mock.patch("openstack.connection.Connection.identity", identity):
            days, said = self.days(cloud, "--project", "shop")
            self.assertEqual(days, [5])
            self.assertIn("the project shop: its id is " + mine, said)
            with self.assertRaisesRegex(exceptions.CommandError, "project shoe: there is none"):
                self.days(cloud, "--project", "shoe")
            self.assertEqual(self.days(cloud, "--project", mine)[0], [5], "one that is deleted")

    def test_a_project_that_is_named_as_anothers_id_is_not_found_by_it(self):
        mine, other = "8d0e5b2c1a474f6d9b3e7c5a90f1e2d3", "1" * 32
        cloud = self.of_tenants([mine, other])
        identity = SimpleNamespace(find_project=lambda name: SimpleNamespace(id=other))
        with mock.patch("openstack.connection.Connection.identity", identity):
            for spelled in (mine, mine.upper(), "8d0e5b2c-1a47-4f6d-9b3e-7c5a90f1e2d3"):
                days, said = self.days(cloud, "--project", spelled)
                self.assertEqual(days, [5], spelled)
                self.assertIn("the project with the id " + spelled, said)

    def test_what_one_host_wrote_costs_its_row_alone(self):
        mine = "8d0e5b2c1a474f6d9b3e7c5a90f1e2d3"

        def sealed(**content):
            return json.dumps({"sealed": {"certificate": {"id": ID, **content}}})

        honest = {**ROW, "released_at": "2026-10-05T00:00:00.000Z"}
        evil = {**honest, "id": ID[:-2] + "66", "hostname": "compute-9", "address": "0000:02:00.0"}
        year_0 = "0000-01-01T00:00:00.000Z"
        for row, text, words in (
                ({"released_at": year_0}, sealed(), ("--from", "2026-10-01")),
                ({"released_at": None}, sealed(verified_at=year_0), ("--to", "2026-10-31")),
                ({"released_at": None}, sealed(verified_at=5), ("--to", "2026-10-31")),
                ({"released_at": None}, sealed(), ("--to", "2026-10-31")),
                ({}, sealed(project=5), ("--project", mine)),
                ({}, sealed(project=["x"]), ("--project", mine)),
                ({}, '{"sealed": {"certificate": [["project", "x"]]}}', ("--project", mine)),
                ({}, "[" * 100000, ("--project", mine)),
                ({}, error(409, "Conflict: two of them have it"), ("--project", mine)),
                ({}, error(404, "NotFound: it was replaced"), ("--project", mine))):
            cloud = self.cloud({
                "GET /v2/certificates": json.dumps({"certificates": [{**evil, **row}, honest]}),
                "GET /v2/certificates/" + ID: sealed(project=mine),
                "GET /v2/certificates/" + evil["id"]: text})
            ran = run(certificates.ListCertificates, cloud, *words, "-f", "json")
            self.assertEqual([each["id"] for each in json.loads(ran.out)], [ID], (row, text))
            self.assertEqual(ran.code, 1, (row, text))
            self.assertTrue(any(line.startswith("host compute-9, 0000:02:00.0: ")
                                for line in ran.said), ran.said)
        cloud.answers["GET /v2/certificates/" + evil["id"]] = error(503, "Redis is away")
        with self.assertRaisesRegex(exceptions.CommandError, "Redis is away"):
            self.days(cloud, "--project", mine)

    def test_what_the_api_cannot_read_is_said(self):
        evil = {"hostname": "compute-9", "address": "0000:02:00.0", "reason": "no \x1b[2J text"}
        host = {"hostname": "compute-8", "address": None, "reason": None}
        url = "http://reclaim:6667/v2/certificates?marker=" + UUID
        first = {"certificates": [], "damaged": [host],
                 "certificates_links": [{"rel": "next", "href": url}]}
        cloud = self.cloud({
            "GET /v2/certificates": json.dumps(first),
            "GET /v2/certificates?marker=" + UUID: json.dumps(
                {"certificates": [ROW], "damaged": [host, evil]})})
        ran = run(certificates.ListCertificates, cloud, "-f", "json")
        self.assertEqual([each["id"] for each in json.loads(ran.out)], [ID])
        self.assertEqual((ran.code, ran.said), (1, [
            "host compute-8, all devices: its certificate cannot be read",
            "host compute-9, 0000:02:00.0: no \\x1b[2J text"]))
        ran = run(certificates.ListCertificates, cloud, "--limit", "1", "-f", "json")
        self.assertEqual(json.loads(ran.out), [], "one page")

    def test_an_empty_value_is_not_one_that_was_left_out(self):
        cloud = self.cloud({})
        words = [(certificates.ListCertificates, name) for name in (
            "--project", "--instance", "--host", "--device", "--serial", "--from", "--to",
            "--marker")]
        words += [(certificates.ShowCertificate, "--host"),
                  (certificates.SaveCertificate, "--host"), (devices.ListDevices, "--host"),
                  (devices.ListDevices, "--marker"),
                  (orders.EnrolDevice, "--serial"), (orders.DisownDevice, "--reason"),
                  (orders.RetireDevice, "--reason")]
        for command, name in words:
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said):
                run(command, cloud, *([] if "List" in command.__name__ else [UUID]), name, "")
            self.assertEqual(ended.exception.code, 2, name)
            self.assertIn("argument %s: is empty; give a value, or leave the option out" % name,
                          said.getvalue())
        self.assertEqual(cloud.asked, [])

    def test_show_has_the_content(self):
        cloud = self.cloud({"GET /v2/certificates/" + ID: (200, SEALED)})
        shown = json.loads(run(certificates.ShowCertificate, cloud, ID, "-f", "json").out)
        self.assertEqual((shown["sequence"], shown["key_id"], shown["evidence"], shown["tags"]),
                         (2, "91ab", {"sstat": 257}, ["db"]))
        run(certificates.ShowCertificate, cloud, ID, "--host", "compute-1")
        self.assertEqual([path for _, path, _, _ in cloud.asked],
                         ["/v2/certificates/" + ID, "/v2/certificates/%s?hostname=compute-1" % ID])
        cloud = self.cloud({"GET /v2/certificates/" + ID: "{}"})
        with self.assertRaisesRegex(exceptions.CommandError, "not in the form of a certificate"):
            run(certificates.ShowCertificate, cloud, ID)

    def test_save_keeps_every_byte_and_no_file_is_overwritten(self):
        cloud = self.cloud({"GET /v2/certificates/" + ID: (200, SEALED)})
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "certificate.json")
            run(certificates.SaveCertificate, cloud, ID, "--file", name)
            with open(name, "rb") as file:
                self.assertEqual(file.read(), SEALED)
            with self.assertRaisesRegex(exceptions.CommandError, "cannot be written: File exists"):
                run(certificates.SaveCertificate, cloud, ID, "--file", name)
        written = io.BytesIO()
        with mock.patch("sys.stdout", SimpleNamespace(buffer=written)):
            run(certificates.SaveCertificate, cloud, ID, "--file", "-")
        self.assertEqual(written.getvalue(), SEALED)

    def test_an_id_that_is_not_there_leaves_no_file(self):
        cloud = self.cloud({"GET /v2/certificates/" + ID: error(404, "NotFound: no certificate")})
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "certificate.json")
            with self.assertRaisesRegex(exceptions.CommandError, "NotFound: no certificate"):
                run(certificates.SaveCertificate, cloud, ID, "--file", name)
            self.assertEqual(os.listdir(folder), [])


class Cleaning(Case):
    def test_show(self):
        cloud = self.cloud({"GET /v2/devices/%s/cleaning/steps" % UUID: golden("steps-2.5.json")})
        shown = json.loads(run(cleaning.ShowCleaning, cloud, UUID, "-f", "json").out)
        self.assertEqual(shown, json.loads(golden("steps-2.5.json")))
        table = run(cleaning.ShowCleaning, cloud, UUID).out
        self.assertIn("nvme.check_health (priority 90)", table)
        self.assertIn("nvme.check_health: percentage_used: 3 %", table)

    def test_show_of_an_api_that_lists_steps_alone(self):
        cloud = self.cloud({"GET /v2/devices/%s/cleaning" % UUID: golden("steps-2.5.json")},
                           highest="2.7")
        shown = json.loads(run(cleaning.ShowCleaning, cloud, UUID, "-f", "json").out)
        self.assertEqual(shown, json.loads(golden("steps-2.5.json")))

    def test_findings_are_a_line_for_each_surface(self):
        self.assertEqual(cleaning.FindingsColumn({"nvme.reset_namespaces": [
            {"surface": "namespaces", "found": "as it should be", "reset": False},
            {"surface": "ports", "found": 2, "reset": True}], "hold": "x"}).human_readable(),
            "nvme.reset_namespaces: namespaces: as it should be\n"
            "nvme.reset_namespaces: ports: 2, reset\nhold: x")


if __name__ == "__main__":
    unittest.main(verbosity=2)
