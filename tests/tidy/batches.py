#!/usr/bin/python3
"""Which sources may be read as one translation unit: much quicker than each by itself.

usage: batches.py LIST FOLDER BYTES   writes a source for each batch of at most so many bytes, and
                                      prints "TARGET|SOURCE" a line, also for what stays alone

LIST has a line "TARGET;SOURCE;SOURCE..." for each target (tests/unity.cmake), by paths in the tree.
Sources that name a thing alike at file scope never share a batch, for in one translation unit their
unnamed namespaces would be one.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEYWORDS = set(
    "alignas auto bool char const decltype defined double else for if int long noexcept operator "
    "requires return short sizeof static_assert switch unsigned void while".split())
UNNAMED = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
SKIPPED_LINE = re.compile(r"(?:$|\s|//|[#})\"]|namespace\b|TEST|INSTANTIATE_|using [\w:]+;)")
TYPE = re.compile(r"(?:template\s*<.*>\s*)?(?:struct|class|union|enum(?: class)?) +(\w+)")
ALIAS = re.compile(r"using +(\w+) *=")
OTHER = re.compile(r"(?<![\w:.])([A-Za-z_]\w*)(?:\[[^\]]*\])*\s*[({=;]")
MACRO = re.compile(r"^#\s*define\s+(\w+)", re.MULTILINE)
# What a source may mean by such a name: something of a header's.
USE = re.compile(r"(?<![\w:.>])([a-z_]\w*(?=\s*\()|[A-Z]\w*[a-z]\w*)")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def defined(text):
    """The names that a source has for itself, and perhaps some more."""
    names = set(MACRO.findall(text))
    own = "\n".join(UNNAMED.findall(text))
    for line in text.split("\n"):
        if line.startswith("static ") or TYPE.match(line):
            own += "\n" + line
    for line in own.split("\n"):
        if SKIPPED_LINE.match(line):
            continue
        found = TYPE.match(line) or ALIAS.match(line)
        if found:
            names.add(found.group(1))
            continue
        # Several, for a function type in a declaration looks like a name as well.
        names.update(n for n in OTHER.findall(line) if n not in KEYWORDS)
    # A declaration that begins on the line before.
    names.update(re.findall(r"^    (k[A-Z]\w*)\s*[={]", own, re.MULTILINE))
    return names


def batches(paths, bytes_max):
    """Lists of paths, in the order given, that do not disturb each other."""
    made = []  # paths, bytes, what they define, what they use
    for path in paths:
        text = read(os.path.join(ROOT, path))
        names, uses = defined(text), set(USE.findall(text))
        for batch in made:
            if (batch["bytes"] + len(text) <= bytes_max and not batch["names"] & (names | uses)
                    and not names & batch["uses"]):
                break
        else:
            batch = {"paths": [], "bytes": 0, "names": set(), "uses": set()}
            made.append(batch)
        batch["paths"].append(path)
        batch["bytes"] += len(text)
        batch["names"] |= names
        batch["uses"] |= uses
    return [b["paths"] for b in made]


def write_batch(path, sources):
    """A source that includes those of a batch; alike in every folder that the tree lies in."""
    text = "".join(f'#include "{source}"\n' for source in sources)
    if not os.path.isfile(path) or read(path) != text:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)


def main():
    targets, folder, bytes_max = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for line in read(targets).splitlines():
        target, *sources = line.split(";")
        for number, batch in enumerate(batches(sources, int(bytes_max))):
            path = os.path.join(ROOT, batch[0])
            if len(batch) > 1:
                path = os.path.join(folder, f"{target}_{number}.cpp")
                write_batch(path, batch)
            print(f"{target}|{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
