#!/usr/bin/python3
"""docs/safety.md argues the promise claim by claim. A row is
`| claim | ensured by | noticed by | what remains |`. Here: that every file, test and mutant it
names exists. `ensured by` names files or folders in backticks. `noticed by` names tests as
FILE:TEST (as in docs/spec-coverage.md), mutants as `mutant NAME` (NAME is in a mutant list below
tests/) and, where neither can exist, says why after the word "nothing:"."""
import os
import re
import sys
import unittest

from spec_coverage_test import ROOT, all_tests, holds, names_in

TABLE = os.path.join(ROOT, "docs/safety.md")
SECTIONS = ("The promise", "Claims", "Attempts", "What remains")


def rows_of(text):
    """[(line number, claim, ensured by, noticed by, remains)] without headings and rules."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[0] not in ("claim", "attempt"):
            if not set(cells[0]) <= set("-: "):
                found.append((number, *cells))
    return found


def mutants_below(folder):
    found = set()
    for base, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".cmake"):
                with open(os.path.join(base, name), encoding="utf-8") as file:
                    found.update(re.findall(r"^(?:sim|unit)\w*_mutant\((\w+)", file.read(), re.M))
    return found


def wrong_with(text, tests, mutants, exists):
    """Sentences; none if all is well."""
    wrong = ["the section “%s” is missing" % title for title in SECTIONS
             if "\n## " + title not in text]
    for number, claim, held, noticed, remains in rows_of(text):
        where = "line %d (%s)" % (number, claim[:40])
        paths, names = names_in(held), names_in(noticed)
        if not paths:
            wrong.append("%s names nothing that ensures it" % where)
        if not names and not noticed.startswith("nothing:"):
            wrong.append('%s names no test, no mutant, and does not say "nothing: why"' % where)
        if not remains:
            wrong.append('%s does not say what remains; write "none known"' % where)
        wrong += ["%s: there is no %s" % (where, path) for path in paths if not exists(path)]
        for name in names:
            if name.startswith("mutant "):
                if name[len("mutant "):] not in mutants:
                    wrong.append("%s: there is no %s" % (where, name))
                continue
            file, _, method = name.partition(":")
            if not any(holds(each, method) for each in tests.get(file, [])):
                wrong.append("%s: there is no test %s" % (where, name))
    return wrong


class Argument(unittest.TestCase):
    def test_every_name_in_it_is_there(self):
        with open(TABLE, encoding="utf-8") as file:
            text = file.read()
        folder = os.path.join(ROOT, "tests")
        wrong = wrong_with(text, all_tests(), mutants_below(folder),
                           lambda path: os.path.exists(os.path.join(ROOT, path)))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(len(rows_of(text)), 30)


class Checker(unittest.TestCase):
    """Each way in which the argument can be wrong, once."""

    HEADINGS = "".join("\n## %s\n" % title for title in SECTIONS)
    TESTS = {"a_test.cpp": ["TEST(Suite, Name) {"]}

    def wrong(self, row, headings=HEADINGS):
        return wrong_with(headings + row, self.TESTS, {"no_lock"}, lambda path: path == "src/a.cpp")

    def test_a_good_row_passes(self):
        for noticed in ("`a_test.cpp:Suite.Name`, `mutant no_lock`", "nothing: no drive does that"):
            self.assertEqual(self.wrong("| c | `src/a.cpp` | %s | none known |" % noticed), [])

    def test_what_is_wrong_is_said(self):
        for row, said in (
                ("| c | `src/b.cpp` | `mutant no_lock` | r |", "there is no src/b.cpp"),
                ("| c | the code | `mutant no_lock` | r |", "names nothing that ensures it"),
                ("| c | `src/a.cpp` | `a_test.cpp:Suite.Nam` | r |", "there is no test"),
                ("| c | `src/a.cpp` | `mutant no_loc` | r |", "there is no mutant"),
                ("| c | `src/a.cpp` | by eye | r |", "no test, no mutant"),
                ("| c | `src/a.cpp` | `mutant no_lock` | |", "what remains")):
            wrong = self.wrong(row)
            self.assertEqual(len(wrong), 1, (row, wrong))
            self.assertIn(said, wrong[0])
        self.assertEqual(len(self.wrong("", headings="")), len(SECTIONS))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
