#!/usr/bin/python3
"""docs/dev/spec-coverage.md says for each rule of the specifications which code holds it and which
test proves it. Here: that all it names is there. A row is `| rule | code | test |`, its names in
backticks: files or folders of the code, and tests as FILE:TEST, where FILE is a file's name in
one of TESTS (unique) and TEST a gtest's Suite.Name or a Python method. Beside a test there may be
mutants, as `mutant NAME`: the rule broken, NAME in a mutant list below tests/, where a test of the
row is the one that has to notice it. A rule that is not ours, or
not done yet, has words and no backticks. The page says how many rows have a mutant, and how many of
the others could not: as many as are counted here."""
import os
import re
import sys
import unittest
from fnmatch import fnmatchcase

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TESTS = ("tests", "clients/python/tests")
TABLE = os.path.join(ROOT, "docs/dev/spec-coverage.md")
ROW = re.compile(r"^\|(.+)\|(.+)\|(.+)\|$")
TITLES = ("Generic NVMe driver with secure cleanup",
          "Support VFIO variant driver managed mode in Cyborg",
          "Support for “one time use” devices",
          "Implement Cleaning States",
          "Virtual guest device role tagging")
WITHOUT_CODE = ("not ours", "not done", "out of scope")
WITH_MUTANTS = ("handlers", "nvme", "state")  # the folders whose sources the mutants are of


def rows_of(text):
    """[(line number, rule, code, test)] without headings and rules between them."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = ROW.match(line)
        if match:
            rule, code, test = (cell.strip() for cell in match.groups())
            if rule != "rule" and not set(rule) <= set("-: "):
                found.append((number, rule, code, test))
    return found


def names_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def all_tests():
    """File name -> [text] of every file that can hold a test."""
    found = {}
    for folder in TESTS:
        for base, _, files in os.walk(os.path.join(ROOT, folder)):
            for name in files:
                if name.endswith((".cpp", ".py")):
                    with open(os.path.join(base, name), encoding="utf-8") as file:
                        found.setdefault(name, []).append(file.read())
    return found


def holds(text, test):
    """Whether a file's text has that gtest (Suite.Name) or that Python method."""
    suite, dot, name = test.partition(".")
    if not dot:
        return re.search(r"def %s\(" % re.escape(test), text) is not None
    return re.search(r"\bTEST(_F|_P)?\(\s*%s,\s*%s\s*\)" % (re.escape(suite), re.escape(name)),
                     text) is not None


def mutants_below(folder):
    """"mutant NAME" -> the tests that have to notice it, as gtest's filter; "": the worlds do."""
    found = {}
    for base, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".cmake"):
                with open(os.path.join(base, name), encoding="utf-8") as file:
                    text = file.read()
                for kind, mutant, _, _, test in re.findall(
                        r"^((?:sim|unit)\w*)_mutant\((\w+)(\s+\w+)?(\s+[\w/.]+)(\s+[^\s\")]+)?",
                        text, re.M):
                    found["mutant " + mutant] = test.strip() if kind == "unit" else ""
    return found


def notices(tests, name):
    """Whether gtest's filter of a mutant chooses the test FILE:SUITE.NAME, with any parameter."""
    suite, dot, method = name.partition(":")[2].partition(".")
    if not dot:
        return False
    for each in tests.split(":"):
        wanted_suite, _, wanted = each.partition(".")
        parameterized = "/" in wanted_suite
        if wanted_suite.rpartition("/")[2] in (suite, "*" + suite, "*") and (
                fnmatchcase(method, wanted) or parameterized):
            return True
    return False


def counted(text):
    """What the page has to say of its rows that name code, by whether they name a mutant."""
    rows = [(names_in(code), names_in(test)) for _, _, code, test in rows_of(text)
            if names_in(code)]
    without = [(paths, names) for paths, names in rows
               if not any(name.startswith("mutant ") for name in names)]
    others = [paths for paths, names in without
              if not all(name.partition(":")[0].endswith(".py") for name in names)]
    could = sum(any(path.partition("/")[0] in WITH_MUTANTS for path in paths) for paths in others)
    return ("Of the %d rows that name code, %d name a mutant. The other %d name none." %
            (len(rows), len(rows) - len(without), len(without)),
            "- %d are noticed by Python tests alone." % (len(without) - len(others)),
            "- %d have their code outside of" % (len(others) - could),
            "- %d could have a mutant." % could)


def wrong_with(text, tests, exists, mutants):
    """Sentences; none if all is well. `mutants`: as mutants_below() has them."""
    wrong = ["the specification “%s” has no section" % title for title in TITLES
             if "\n## " + title not in text]
    rows = rows_of(text)
    for number, rule, code, test in rows:
        paths, names = names_in(code), names_in(test)
        where = "line %d (%s)" % (number, rule[:40])
        if not paths:
            if not code.startswith(WITHOUT_CODE):
                wrong.append("%s names no code and is none of: %s" %
                             (where, ", ".join(WITHOUT_CODE)))
            if names:
                wrong.append("%s has a test but no code" % where)
            continue
        if not names:
            wrong.append("%s has code but no test" % where)
        wrong += ["%s: there is no %s" % (where, path) for path in paths if not exists(path)]
        for name in names:
            if name.startswith("mutant "):
                if not any(notices(mutants.get(name, ""), test) for test in names):
                    wrong.append("%s: there is no %s that a test of the row notices" %
                                 (where, name))
                continue
            file, _, method = name.partition(":")
            texts = tests.get(file, [])
            if not any(holds(each, method) for each in texts):
                wrong.append("%s: there is no test %s" % (where, name))
    return wrong


class Table(unittest.TestCase):
    def test_every_name_in_it_is_there(self):
        with open(TABLE, encoding="utf-8") as file:
            text = file.read()
        wrong = wrong_with(text, all_tests(),
                           lambda path: os.path.exists(os.path.join(ROOT, path)),
                           mutants_below(os.path.join(ROOT, "tests")))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(len(rows_of(text)), 80)

    def test_it_says_how_many_rows_have_a_mutant(self):
        with open(TABLE, encoding="utf-8") as file:
            text = file.read()
        for sentence in counted(text):
            self.assertIn(sentence, " ".join(text.split()))


class Checker(unittest.TestCase):
    """Each way in which a table can be wrong, once."""

    HEADINGS = "".join("\n## %s\n" % title for title in TITLES)
    TESTS = {"a_test.cpp": ["TEST(Suite, Name) {\nTEST_F(Fixture,\n       Other) {"],
             "b_test.py": ["    def test_it(self):"]}
    MUTANTS = {"mutant one": "Suite.Na*", "mutant each": "All/Suite.*one", "mutant of_worlds": ""}

    def wrong(self, *rows, headings=None):
        text = (self.HEADINGS if headings is None else headings) + "\n".join(rows)
        return wrong_with(text, self.TESTS, lambda path: path == "src/a.cpp", self.MUTANTS)

    def test_a_good_table_passes(self):
        self.assertEqual(self.wrong(
            "| rule | code | test |", "|---|---|---|",
            "| one | `src/a.cpp` | `a_test.cpp:Suite.Name`, `b_test.py:test_it` |",
            "| two | `src/a.cpp` | `a_test.cpp:Fixture.Other` |",
            "| r | `src/a.cpp` | `a_test.cpp:Suite.Name`, `mutant one`, `mutant each` |",
            "| three | not ours: Nova's | |"), [])

    def test_rows_are_counted_by_what_could_have_a_mutant(self):
        of_all = ("| a | `nvme/a.cpp` | `a_test.cpp:Suite.Name`, `mutant one` |",
                  "| b | `nvme/a.cpp`, `cli/b.cpp` | `b_test.py:test_it` |",
                  "| c | `cli/b.cpp` | `a_test.cpp:Suite.Name`, `b_test.py:test_it` |",
                  "| d | `cli/b.cpp`, `nvme/a.cpp` | `a_test.cpp:Suite.Name` |",
                  "| e | `state/c.h` | `a_test.cpp:Suite.Name` |",
                  "| f | not ours: Nova's | |")
        self.assertEqual(counted("\n".join(of_all)), (
            "Of the 5 rows that name code, 1 name a mutant. The other 4 name none.",
            "- 1 are noticed by Python tests alone.", "- 1 have their code outside of",
            "- 2 could have a mutant."))

    def test_what_is_wrong_is_said(self):
        for row, said in (
                ("| r | `src/b.cpp` | `a_test.cpp:Suite.Name` |", "there is no src/b.cpp"),
                ("| r | `src/a.cpp` | `a_test.cpp:Suite.Nam` |", "there is no test"),
                ("| r | `src/a.cpp` | `b_test.py:test_i` |", "there is no test"),
                ("| r | `src/a.cpp` | `c_test.cpp:Suite.Name` |", "there is no test"),
                ("| r | `src/a.cpp` | by eye |", "no test"),
                ("| r | `src/a.cpp` | `a_test.cpp:Suite.Name`, `mutant two` |", "mutant two"),
                ("| r | `src/a.cpp` | `a_test.cpp:Fixture.Other`, `mutant one` |", "mutant one"),
                ("| r | `src/a.cpp` | `a_test.cpp:Suite.Name`, `mutant of_worlds` |", "notices"),
                ("| r | somewhere | |", "names no code"),
                ("| r | not done yet | `b_test.py:test_it` |", "a test but no code")):
            wrong = self.wrong(row)
            self.assertEqual(len(wrong), 1, (row, wrong))
            self.assertIn(said, wrong[0])
        self.assertEqual(len(self.wrong(headings="")), len(TITLES))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
