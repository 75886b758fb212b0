#!/usr/bin/python3
"""Whether docs/waiting.md explains every note with which a device waits, and no other.

A note is text that the sources below put together. Each of their longer texts, and each guard by
its name, has to have words that stand, quoted as code, in the first column of the page's table; or
it is named here as no note.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = "## Why a drive waits"
SOURCES = ["handlers/survey/admission.cpp",
           "handlers/survey/hold.cpp",
           "handlers/survey/hold.h",
           "handlers/survey/reserved_by.h",
           "handlers/survey/observed.h",
           "handlers/survey/cyborg_remarks.cpp",
           "handlers/survey/taken.cpp",
           "handlers/survey/taken.h",
           "handlers/survey/unseen.cpp",
           "handlers/survey/admission.h",
           "handlers/survey/identity.cpp",
           "handlers/survey/device_kind.h",
           "handlers/survey/device_kind.cpp",
           "nvme/host/discovery.cpp"]
# Of these only what is said of a device that waits.
SINGLE = {"handlers/conductor/admissions.cpp": ["cleanings run on this host"],
          "handlers/conductor/look_watch.cpp": ["no look at it has counted"],
          "handlers/conductor/kept_erase.cpp": ["erased and verified, and kept so"],
          "handlers/survey/host_pause.h": ["its host is paused until"],
          "handlers/survey/taken.cpp": ["{}{} holds it"],
          "state/device/machine.h": ["not known to be clean"],
          "handlers/survey/cyborg_remarks.h": ["leaked: ARQ", "switch went astray"],
          "handlers/conductor/registration.cpp": ["not registered:"],
          "handlers/conductor/operator_steps.cpp": ["it is not defined as", " approvals{}"],
          "handlers/survey/named_plan.cpp": ["of the clean steps that an operator named"],
          "handlers/survey/strictest.cpp": ["there is no section [policy:{}]"],
          "nvme/command/file.cpp": ["step_command", "command {}: {}"],
          "nvme/command/run_command.cpp": ["the plan was locked in with", "exit status"],
          "nvme/drive_threads.cpp": ["drives are being worked on"],
          "nvme/host/claim.cpp": ["is held exclusively"]}
NO_NOTES = ["it is reserved again", "it is not known to be clean", "held, and left as it is",
            "device_state is {}", "it was in error before Redis lost its record",
            "stopped while looking", "; once you know that", "consumer {} of provider {}",
            "bound by {} although {}", "it is remembered as dirty",
            " had it, and nobody erased it since", " had it, as its ARQ said, and nobody"]
LENGTH_MIN = 20

TEXT = r'"(?:[^"\\\n]|\\.)*"'


def texts(source):
    source = re.sub(r"(?m)^\s*(//|#).*$", "", source)
    for run in re.finditer(r"%s(?:\s*%s)*" % (TEXT, TEXT), source):
        yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', run.group(0)))


def notes_of(root):
    for name in SOURCES:
        for text in texts((root / name).read_text(encoding="utf-8")):
            if len(text) >= LENGTH_MIN and not any(words in text for words in NO_NOTES):
                yield name, text
    for name, wanted in SINGLE.items():
        for text in texts((root / name).read_text(encoding="utf-8")):
            if any(words in text for words in wanted):
                yield name, text
    for path in sorted((root / "nvme").rglob("*.cpp")):
        for guard in re.findall(r'\brefuses\(\s*"(\w+)"', path.read_text(encoding="utf-8")):
            yield path.relative_to(root).as_posix(), "guard %s:" % guard


def words_of(page):
    section = page[page.index(SECTION):]
    rows = re.findall(r"(?m)^\| (.*?) \| ", section[:section.index("\n### ")])
    return [words for row in rows for words in re.findall(r"`([^`]+)`", row)]


def check(notes, words):
    problems = []
    for source, note in notes:
        if not any(each in note for each in words):
            problems.append("%s: docs/waiting.md does not explain '%s'" % (source, note))
    for each in words:
        if not any(each in note for _, note in notes):
            problems.append("docs/waiting.md: nothing says '%s'" % each)
    return problems


def main():
    notes = list(notes_of(ROOT))
    words = words_of((ROOT / "docs/waiting.md").read_text(encoding="utf-8"))
    problems = check(notes, words)
    # The checker itself: a note that is new, and one that is gone.
    assert check(notes + [("x.cpp", "the moon is in the way")], words)
    assert check(notes, words + ["the moon is in the way"])
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
