#!/usr/bin/python3
"""What clang-tidy reads where nothing is remembered: what differs from the commit of .ci/tidied."""

import os
import subprocess
import tempfile
import unittest
import unittest.mock

import clang_tidy

SOURCES = ["nvme/drive.cpp", "nvme/erase.cpp", "nvme/new.cpp"]


class Differing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name, value in (("ROOT", self.root),
                            ("__file__", os.path.join(self.root, "checker.py"))):
            changed = unittest.mock.patch.object(clang_tidy, name, value)
            changed.start()
            self.addCleanup(changed.stop)
        self.git("init", "-q")
        for path, text in (("nvme/drive.cpp", '#include "nvme/drive.h"\n'),
                           ("nvme/drive.h", '#include "nvme/facts.h"\n'),
                           ("nvme/facts.h", "int facts();\n"), ("nvme/erase.cpp", "int e();\n"),
                           (".clang-tidy", "Checks: '*'\n"), ("checker.py", "pass\n")):
            self.write(path, text)
        self.tidied = self.commit()
        self.write(".ci/tidied", self.tidied + "\n")

    def git(self, *arguments):
        return subprocess.run(
            ["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@example.org",
             *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def write(self, path, text):
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as stream:
            stream.write(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a commit")
        return self.git("rev-parse", "HEAD")

    def differing(self, paths=("nvme/drive.cpp", "nvme/erase.cpp")):
        build = os.path.join(self.root, "build")
        return clang_tidy.differing(list(paths), clang_tidy.Reach(self.root, build), build)

    def test_nothing_where_nothing_changed(self):
        self.assertEqual(self.differing(), [])

    def test_what_reaches_a_changed_header(self):
        self.write("nvme/facts.h", "long facts();\n")
        self.assertEqual(self.differing(), ["nvme/drive.cpp"])

    def test_what_is_new(self):
        self.write("nvme/new.cpp", "int n();\n")
        self.commit()
        self.assertEqual(self.differing(SOURCES), ["nvme/new.cpp"])

    def test_all_where_the_checks_are_others(self):
        for path in (".clang-tidy", "checker.py"):
            with self.subTest(path):
                self.write(path, "another\n")
                self.assertEqual(self.differing(SOURCES[:2]), SOURCES[:2])

    def test_all_where_the_commit_is_of_another_history(self):
        self.git("checkout", "-q", "--orphan", "other")
        self.commit()
        self.assertEqual(self.differing(SOURCES[:2]), SOURCES[:2])

    def test_all_where_it_names_no_commit(self):
        self.write(".ci/tidied", "none\n")
        self.assertEqual(self.differing(SOURCES[:2]), SOURCES[:2])


if __name__ == "__main__":
    unittest.main()
