#!/usr/bin/python3
"""The schedule is a pure function of the seed, and holds what it promises."""
import unittest

import schedule


class Schedule(unittest.TestCase):
    def test_the_same_seed_gives_the_same_schedule(self):
        self.assertEqual(schedule.make(7, 5, 2, 4), schedule.make(7, 5, 2, 4))
        self.assertEqual(schedule.table(schedule.make(7, 5, 2, 4)),
                         schedule.table(schedule.make(7, 5, 2, 4)))

    def test_another_seed_gives_another_schedule(self):
        self.assertNotEqual(schedule.make(7, 5, 2, 4).faults, schedule.make(8, 5, 2, 4).faults)
        self.assertNotEqual(schedule.make(7, 5, 2, 4).deletions,
                            schedule.make(8, 5, 2, 4).deletions)

    def test_a_seed_means_what_it_meant(self):
        """A seed of a report has to show the same run again: a change here is on purpose."""
        made = schedule.make(4711, 2, 2, 4)
        self.assertEqual([tuple(each) for each in made.faults[:3]], FIRST_FAULTS)
        self.assertEqual([tuple(each) for each in made.deletions[:3]], FIRST_DELETIONS)

    def test_every_fault_has_ended_before_the_run_has(self):
        for seed in range(50):
            for each in schedule.make(seed, 3, 2, 4).faults:
                self.assertGreaterEqual(each.at_s, schedule.QUIET_S)
                self.assertGreaterEqual(each.lasts_s, 0)
                self.assertLessEqual(each.at_s + each.lasts_s, 180 - schedule.QUIET_S + 0.2)

    def test_nothing_has_two_faults_at_a_time(self):
        for seed in range(50):
            until = {}
            for each in schedule.make(seed, 10, 3, 4).faults:
                self.assertGreaterEqual(each.at_s, until.get(each.target, 0), each)
                until[each.target] = each.at_s + each.lasts_s

    def test_only_what_was_asked_for(self):
        made = schedule.make(7, 10, 2, 4, only=("kill", "cut"))
        self.assertEqual({each.fault for each in made.faults}, {"kill", "cut"})
        self.assertEqual(schedule.make(7, 10, 2, 4, only=()).faults, [])

    def test_nothing_befalls_what_is_spared(self):
        made = schedule.make(7, 20, 2, 4, spare=("rabbitmq", "worker-1"))
        self.assertFalse({each.target for each in made.faults} &
                         {"rabbitmq", "rabbitmq-door", "worker-1", "disk-worker-1"})
        self.assertIn("redis-door", {each.target for each in made.faults})

    def test_every_fault_and_every_target_occurs(self):
        seen = {(each.fault, each.target) for seed in range(100)
                for each in schedule.make(seed, 10, 2, 4).faults}
        self.assertEqual(seen, {(fault, target) for fault in schedule.KINDS
                                for target in schedule.targets_of(fault, 2)})

    def test_a_full_redis_ends_or_refuses(self):
        seen = {each.how.get("appendfsync") for seed in range(50)
                for each in schedule.make(seed, 10, 2, 4, only=("disk",)).faults
                if each.target == "redis"}
        self.assertEqual(seen, {"always", "everysec"})

    def test_every_device_is_deleted(self):
        made = schedule.make(7, 10, 2, 4)
        self.assertEqual({each.device for each in made.deletions}, set(range(8)))
        self.assertEqual([each.at_s for each in made.deletions],
                         sorted(each.at_s for each in made.deletions))

    def test_the_table_has_a_line_for_each(self):
        made = schedule.make(7, 5, 2, 4)
        self.assertEqual(len(schedule.table(made).splitlines()),
                         1 + len(made.faults) + len(made.deletions))


FIRST_FAULTS = [
    (5.3, 23.2, "slow", "redis-door", {"delay_ms": 50}),
    (7.1, 2.2, "term", "worker-2", {}),
    (13.1, 4.5, "stop", "worker-1", {}),
]
FIRST_DELETIONS = [(1.0, 7), (5.8, 0), (7.6, 2)]

if __name__ == "__main__":
    unittest.main()
