#!/usr/bin/python3
"""What must not break the promise, end to end: crashes and stops in the middle of an erase, Redis,
Placement and RabbitMQ going away and coming back, a provider that Nova re-created."""
import http.server
import json
import threading
import unittest
import urllib.error
import urllib.request

from case import FIRST, LONG_MS, SEED, EndToEnd, domain, services, tear_down_services
from services import wait_until


def tearDownModule():
    tear_down_services()


class PlacementDoor:
    """Stands between the worker and Placement; while `closed`, it answers 503 as a load balancer
    does whose servers are all gone."""

    def __init__(self, url):
        door = self
        self.closed = False
        self.refused = 0
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, headers, body):
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("connection", "transfer-encoding", "content-length",
                                            "server", "date"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if door.closed:
                    door.refused += 1
                    return self.answer(503, [("Content-Type", "text/plain")], b"no server is up\n")
                request = urllib.request.Request(url + self.path, data=body or None,
                                                 method=self.command)
                for name, value in self.headers.items():
                    if name.lower() not in ("host", "connection", "content-length"):
                        request.add_header(name, value)
                try:
                    with opener.open(request, timeout=60) as answer:
                        return self.answer(answer.status, answer.getheaders(), answer.read())
                except urllib.error.HTTPError as error:
                    return self.answer(error.code, error.headers.items(), error.read())

            do_GET = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def shut_down(self):
        self.server.shutdown()
        self.server.server_close()


class Interrupted(EndToEnd):
    def test_a_killed_worker_adopts_the_sanitize_that_goes_on_in_the_drive(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        made.worker.kill()
        self.assertEqual(made.host.sanitize_status(FIRST), 2)
        made.worker.start()
        made.worker.wait_log(r"still_burned_adopt")
        self.wait_erasing(made)
        self.assert_reserved(made)
        self.finish_sanitize(made)
        self.assert_released(made, sanitizes=1)
        certificate = json.loads(made.services.redis(
            "get", "reclaim:{%s}:certificate:%s" % (made.name, FIRST),
            db=made.db))["sealed"]["certificate"]
        self.assertTrue(certificate["evidence"]["adopted"])
        self.assertGreater(certificate["verification"]["samples_counted"], 0)

    def test_a_planned_stop_leaves_the_drive_to_itself_and_goes_on_after_the_start(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        self.assertEqual(made.worker.stop(), 0)
        self.assertIn("planned_stop", [entry["trigger"] for entry in made.worker.journal()])
        self.assertEqual(made.services.redis(
            "exists", "reclaim:{%s}:lock:%s" % (made.name, FIRST), db=made.db), "0")
        self.assert_reserved(made)
        made.worker.start()
        made.worker.wait_log(r"still_burned_adopt")
        self.finish_sanitize(made)
        self.assert_released(made, sanitizes=1)

    def test_a_sanitize_that_ended_while_nobody_looked_is_done_again(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        made.worker.kill()
        self.finish_sanitize(made)
        made.host.set(FIRST, duration_ms=300)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "available")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.digest(FIRST, SEED)["tenant_blocks_kept"], "0")

    def test_interrupted_cleaning_error_leaves_it_to_an_operator(self):
        made = self.setting(duration_ms=LONG_MS)
        made.worker.write_config("[recovery]\ninterrupted_cleaning = error\n")
        self.delete(made)
        self.wait_erasing(made)
        made.worker.kill()
        made.worker.start(wait=False)
        made.worker.wait_field(FIRST, "device_state", "error")
        self.assert_reserved(made)


class RedisAway(EndToEnd):
    def test_nothing_is_released_before_the_record_is_durable(self):
        made = self.setting(duration_ms=LONG_MS)
        self.delete(made)
        self.wait_erasing(made)
        made.services.kill_redis()
        try:
            self.finish_sanitize(made)
            made.worker.wait_log(r"record cannot be written")
            self.assert_reserved(made)
        finally:
            made.services.start_redis()
        self.assert_released(made)

    def test_the_ledger_knows_what_an_empty_redis_forgot(self):
        made = self.setting()
        # A guest's definition keeps it dirty for as long as the test needs.
        made.host.write("etc/libvirt/qemu/guest.xml", domain(FIRST))
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        made.worker.kill()
        made.services.redis("flushdb", db=made.db)
        # What nova-compute does when the device vanished for a moment: a provider from scratch.
        placement = made.services.placement()
        placement.call("DELETE", "/resource_providers/" + made.providers[FIRST])
        made.register(FIRST, reserved=0)
        made.worker.write_config(survey_s=5)
        made.worker.start()
        wait_until(lambda: made.reserved(FIRST) == 1, "the ledger has it reserved again")
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        made.host.remove("etc/libvirt/qemu/guest.xml")
        self.assert_released(made)


class PlacementAway(EndToEnd):
    def test_a_release_waits_for_placement_to_come_back(self):
        door = PlacementDoor(self.endpoint())
        self.addCleanup(door.shut_down)
        made = self.setting(duration_ms=LONG_MS, start=False)
        made.worker.settings["region"] += "\nendpoint_override = " + door.url
        made.worker.write_config()
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")
        self.delete(made)
        self.wait_erasing(made)
        door.closed = True
        self.finish_sanitize(made)
        wait_until(lambda: door.refused >= 3, "it was asked for again and again")
        made.worker.wait_log(r"placement_away")
        self.assert_reserved(made)
        self.assertEqual(made.worker.field(FIRST, "device_state"), "cleaning")
        door.closed = False
        self.assert_released(made)

    def endpoint(self):
        return services().endpoints["placement_url"]


class BrokerAway(EndToEnd):
    def test_after_a_restart_of_the_broker_the_next_delete_is_heard(self):
        made = self.setting()
        made.services.stop_broker()
        made.worker.wait_log(r"RabbitMQ")
        made.services.start_broker()
        with made.services.bus() as connection:
            connection.declare_exchange()  # not durable: Nova makes it again, and so do we
        made.free()

        def heard():
            made.publish(made.delete_messages())
            made.worker.must_run()
            return made.worker.field(FIRST, "device_state") != "allocated"
        wait_until(heard, "the delete is heard")
        self.assert_released(made)


class OneWorker(EndToEnd):
    def test_a_second_worker_on_the_machine_is_refused(self):
        made = self.setting()
        code, _, err = made.worker.command("serve")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"another|holds|running")

    def test_another_machine_with_the_same_host_name_cleans_nothing(self):
        made = self.setting()
        made.host.write("etc/libvirt/qemu/guest.xml", domain(FIRST))
        self.delete(made)
        made.worker.wait_field(FIRST, "device_state", "pending_cleaning")
        made.worker.kill()
        made.host.remove("etc/libvirt/qemu/guest.xml")
        made.host.write("etc/machine-id", "ffffffffffffffffffffffffffffffff\n")
        before = made.worker.field(FIRST, "epoch")
        copied = made.make_worker("copied")
        self.addCleanup(copied.kill)
        copied.start(wait=False)
        copied.wait_log(r"nothing is read, written or cleaned.*machine")
        # The books are the other machine's: not even a remark may be written into them.
        self.assertEqual(made.worker.field(FIRST, "epoch"), before)
        self.assertEqual(made.host.sanitizes(FIRST), 0)
        self.assert_reserved(made)


if __name__ == "__main__":
    unittest.main(verbosity=2)
