#!/usr/bin/python3
"""The promise is argued claim by claim, in docs/dev/safety-claims.md, docs/dev/safety-attempts.md
and, of what remains, docs/safety.md. A row is
`| claim | ensured by | noticed by | what remains |`. Here: that every file, test and mutant it
names exists. `ensured by` names files or folders in backticks. `noticed by` names tests as
FILE:TEST (as in docs/dev/spec-coverage.md), mutants as `mutant NAME` (NAME is in a mutant list
below tests/), fuzz targets as `fuzz NAME` and, where none can exist, says why after the word
"nothing:". Each test of adversary_test.py is named by an attempt.

SECURITY.md promises. The last cell of a row of its tables of promises is a list of links, separated
by ";". Each leads to an anchor in a row of one of these pages or in the section "What remains"; and
each anchor there is led to, on its own page."""
import os
import re
import sys
import unittest

from spec_coverage_test import ROOT, all_tests, holds, mutants_below, names_in

SAFETY, CLAIMS, ATTEMPTS = ("docs/safety.md", "docs/dev/safety-claims.md",
                            "docs/dev/safety-attempts.md")
SECTIONS = {SAFETY: ("The promise", "What remains"), CLAIMS: ("Claims",), ATTEMPTS: ("Attempts",)}
ROWS_MIN = {SAFETY: 0, CLAIMS: 90, ATTEMPTS: 70}
ADVERSARY = "adversary_test.py"
PROMISES = os.path.join(ROOT, "SECURITY.md")
PROMISING = ("What is defended", "Who the attackers are")
LINK = re.compile(r"\((docs/(?:dev/)?safety[\w-]*\.md#[\w-]+)\)")
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
WHAT_REMAINS = SAFETY + "#what-remains"


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


def anchors_in(pages):
    """PAGE#ANCHOR of the rows, and of what remains."""
    return ["%s#%s" % (page, name) for page, text in pages.items()
            for part in [claim for _, claim, *_ in rows_of(text)] + [section(text, "What remains")]
            for name in ANCHOR.findall(part)]


def broken_promises(security, pages):
    """Sentences; none if each promise has its row, and each row that is marked its promise."""
    anchors = anchors_in(pages)
    names = [name.partition("#")[2] for name in anchors]
    wrong = ["the anchor %s stands twice" % name
             for name in sorted(set(names)) if names.count(name) > 1]
    for title in PROMISING:
        rows = [line for line in section(security, title).splitlines() if line.startswith("|")][2:]
        if not rows:
            wrong.append("SECURITY.md: the section “%s” has no table" % title)
        wrong += ["SECURITY.md: “%s” leads to no row of the argument" % promise.strip()
                  for row in rows for promise in row.strip(" |").split("|")[-1].split(";")
                  if not LINK.search(promise)]
    linked = set(LINK.findall(security))
    wrong += ["nothing in SECURITY.md promises “%s”" % name
              for name in sorted(set(anchors) - linked)]
    wrong += ["SECURITY.md: there is no row “%s”" % name
              for name in sorted(linked - set(anchors) - {WHAT_REMAINS})]
    if WHAT_REMAINS not in linked:
        wrong.append("SECURITY.md does not lead to what remains")
    return wrong


def fuzz_targets(path):
    with open(path, encoding="utf-8") as file:
        return {"fuzz " + name for name in re.findall(r"^reclaim_fuzz\((\w+)", file.read(), re.M)}


def pages_of(root):
    found = {}
    for page in SECTIONS:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            found[page] = file.read()
    return found


def wrong_with(text, sections, tests, targets, exists):
    """Sentences; none if all is well. `targets`: mutants and fuzz targets."""
    wrong = ["the section “%s” is missing" % title for title in sections
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
        folder = os.path.join(ROOT, "tests")
        targets = (set(mutants_below(folder)) |
                   fuzz_targets(os.path.join(folder, "fuzz/CMakeLists.txt")))
        tests = all_tests()
        for page, text in pages_of(ROOT).items():
            with self.subTest(page):
                wrong = wrong_with(text, SECTIONS[page], tests, targets,
                                   lambda path: os.path.exists(os.path.join(ROOT, path)))
                self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
                self.assertGreaterEqual(len(rows_of(text)), ROWS_MIN[page])

    def test_each_attack_on_real_services_is_an_attempt(self):
        attacks = re.findall(r"def (test_\w+)\(", *all_tests()[ADVERSARY])
        cited = {name for *_, noticed, _ in rows_of(pages_of(ROOT)[ATTEMPTS])
                 for name in names_in(noticed)}
        self.assertTrue(attacks)
        self.assertEqual([name for name in attacks if ADVERSARY + ":" + name not in cited], [])

    def test_each_promise_has_its_row(self):
        with open(PROMISES, encoding="utf-8") as promises:
            wrong = broken_promises(promises.read(), pages_of(ROOT))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


class Checker(unittest.TestCase):
    """Each way in which the argument can be wrong, once."""

    TITLES = ("Claims", "Attempts")
    HEADINGS = "".join("\n## %s\n" % title for title in TITLES)
    TESTS = {"a_test.cpp": ["TEST(Suite, Name) {"]}

    def wrong(self, row, headings=HEADINGS):
        return wrong_with(headings + row, self.TITLES, self.TESTS, {"mutant no_lock", "fuzz http"},
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
        self.assertEqual(len(self.wrong("", headings="")), len(self.TITLES))


class Promises(unittest.TestCase):
    SECURITY = ("[open](docs/safety.md#what-remains)\n"
                "## What is defended\n\n| asset | against |\n|---|---|\n"
                "| data | [a reader](docs/dev/safety-claims.md#erased); "
                "[a lie](docs/safety.md#firmware) |\n"
                "\n## Who the attackers are\n\n| attacker | can | must not get |\n|---|---|---|\n"
                "| a tenant | write | [a worker that ends](docs/dev/safety-attempts.md#stays) |\n")
    PAGES = {CLAIMS: '| <a id="erased"></a>it is erased | `a` | `b` | none |\n',
             ATTEMPTS: '| <a id="stays"></a>it stays | `a` | `b` | none |\n',
             SAFETY: '\n## What remains\n\n- <a id="firmware"></a>**Firmware** lies.\n'}

    def test_what_is_promised_and_kept_passes(self):
        self.assertEqual(broken_promises(self.SECURITY, self.PAGES), [])

    def test_what_is_wrong_is_said(self):
        for place, old, new, said in (
                (None, "#stays)", "#stays); a full disk", "“a full disk” leads to no row"),
                (None, "claims.md#erased", "claims.md#gone",
                 "nothing in SECURITY.md promises “docs/dev/safety-claims.md#erased”"),
                (None, "[open](docs/safety.md#what-remains)", "", "does not lead to what remains"),
                (None, "## What is defended", "## Assets", "“What is defended” has no table"),
                (None, "safety-claims.md#erased", "safety-attempts.md#erased",
                 "there is no row “docs/dev/safety-attempts.md#erased”"),
                (ATTEMPTS, ' id="stays"', ' id="stay"',
                 "there is no row “docs/dev/safety-attempts.md#stays”"),
                (SAFETY, "- <a id", "- <a name", "there is no row “docs/safety.md#firmware”"),
                (ATTEMPTS, "it stays |", '<a id="erased"></a>it stays |', "erased stands twice")):
            security, pages = self.SECURITY, dict(self.PAGES)
            if place:
                pages[place] = pages[place].replace(old, new)
            else:
                security = security.replace(old, new)
            wrong = broken_promises(security, pages)
            self.assertTrue(any(said in each for each in wrong), (new, wrong))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
