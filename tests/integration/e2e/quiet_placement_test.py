#!/usr/bin/python3
"""A host where nothing happens asks Placement almost nothing. What handlers/survey/reading_memory.h
rests on is looked up in the Placement that is installed."""
import time
import unittest
import uuid
from email.utils import parsedate_to_datetime

from case import FIRST, SECOND, EndToEnd, Setting, services, tear_down_services
from waiting import wait_until

VCPU = "VCPU"


def tearDownModule():
    tear_down_services()


class Generations(EndToEnd):
    """Which generations the listing of a tree shows to have moved."""

    def setUp(self):
        self.stack = services()
        self.placement = self.stack.placement()
        self.host = "host-" + str(uuid.uuid4())
        self.consumer = str(uuid.uuid4())
        made = self.stack.register(self.host, FIRST, consumer=self.consumer)
        self.device, self.root = made["uuid"], made["root_uuid"]
        self.resource_class = made["resource_class"]
        self.other = self.stack.register(self.host, SECOND)["uuid"]
        self.before = self.listed()

    def listed(self):
        rows = self.placement.call("GET", "/resource_providers?in_tree=" + self.root)
        return {row["uuid"]: row["generation"] for row in rows["resource_providers"]}

    def moved(self):
        before, self.before = self.before, self.listed()
        return {uuid for uuid, generation in self.before.items() if before[uuid] != generation}

    def put(self, consumer, allocations, again=True):
        generation = None
        if again:
            generation = self.placement.call("GET", "/allocations/" + consumer)[
                "consumer_generation"]
        self.placement.call("PUT", "/allocations/" + consumer, {
            "allocations": {uuid: {"resources": {name: 1}} for uuid, name in allocations.items()},
            "consumer_generation": generation, "project_id": "demo", "user_id": "demo"})

    def test_deleted_allocations_move_none_and_leave_the_root(self):
        self.assertIn(self.consumer, self.stack.consumers(self.root))
        self.stack.placement().free(self.consumer)
        self.assertEqual(self.moved(), set())
        self.assertNotIn(self.consumer, self.stack.consumers(self.root))

    def test_new_allocations_move_what_they_are_of(self):
        self.stack.placement().free(self.consumer)
        self.stack.reserve(self.device, 0)
        self.moved()
        self.put(self.consumer, {self.root: VCPU, self.device: self.resource_class}, again=False)
        self.assertEqual(self.moved(), {self.root, self.device})

    def test_a_put_without_the_device_moves_the_root_alone(self):
        self.put(self.consumer, {self.root: VCPU})
        self.assertEqual(self.moved(), {self.root})
        self.assertEqual(self.stack.consumers(self.device), [])

    def test_a_move_to_a_migration_moves_both(self):
        migration = str(uuid.uuid4())
        self.stack.reserve(self.device, 0)  # Placement counts what is reserved as used
        self.moved()
        self.placement.move(self.consumer, migration)
        self.assertEqual(self.moved(), {self.root, self.device})
        self.stack.placement().free(migration)

    def test_inventories_and_traits_move_their_provider(self):
        self.stack.reserve(self.other, 0)
        self.assertEqual(self.moved(), {self.other})
        traits = self.placement.call("GET", "/resource_providers/%s/traits" % self.other)["traits"]
        self.placement.put_traits(self.other, traits + ["HW_NIC_SRIOV"])
        self.assertEqual(self.moved(), {self.other})
        self.placement.put_traits(self.other, traits)
        self.assertEqual(self.moved(), {self.other})

    def last_modified(self):
        return self.placement.last_modified("/resource_providers?in_tree=" + self.root)

    def long_ago(self):
        """The time of the listing, once the next change cannot fall into the same second."""
        listed = self.last_modified()
        wait_until(lambda: time.time() >= parsedate_to_datetime(listed).timestamp() + 1,
                   "that second is over")
        return listed

    def test_a_provider_made_again_shows_in_the_time_of_the_listing(self):
        """Cyborg gives it the UUID that it had, and it may come to the generation that it had."""
        path = "/resource_providers/" + self.other
        name = self.placement.call("GET", path)["name"]
        before, generation = self.long_ago(), self.listed()[self.other]
        self.placement.call("DELETE", path)
        self.placement.make_provider(name, self.root, self.other)
        while self.listed()[self.other] < generation:
            self.placement.put_inventory(self.other, self.resource_class, total=1)
        self.assertEqual(self.listed()[self.other], generation)
        self.assertNotEqual(self.last_modified(), before)

    def test_each_change_moves_the_time_of_the_listing(self):
        for change in (lambda: self.stack.reserve(self.other, 0),
                       lambda: self.put(self.consumer, {self.root: VCPU}),
                       lambda: self.placement.put_traits(self.other, [])):
            before = self.long_ago()
            change()
            self.assertNotEqual(self.last_modified(), before)


class QuietSurveys(EndToEnd):
    """Of a worker that is surveying each five seconds."""

    def surveyed(self, made):
        """The requests about this host between two listings of its tree."""
        root = made.services.placement().provider(made.name)["uuid"]
        ours = set(made.providers.values()) | {root}
        asked = [path for method, path, _ in made.services.requests()
                 if any(each in path for each in ours) and method == "GET"]
        listings = [place for place, path in enumerate(asked) if path.endswith("in_tree=" + root)]
        return [asked[first:last] for first, last in zip(listings, listings[1:])]

    def test_an_idle_survey_is_two_requests_and_sees_a_device_that_is_freed(self):
        made = Setting(self, ["address=%s,serial=ONE,size=32M,duration_ms=300" % FIRST,
                              "address=%s,serial=TWO,size=32M,duration_ms=300" % SECOND],
                       survey_s=5)
        tenant = str(uuid.uuid4())
        made.host.fill(FIRST, 7)
        made.register(FIRST, consumer=tenant)
        made.register(SECOND, reserved=0)
        made.worker.start()
        made.worker.wait_field(FIRST, "device_state", "allocated")

        def quiet():
            surveys = self.surveyed(made)
            return len(surveys) > 2 and [len(each) for each in surveys[-2:]] == [2, 2]
        wait_until(quiet, "two surveys of two requests each, one after the other")

        # Nobody says a word of it: an event was lost.
        made.free(tenant)
        made.worker.wait_field(FIRST, "device_state", "available")
        self.assertEqual(made.reserved(FIRST), 0)
        self.assertEqual(made.host.sanitizes(FIRST), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
