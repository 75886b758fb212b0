"""The driver reclaim_nvme: what it reports, what it keeps, and how it waits for a cleaning."""
import json
import os
import pathlib
import tempfile
import types
import unittest

from fake_cyborg import FakeDoor, cyborg, drive, whole

FIRST = "0000:01:00.0"
SECOND = "0000:02:00.0"


class DriverCase(unittest.TestCase):
    VERSION = 17

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="reclaim-driver-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = str(self.folder / "agent.sock")
        self.file = self.folder / "reclaim.json"
        self.module = self.enterContext(cyborg(version=self.VERSION))
        self.module.POLL_S = 0.01
        self.worker = None
        self.start_worker()
        self.driver = self.new_driver()

    def start_worker(self, **options):
        self.worker = FakeDoor(self.socket, **options)

    def stop_worker(self):
        if self.worker:
            self.worker.shut_down()
            os.unlink(self.socket)
        self.worker = None

    def tearDown(self):
        self.stop_worker()

    def new_driver(self, **options):
        conf = self.module.CONF
        conf.register_opts(self.module.OPTIONS, group="reclaim")
        values = {"socket": self.socket, "report_file": str(self.file), **options}
        for name, value in values.items():
            conf.set_override(name, value, group="reclaim")
        return self.module.ReclaimNVMeDriver()

    def tell(self, *drives):
        self.worker.drives = {one["address"]: one for one in drives}

    def reported(self):
        """Plain devices by address."""
        devices = [whole(device) for device in self.driver.discover()]
        return {json.loads(device["std_board_info"])["pci_address"]: device for device in devices}

    def assert_raises(self, words, call, *arguments):
        with self.assertRaises(Exception) as caught:
            call(*arguments)
        for word in words:
            self.assertIn(word, str(caught.exception))


class Discover(DriverCase):
    def test_a_clean_drive_is_reported_as_the_specification_has_it(self):
        self.tell(drive())
        device = self.reported()[FIRST]
        deployable, = device.pop("deployable_list")
        path = device.pop("controlpath_id")
        self.assertEqual(json.loads(device.pop("std_board_info")),
                         {"product_id": "a80a", "pci_address": FIRST,
                          "cleanup_action": "sanitize_crypto"})
        self.assertEqual(device, {"vendor": "144d", "model": "a80a", "type": "NVME",
                                  "vendor_board_info": None, "stub": False,
                                  "device_state": "available"})
        # The text is the identity: the order of its keys never changes.
        self.assertEqual(path, {
            "cpid_type": "PCI",
            "cpid_info": '{"bus": "01", "device": "00", "domain": "0000", "function": "0"}'})
        handle, = deployable.pop("attach_handle_list")
        self.assertEqual(handle, {"attach_type": "PCI", "attach_info": path["cpid_info"],
                                  "in_use": False})
        attributes = [(one["key"], one["value"]) for one in deployable.pop("attribute_list")]
        self.assertEqual(attributes, [("rc", "CUSTOM_NVME_144D_A80A"),
                                      ("trait_OWNER_CYBORG", "OWNER_CYBORG"),
                                      ("trait_HW_NVME_CES", "HW_NVME_CES"),
                                      ("trait_HW_NVME_BES", "HW_NVME_BES")])
        self.assertEqual(deployable, {"name": "compute-1_" + FIRST, "num_accelerators": 1,
                                      "driver_name": "reclaim_nvme"})

    def test_an_unmanaged_drive_says_so_in_its_attach_handle_alone(self):
        self.tell(drive(managed=False, traits=None, action=""))
        device = self.reported()[FIRST]
        deployable, = device["deployable_list"]
        handle, = deployable["attach_handle_list"]
        self.assertIs(json.loads(handle["attach_info"])["managed"], False)
        self.assertNotIn("managed", device["controlpath_id"]["cpid_info"])
        self.assertNotIn("cleanup_action", device["std_board_info"])

    def test_a_drive_is_reported_from_its_first_verified_cleaning_on(self):
        for told in (drive(clean=False, state="pending_cleaning", cleaned_ms=0),
                     drive(clean=False, state="cleaning", cleaned_ms=0),
                     drive(clean=False, cleaned_ms=0),
                     drive(clean=False, state="error"),
                     drive(clean=False, state="allocated", cleaned_ms=0),
                     drive(clean=False, state="allocated", handed_over=True),
                     drive(clean=False, held=True)):
            self.tell(told)
            self.assertEqual(self.reported(), {}, told)
        self.tell(drive(handed_over=True, offered=False))
        self.assertEqual(list(self.reported()), [FIRST])

    def test_and_then_always(self):
        self.tell(drive())
        before = self.reported()
        for told in (drive(state="cleaning", clean=False), drive(state="error", clean=False),
                     drive(state="pending_cleaning", clean=False, traits=None, action="")):
            self.tell(told)
            now = self.reported()
            now[FIRST]["device_state"] = before[FIRST]["device_state"]
            self.assertEqual(now, before, told)
        self.tell()  # no drive of a device_spec entry any more
        self.assertEqual(list(self.reported()), [FIRST])
        self.worker.broken = (503, {"error": "no survey went through yet"})
        self.assertEqual(list(self.reported()), [FIRST])
        self.stop_worker()
        now = self.reported()
        self.assertEqual(now[FIRST].pop("device_state"), "error")  # not known to be clean
        del before[FIRST]["device_state"]
        self.assertEqual(now, before)
        self.driver = self.new_driver()
        self.assertEqual(list(self.reported()), [FIRST])

    def test_an_allocated_drive_whose_report_was_lost_is_reported_again(self):
        self.tell(drive(state="allocated", clean=False))
        self.assertEqual(list(self.reported()), [FIRST])

    def test_nothing_is_reported_that_is_not_kept(self):
        self.tell(drive())
        self.driver = self.new_driver(report_file=str(self.folder / "missing" / "r.json"))
        self.assert_raises(["report_file", "cannot be written"], self.driver.discover)

    def test_no_worker_and_no_file_is_no_empty_report(self):
        self.stop_worker()
        self.assert_raises(["does not answer", "reclaim.service"], self.driver.discover)

    def test_another_drive_in_the_slot_counts_when_it_is_clean(self):
        self.tell(drive())
        before = self.reported()
        other = dict(serial="S2", product_id="a80b", resource_class="CUSTOM_NVME_144D_A80B")
        self.tell(drive(state="error", clean=False, **other))
        now = self.reported()
        self.assertEqual(now[FIRST]["deployable_list"], before[FIRST]["deployable_list"])
        self.tell(drive(**other))
        self.assertEqual(self.reported()[FIRST]["model"], "a80b")

    def test_a_drive_brings_nothing_to_another_slot(self):
        self.tell(drive())
        self.reported()
        self.tell(drive(SECOND, clean=False, state="pending_cleaning", cleaned_ms=0))
        self.assertEqual(list(self.reported()), [FIRST])

    def test_the_class_stays_and_the_action_is_locked_while_it_is_cleaned(self):
        self.tell(drive())
        self.reported()
        self.tell(drive(resource_class="CUSTOM_OTHER", action="write_zeroes", state="cleaning",
                        clean=False, managed=False))
        device = self.reported()[FIRST]
        self.assertEqual(device["deployable_list"][0]["attribute_list"][0]["value"],
                         "CUSTOM_NVME_144D_A80A")
        self.assertIn("sanitize_crypto", device["std_board_info"])
        self.assertNotIn("managed", device["deployable_list"][0]["attach_handle_list"][0]
                         ["attach_info"])
        self.tell(drive(action="write_zeroes", managed=False))
        device = self.reported()[FIRST]
        self.assertIn("write_zeroes", device["std_board_info"])
        self.assertIn("managed", device["deployable_list"][0]["attach_handle_list"][0]
                      ["attach_info"])

    def test_a_worker_of_another_host_is_an_error(self):
        self.worker.host = "compute-2"
        self.tell(drive())
        self.assert_raises(["'compute-2'", "'compute-1'", "[DEFAULT] host"], self.driver.discover)

    def test_what_the_worker_tells_wrong_is_left_out(self):
        self.tell(drive(resource_class="custom class"), drive(SECOND, serial=None),
                  drive("0000:03:00.0", vendor=7), drive("slot 4"))
        self.assertEqual(self.reported(), {})
        for body in (b"", b"[]", b"{}", b'{"drives": 1}', b"\xff" * 50, b'{"drives": [1]}'):
            self.worker.broken = (200, body)
            self.assert_raises(["the answer of"], self.driver.discover)


class Kept(DriverCase):
    def test_a_file_that_is_not_ours_is_an_error_with_its_remedy(self):
        self.tell(drive())
        self.reported()
        good = json.loads(self.file.read_text())
        bad = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'"' + b"x" * (1 << 20),
               json.dumps(dict(good, version=2)).encode(),
               json.dumps(dict(good, host="compute-2")).encode(),
               json.dumps(dict(good, drives=[])).encode(),
               json.dumps(dict(good, drives={"slot": good["drives"][FIRST]})).encode(),
               json.dumps(dict(good, drives={FIRST: {}})).encode(),
               json.dumps(dict(good, drives={FIRST: dict(good["drives"][FIRST],
                                                         traits="x")})).encode(),
               json.dumps(dict(good, drives={FIRST: dict(good["drives"][FIRST],
                                                         rc="a b")})).encode()]
        for text in bad:
            self.file.write_bytes(text)
            self.assert_raises([str(self.file), "backup"], self.driver.discover)
            self.assertEqual(self.file.read_bytes(), text)

    def test_it_is_replaced_whole(self):
        self.tell(drive())
        self.reported()
        inode = self.file.stat().st_ino
        self.reported()
        self.assertEqual(self.file.stat().st_ino, inode, "written only when it changes")
        self.tell(drive(), drive(SECOND))
        self.reported()
        self.assertNotEqual(self.file.stat().st_ino, inode)
        self.assertEqual(sorted(os.listdir(self.folder)), ["agent.sock", "reclaim.json"])


class OlderCyborg(DriverCase):
    VERSION = 16

    def test_a_cyborg_that_does_not_know_nvme_is_told_ssd(self):
        self.tell(drive())
        device = self.reported()[FIRST]
        self.assertEqual(device["type"], "SSD")
        self.assertNotIn("device_state", device)


class InitHost(DriverCase):
    def test_it_waits_for_the_worker_and_then_raises(self):
        self.driver.init_host()
        self.stop_worker()
        self.driver = self.new_driver(cleanup_timeout=1)
        self.assert_raises(["cleanup_timeout", "reclaim.service"], self.driver.init_host)

    def test_what_was_reported_needs_no_worker(self):
        self.tell(drive())
        self.reported()
        self.stop_worker()
        self.driver.init_host()

    def test_what_cannot_work_is_told_at_once(self):
        self.worker.host = "other"
        self.assert_raises(["[DEFAULT] host"], self.driver.init_host)
        self.file.write_text("garbage")
        self.assert_raises(["report_file"], self.driver.init_host)
        for name in ("socket", "report_file"):
            self.assert_raises([name, "absolute"], lambda n=name: self.new_driver(**{n: "a"}))


class CleanUp(DriverCase):
    """The worker's clock: 1000 when it was asked."""

    def device(self, info=None):
        return types.SimpleNamespace(std_board_info=info or json.dumps({"pci_address": FIRST}))

    def play(self, *told):
        """What each look shows; the last stays."""
        self.tell(drive(looked_ms=900))
        steps = list(told)

        def look(address, _since_ms):
            if steps:
                self.worker.drives[address] = steps.pop(0)
        self.worker.on_look = look

    def orders(self):
        return sum(asked.startswith("POST") for asked in self.worker.asked)

    def test_it_waits_until_it_was_cleaned_after_the_order(self):
        self.play(drive(looked_ms=900), drive(state="allocated", clean=False, looked_ms=1100),
                  drive(state="pending_cleaning", clean=False, looked_ms=1200),
                  drive(state="cleaning", clean=False, looked_ms=1300),
                  drive(looked_ms=1300, cleaned_ms=1400, clean=False, offered=False),
                  drive(looked_ms=1500, cleaned_ms=1400, offered=False, handed_over=True))
        self.driver.cleanup(self.device())
        self.assertEqual(self.orders(), 1)
        self.assertEqual(self.worker.drives[FIRST]["looked_ms"], 1500)

    def test_a_state_older_than_the_order_is_not_believed(self):
        self.driver = self.new_driver(cleanup_timeout=1)
        self.play(drive(looked_ms=1000))
        self.assert_raises(["not clean after 1 s"], self.driver.cleanup, self.device())

    def test_one_that_the_worker_offers_after_a_look_is_clean(self):
        self.play(drive(looked_ms=1001))
        self.driver.cleanup(self.device())

    def test_what_is_held_unread_or_in_doubt_does_not_count(self):
        for told in (drive(looked_ms=9000, clean=False, held=True, offered=False, status="held"),
                     drive(looked_ms=9000, clean=False, status="reserved without a tenancy"),
                     # Handed over before the order: a tenancy may have come between.
                     drive(looked_ms=9000, offered=False, handed_over=True)):
            self.worker.asked.clear()
            self.play(told)
            self.assert_raises([FIRST, "is not cleaned", "reclaim device show"],
                               self.driver.cleanup, self.device())
            self.assertEqual(self.orders(), 5)

    def test_one_that_was_handed_over_before_is_cleaned_when_it_is_ordered_again(self):
        self.play(drive(looked_ms=1100, offered=False, handed_over=True),
                  drive(looked_ms=1100, state="cleaning", clean=False, offered=False),
                  drive(looked_ms=1300, cleaned_ms=1200, offered=False, handed_over=True))
        self.driver.cleanup(self.device())
        self.assertEqual(self.orders(), 2)

    def test_an_error_of_this_cleaning_is_raised_and_an_older_one_is_waited_out(self):
        self.play(drive(state="error", clean=False, state_since_ms=500, looked_ms=1100),
                  drive(state="cleaning", clean=False, looked_ms=1200),
                  drive(state="error", clean=False, state_since_ms=1300, looked_ms=1200,
                        status="the erase failed: media error"))
        self.assert_raises(["media error", "stays reserved"], self.driver.cleanup, self.device())

    def test_an_error_that_the_order_does_not_end_is_raised(self):
        self.play(drive(state="error", clean=False, state_since_ms=500, looked_ms=40_000))
        self.assert_raises(["in error"], self.driver.cleanup, self.device())

    def test_it_waits_for_a_worker_that_is_away(self):
        self.stop_worker()
        self.driver = self.new_driver(cleanup_timeout=1)
        self.assert_raises(["cleanup_timeout", "does not answer"], self.driver.cleanup,
                           self.device())

    def test_a_drive_that_is_not_the_workers_is_refused(self):
        self.tell()
        self.assert_raises(["no drive of Cyborg's"], self.driver.cleanup, self.device())
        for info in ("{}", "not JSON", json.dumps({"pci_address": "../../etc"}),
                     json.dumps({"pci_address": 7}), "[]"):
            self.assert_raises(["address"], self.driver.cleanup, self.device(info))


if __name__ == "__main__":
    unittest.main(verbosity=2)
