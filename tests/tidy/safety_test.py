#!/usr/bin/python3
"""docs/safety.md argues the promise claim by claim. A row is
`| claim | ensured by | noticed by | what remains |`. Here: that every file, test and mutant it
names exists. `ensured by` names files or folders in backticks. `noticed by` names tests as
FILE:TEST (as in docs/spec-coverage.md), mutants as `mutant NAME` (NAME is in a mutant list below
tests/), fuzz targets as `fuzz NAME` and, where none can exist, says why after the word "nothing:".

SECURITY.md promises. The last cell of a row of its tables of promises is a list of links, separated
by ";". Each leads to an anchor in a row of docs/safety.md or in its section "What remains"; and
each anchor there is led to."""
import os
import re
import sys
import unittest

from spec_coverage_test import ROOT, all_tests, holds, mutants_below, names_in

TABLE = os.path.join(ROOT, "docs/safety.md")
PROMISES = os.path.join(ROOT, "SECURITY.md")
PROMISING = ("What is defended", "Who the attackers are")
LINK = re.compile(r"\(docs/safety\.md#([\w-]+)\)")
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
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


def section(text, title):
    """What stands below "## title", up to the next such heading."""
    return text.partition("\n## %s\n" % title)[2].partition("\n## ")[0]


def anchors_in(text):
    """Of the rows, and of what remains."""
    remains = section(text, "What remains")
    return [name for part in [claim for _, claim, *_ in rows_of(text)] + [remains]
            for name in ANCHOR.findall(part)]


def broken_promises(security, text):
    """Sentences; none if each promise has its row, and each row that is marked its promise."""
    anchors = anchors_in(text)
    wrong = ["docs/safety.md: the anchor %s stands twice" % name
             for name in sorted(set(anchors)) if anchors.count(name) > 1]
    for title in PROMISING:
        rows = [line for line in section(security, title).splitlines() if line.startswith("|")][2:]
        if not rows:
            wrong.append("SECURITY.md: the section “%s” has no table" % title)
        wrong += ["SECURITY.md: “%s” leads to no row of docs/safety.md" % promise.strip()
                  for row in rows for promise in row.strip(" |").split("|")[-1].split(";")
                  if not LINK.search(promise)]
    linked = set(LINK.findall(security))
    wrong += ["docs/safety.md: nothing in SECURITY.md promises “%s”" % name
              for name in sorted(set(anchors) - linked)]
    wrong += ["SECURITY.md: docs/safety.md has no row “%s”" % name
              for name in sorted(linked - set(anchors) - {"what-remains"})]
    if "what-remains" not in linked:
        wrong.append("SECURITY.md does not lead to what remains")
    return wrong


def fuzz_targets(path):
    with open(path, encoding="utf-8") as file:
        return {"fuzz " + name for name in re.findall(r"^reclaim_fuzz\((\w+)", file.read(), re.M)}


def wrong_with(text, tests, targets, exists):
    """Sentences; none if all is well. `targets`: mutants and fuzz targets."""
    wrong = ["the section “%s” is missing" % title for title in SECTIONS
             if "\n## " + title not in text]
    for number, claim, held, noticed, remains in rows_of(text):
        where = "line %d (%s)" % (number, ANCHOR.sub("", claim)[:40])
        paths, names = names_in(held), names_in(noticed)
        if not paths:
            wrong.append("%s names nothing that ensures it" % where)
        if not names and not noticed.startswith("nothing:"):
            wrong.append('%s names no test, no mutant, no fuzz target, and does not say '
                         '"nothing: why"' % where)
        if not remains:
            wrong.append('%s does not say what remains; write "none known"' % where)
        wrong += ["%s: there is no %s" % (where, path) for path in paths if not exists(path)]
        for name in names:
            if name.startswith(("mutant ", "fuzz ")):
                if name not in targets:
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
        targets = (set(mutants_below(folder)) |
                   fuzz_targets(os.path.join(folder, "fuzz/CMakeLists.txt")))
        wrong = wrong_with(text, all_tests(), targets,
                           lambda path: os.path.exists(os.path.join(ROOT, path)))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(len(rows_of(text)), 30)

    def test_each_promise_has_its_row(self):
        with open(TABLE, encoding="utf-8") as file, open(PROMISES, encoding="utf-8") as promises:
            wrong = broken_promises(promises.read(), file.read())
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


class Checker(unittest.TestCase):
    """Each way in which the argument can be wrong, once."""

    HEADINGS = "".join("\n## %s\n" % title for title in SECTIONS)
    TESTS = {"a_test.cpp": ["TEST(Suite, Name) {"]}

    def wrong(self, row, headings=HEADINGS):
        return wrong_with(headings + row, self.TESTS, {"mutant no_lock", "fuzz http"},
                          lambda path: path == "src/a.cpp")

    def test_a_good_row_passes(self):
        for noticed in ("`a_test.cpp:Suite.Name`, `mutant no_lock`", "`fuzz http`",
                        "nothing: no drive does that"):
            self.assertEqual(self.wrong("| c | `src/a.cpp` | %s | none known |" % noticed), [])

    def test_what_is_wrong_is_said(self):
        for row, said in (
                ("| c | `src/b.cpp` | `mutant no_lock` | r |", "there is no src/b.cpp"),
                ("| c | the code | `mutant no_lock` | r |", "names nothing that ensures it"),
                ("| c | `src/a.cpp` | `a_test.cpp:Suite.Nam` | r |", "there is no test"),
                ("| c | `src/a.cpp` | `mutant no_loc` | r |", "there is no mutant"),
                ("| c | `src/a.cpp` | `fuzz htt` | r |", "there is no fuzz htt"),
                ("| c | `src/a.cpp` | by eye | r |", "no test, no mutant"),
                ("| c | `src/a.cpp` | `mutant no_lock` | |", "what remains")):
            wrong = self.wrong(row)
            self.assertEqual(len(wrong), 1, (row, wrong))
            self.assertIn(said, wrong[0])
        self.assertEqual(len(self.wrong("", headings="")), len(SECTIONS))


class Promises(unittest.TestCase):
    SECURITY = ("[open](docs/safety.md#what-remains)\n"
                "## What is defended\n\n| asset | against |\n|---|---|\n"
                "| data | [a reader](docs/safety.md#erased); [a lie](docs/safety.md#firmware) |\n"
                "\n## Who the attackers are\n\n| attacker | can | must not get |\n|---|---|---|\n"
                "| a tenant | write | [a worker that ends](docs/safety.md#stays) |\n")
    SAFETY = ('| <a id="erased"></a>it is erased | `a` | `b` | none |\n'
              '| <a id="stays"></a>it stays | `a` | `b` | none |\n'
              '\n## What remains\n\n- <a id="firmware"></a>**Firmware** lies.\n')

    def test_what_is_promised_and_kept_passes(self):
        self.assertEqual(broken_promises(self.SECURITY, self.SAFETY), [])

    def test_what_is_wrong_is_said(self):
        for of_security, old, new, said in (
                (True, "[a worker that ends](docs/safety.md#stays)",
                 "[a worker that ends](docs/safety.md#stays); a full disk",
                 "“a full disk” leads to no row"),
                (True, "#erased", "#what-remains", "nothing in SECURITY.md promises “erased”"),
                (True, "[open](docs/safety.md#what-remains)", "", "does not lead to what remains"),
                (True, "## What is defended", "## Assets", "“What is defended” has no table"),
                (False, ' id="stays"', ' id="stay"', "docs/safety.md has no row “stays”"),
                (False, "- <a id", "- <a name", "docs/safety.md has no row “firmware”"),
                (False, "it stays |", '<a id="erased"></a>it stays |', "erased stands twice")):
            texts = [self.SECURITY, self.SAFETY]
            texts[not of_security] = texts[not of_security].replace(old, new)
            wrong = broken_promises(*texts)
            self.assertTrue(any(said in each for each in wrong), (new, wrong))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
