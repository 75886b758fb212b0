"""`reclaim qualify` over an emulated host and real services: what is tried and reported, and which
drives are refused. operator_test.py runs it."""
import json
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree

from case import DELETED, FIRST, LONG_MS, SECOND, SEED, EndToEnd, Setting, domain
from services import ROOT
from service_process import die_with_parent  # stack/, which services.py has put on the path
from waiting import DEADLINE_S, wait_until


class Qualify(EndToEnd):
    """A host whose first drive is in the pool, and whose second one Placement does not know."""

    def spare(self, fault="", duration_ms=300, start=False, **settings):
        made = Setting(self, ["address=%s,serial=SERIAL1,size=16M,duration_ms=300" % FIRST,
                              "address=%s,serial=SPARE,size=16M,npss=4,duration_ms=%d%s" %
                              (SECOND, duration_ms, fault)], survey_s=5, **settings)
        made.register(FIRST, reserved=0)
        if start:
            made.worker.start()
            made.worker.wait_field(FIRST, "device_state", "available")
        return made

    def test_a_spare_drive_is_tried_by_all_methods_and_reported_in_every_form(self):
        made = self.spare()
        made.host.fill(SECOND, SEED)
        code, _, err = made.worker.command("qualify", SECOND)
        self.assertEqual(code, 2)
        self.assertIn("--serial is needed", err)
        code, _, err = made.worker.command("qualify", SECOND, "--serial", "ANOTHER")
        self.assertEqual(code, 1)
        self.assertIn("its serial is SPARE, and ANOTHER was named", err)
        code, _, err = made.worker.command("qualify", SECOND, "--serial", "SPARE", "--method",
                                           "shred")
        self.assertEqual(code, 2)
        code, _, err = made.worker.command("qualify", SECOND, "--serial", "SPARE", "--report",
                                           os.path.join(made.folder, "no", "report"))
        self.assertEqual(code, 1)
        self.assertIn("--report: cannot write", err)
        self.assertEqual(made.host.sanitizes(SECOND), 0)
        with open(os.path.join(made.host.root, "var/lib/nova/compute_id"), "r+",
                  encoding="utf-8") as file:
            root = file.read()
            file.seek(0)
            file.write(DELETED)
        code, _, err = made.worker.command("qualify", SECOND, "--serial", "SPARE")
        self.assertEqual(code, 1)
        self.assertIn("but Nova's compute_id file on this machine says " + DELETED, err)
        made.host.write("var/lib/nova/compute_id", root)
        made.host.write("run/libvirt/qemu/guest.xml", domain(SECOND))
        code, _, err = made.worker.command("qualify", SECOND, "--serial", "SPARE")
        self.assertEqual(code, 1)
        self.assertIn("guard libvirt_domain", err)
        made.host.remove("run/libvirt/qemu/guest.xml")
        words = ("qualify", SECOND[5:], "--serial", "SPARE", "--report",
                 os.path.join(made.folder, "report"))
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("has something on it (nvme1n1: PMBR partition table)", err)
        self.assertFalse(os.path.exists(words[-1] + ".json"))
        found = made.host.digest(SECOND, SEED)
        self.assertEqual(found["tenant_blocks_kept"], found["tenant_blocks"])
        media = os.path.join(made.host.root, "dev/nvme1n1")
        with open(media, "r+b") as file:
            file.write(bytes(1 << 20))
            file.seek(-(1 << 20), os.SEEK_END)
            file.write(bytes(1 << 20))
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("has something on it (nvme1n1: data without a signature)", err)
        self.assertIn("`blkdiscard -z`", err)
        with open(media, "r+b") as file:
            file.write(bytes(16 << 20))
        prefix = words[-1]
        code, out, err = made.worker.command(*words)
        self.assertEqual(code, 0, err)
        self.assertIn("recommended", out.splitlines()[0])
        self.assertIn("write pattern", err)
        with open(prefix + ".json", encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["conclusion"]["verdict"], "recommended", out)
        self.assertEqual(report["conclusion"]["method"], "sanitize_crypto")
        self.assertTrue(report["last_erase"]["verified"])
        self.assertEqual(json.loads(report["conclusion"]["device_spec"])["clear_strategy"],
                         "crypto")
        self.assertEqual(made.host.digest(SECOND, SEED)["tenant_blocks_kept"], "0")
        with open(prefix + ".txt", encoding="utf-8") as file:
            self.assertIn("Erased at the end by sanitize_crypto", file.read())
        page = xml.etree.ElementTree.parse(prefix + ".html").getroot()
        self.assertIn("recommended", "".join(page.itertext()))
        self.compare_with_example("emulator", prefix)
        self.assertEqual(os.listdir(os.path.join(made.folder, "worker/state/qualify")), [])

    def compare_with_example(self, name, prefix):
        """The documents' examples are such reports; RECLAIM_WRITE_GOLDEN=1 writes them again."""
        with open(prefix + ".json", encoding="utf-8") as file:
            report = json.load(file)
        example = os.path.join(ROOT, "docs/models", name)
        if os.environ.get("RECLAIM_WRITE_GOLDEN"):
            with open(example + ".json", "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
                file.write("\n")
            for ending in (".txt", ".html"):
                shutil.copyfile(prefix + ending, example + ending)
        with open(example + ".json", encoding="utf-8") as file:
            documented = json.load(file)
        self.assertEqual(shape_of(documented), shape_of(report))
        self.assertEqual(documented["conclusion"], report["conclusion"])
        for ending in (".txt", ".html"):
            self.assertTrue(os.path.exists(example + ending), example + ending)

    def test_a_drive_that_lies_is_not_to_be_used(self):
        made = self.spare(fault=",lies_keeps_data=1,model=LYING DRIVE")
        prefix = os.path.join(made.folder, "report")
        code, out, err = made.worker.command("qualify", SECOND, "--serial", "SPARE", "--report",
                                             prefix)
        self.assertEqual(code, 3, err)
        self.assertIn("do not use", out.splitlines()[0])
        self.compare_with_example("emulator-lying", prefix)
        with open(prefix + ".json", encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["conclusion"]["verdict"], "do_not_use")
        self.assertIn("old content is still there", report["conclusion"]["reasons"][0])
        self.assertEqual(report["conclusion"]["device_spec"], "")
        self.assertTrue(report["last_erase"]["verified"], report["last_erase"])

    def test_a_drive_on_a_vfio_driver_is_taken_over_and_given_back(self):
        made = self.spare(fault=",driver=vfio-pci,settle_ms=50",
                          device_spec=json.dumps({"vendor_id": "ffff"}))
        code, out, err = made.worker.command("qualify", SECOND, "--serial", "ANOTHER", "-f", "json",
                                             "--method", "sanitize_crypto")
        self.assertEqual(code, 1)
        self.assertIn("serial changed: was ANOTHER, is SPARE", err)
        code, out, err = made.worker.command("qualify", SECOND, "--serial", "SPARE", "-f", "json",
                                             "--method", "sanitize_crypto")
        self.assertEqual(code, 0, err)
        conclusion = json.loads(out)["conclusion"]
        self.assertEqual(conclusion["verdict"], "recommended")
        self.assertFalse(json.loads(conclusion["device_spec"])["managed"])
        link = os.path.join(made.host.root, "sys/bus/pci/devices", SECOND, "driver")
        self.assertEqual(os.path.basename(os.readlink(link)), "vfio-pci")

    def begin(self, made, words):
        log = os.path.join(made.folder, "interrupted.log")
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [made.worker.programs.reclaim, "--config-file", made.worker.config, *words],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                preexec_fn=die_with_parent, env=made.worker.environment())
        self.addCleanup(process.kill)
        return process, log

    def ended(self, process, log):
        """What it said; it ends without a report."""
        self.assertEqual(process.wait(DEADLINE_S), 1)
        with open(log, encoding="utf-8") as file:
            return file.read()

    def test_an_interrupted_run_goes_on_where_it_was(self):
        made = self.spare(duration_ms=LONG_MS)
        words = ("qualify", SECOND, "--serial", "SPARE", "--method", "overwrite", "--method",
                 "sanitize_crypto", "-f", "json")
        process, log = self.begin(made, words)
        wait_until(lambda: made.host.sanitize_status(SECOND) == 2, "the drive sanitizes")
        # Another run, or a worker, does not get it meanwhile.
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("reclaim qualify on " + made.name, err)
        process.send_signal(signal.SIGINT)
        said = self.ended(process, log)
        self.assertIn("the sanitize goes on in the drive", said)
        self.assertIn("run the same command again", said)
        # The next run waits for that; who takes its lock in Redis meanwhile ends it.
        key = "reclaim:{%s}:lock:%s" % (made.name, SECOND)
        process, log = self.begin(made, words)
        wait_until(lambda: made.services.redis("exists", key, db=made.db) == "1", "it has the lock")
        made.services.redis("set", key, "another 999999", "px", "600000",
                            db=made.db)
        said = self.ended(process, log)
        self.assertIn("another one took its lock in Redis", said)
        self.assertIn("do not touch the drive", said)
        made.services.redis("del", key, db=made.db)
        made.host.set(SECOND, advance_ms=LONG_MS + 1000, duration_ms=100)
        code, out, err = made.worker.command(*words)
        self.assertEqual(code, 0, err)
        self.assertIn("going on with what was begun at", err)
        self.assertNotIn(" overwrite [", err)
        self.assertEqual([trial["method"] for trial in json.loads(out)["trials"]],
                         ["overwrite", "sanitize_crypto"])
        self.assertEqual(len(json.loads(out)["nonces"]), 4)

    def test_a_drive_that_placement_gets_meanwhile_is_left_at_once(self):
        made = self.spare(duration_ms=LONG_MS)
        process, log = self.begin(made, ("qualify", SECOND, "--serial", "SPARE", "--method",
                                         "sanitize_crypto"))
        wait_until(lambda: made.host.sanitize_status(SECOND) == 2, "the drive sanitizes")
        made.register(SECOND, reserved=0)
        said = self.ended(process, log)
        self.assertIn("it is not as it was when this began", said)
        self.assertIn("is in Placement, and the device is not in maintenance", said)
        self.assertIn("do not touch the drive: reserve it in Placement", said)
        self.assertNotIn("run the same command again", said)

    def test_a_drive_of_the_pool_only_in_maintenance_and_cleaned_behind_it(self):
        made = self.spare(start=True)
        words = ("qualify", FIRST, "--serial", "SERIAL1", "--method", "overwrite")
        with open(os.path.join(made.host.root, "etc/machine-id"), encoding="utf-8") as file:
            machine_id = file.read()
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("is not in maintenance", err)
        made.host.write("etc/machine-id", "f" * 32 + "\n")
        code, _, err = made.worker.command("qualify", SECOND, "--serial", "SPARE")
        self.assertEqual(code, 1)
        self.assertIn("another machine works under the host name", err)
        made.host.write("etc/machine-id", machine_id)
        # With a certificate a maintenance leaves it available.
        made.services.reserve(made.providers[FIRST], 1)
        wait_until(lambda: made.reserved(FIRST) == 0, "it is cleaned for the first time")
        made.worker.wait_field(FIRST, "device_state", "available")
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "on")
        self.assertEqual(code, 0, err)
        wait_until(lambda: made.reserved(FIRST) == 1, "it is out of the pool")
        self.assertEqual(made.worker.stop(), 0)
        made.services.reserve(made.providers[FIRST], 0)
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("is not reserved", err)
        made.services.reserve(made.providers[FIRST], 1)
        # Its worker has to know it first; what is refused before that changes nothing.
        media = os.path.join(made.host.root, "dev/nvme0n1")
        with open(media, "rb") as file:
            before = file.read()
        code, _, err = made.worker.command(*words)
        self.assertEqual(code, 1)
        self.assertIn("start the worker of this host", err)
        with open(media, "rb") as file:
            self.assertEqual(file.read(), before)
        made.worker.start()
        code, _, err = made.worker.command(*words[:-1], "overwrite", "--method", "none")
        self.assertEqual(code, 2)
        self.assertEqual(made.worker.field(FIRST, "device_state"), "available")
        code, out, err = made.worker.command(*words)
        self.assertEqual(code, 3, err)  # an entry cannot choose this method alone
        self.assertEqual(made.worker.field(FIRST, "device_state"), "pending_cleaning")
        self.assertEqual(made.reserved(FIRST), 1)
        code, _, err = made.worker.command("device", "set", FIRST, "--maintenance", "off")
        self.assertEqual(code, 0, err)
        wait_until(lambda: made.reserved(FIRST) == 0, "it is cleaned and given back")
        self.assertEqual(made.host.sanitizes(FIRST), 2)


def shape_of(value):
    """Members and types of a JSON value; of a list, of its first item."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape_of(each) for each in value[:1]]
    return type(value).__name__
