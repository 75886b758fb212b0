#!/usr/bin/python3
"""What the first hour takes out of the documents is there, and nothing there contradicts it."""

import unittest

import documents


class Documents(unittest.TestCase):
    def test_the_ten_lines_build_install_configure_and_start(self):
        building, installing = documents.ten_lines()
        self.assertTrue(building[-1].endswith("cpack -G DEB)"), building)
        self.assertEqual(len(building) + len(installing), 10)
        words = ("apt install", "sudoedit", "doctor", "config udev", "systemctl enable", "list")
        for line, word in zip(installing, words, strict=True):
            self.assertIn(word, line)

    def test_the_readme_has_no_command_of_its_own(self):
        _, installing = documents.ten_lines()
        self.assertEqual(documents.missing_commands(installing), [])
        self.assertEqual(documents.missing_commands(installing[:-1]), ["reclaim device list"])

    def test_its_files_hold_the_examples_that_a_site_replaces(self):
        for name, examples in (("nova.conf", ('"144d"', '"a80a"', "one_time_use")),
                               ("reclaim.conf", ('"144d"', '"a80a"', "redis://redis.example:6379/0",
                                                 "service_config = /etc/nova/nova.conf"))):
            text = documents.readme_file(name)
            self.assertNotIn(examples[0], documents.with_values(text, {
                example: "own" for example in examples}))
        with self.assertRaises(AssertionError):
            documents.with_values("a b a", {"a": "own"})
        with self.assertRaises(AssertionError):
            documents.readme_file("cinder.conf")


if __name__ == "__main__":
    unittest.main(verbosity=2)
