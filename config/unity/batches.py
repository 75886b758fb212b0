#!/usr/bin/python3
"""Which sources may be read as one translation unit: much quicker than each by itself.

usage: batches.py LIST FOLDER BYTES   writes a source for each batch of at most so many bytes, and
                                      prints "TARGET|SOURCE" a line

LIST has a line "TARGET;SOURCE;SOURCE..." for each target (unity.cmake), by paths in the tree.

In one translation unit the unnamed namespaces of several sources are one. So a batch reads all
headers first, and then gives a name that two of its sources have for themselves a number in each:
`complain` becomes `complain_3`. Where a name cannot be given one (a header has it too, a member is
called so, a test is named by it), its sources never share a batch.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEYWORDS = set(
    "alignas auto bool case char const decltype default defined delete double else false for if "
    "int long new noexcept nullptr operator requires return short sizeof static_assert switch this "
    "throw true unsigned void while".split())
UNNAMED = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
SKIPPED_LINE = re.compile(r"(?:$|\s|//|[#})\"]|namespace\b|TEST|INSTANTIATE_|using [\w:]+;)")
TYPE = re.compile(r"(?:template\s*<.*>\s*)?(?:struct|class|union|enum(?: class)?) +(\w+)\b(?!::)")
ALIAS = re.compile(r"using +(\w+) *=")
OTHER = re.compile(r"(?<![\w:.])([A-Za-z_]\w*)(?:\[[^\]]*\])*\s*[({=;]")
MACRO = re.compile(r"^#\s*define\s+(\w+)", re.MULTILINE)
# What a source may mean by such a name: something of a header's.
USE = re.compile(r"(?<![\w:.>])([a-z_]\w*(?=\s*\()|k?[A-Z]\w*[a-z]\w*)")
# Where a macro of the same name would change more than the source's own thing: members, and what
# gtest makes a test's name of.
MEMBER = re.compile(r"(?:\.|->|::)\s*(\w+)")
NAMED_BY_TEST = re.compile(r"^\s*(?:TEST|TYPED_TEST|INSTANTIATE_|MATCHER).*?\)", re.M | re.S)
HEADER = re.compile(r'^#include "(.+\.h)"', re.MULTILINE)
INCLUDE = re.compile(r"^#include .+\n", re.MULTILINE)
WORD = re.compile(r"\w+")
COMMENT = re.compile(r"//.*")


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


class Headers:
    """What a source reaches of the tree's headers."""

    def __init__(self):
        self.known = {}  # path: the words that it has as code, the headers that it includes

    def words(self, text):
        """Every word that a header has which this text includes, or such a header."""
        found, done, queue = set(), set(), HEADER.findall(text)
        while queue:
            path = queue.pop()
            if path in done or not os.path.isfile(os.path.join(ROOT, path)):
                continue
            done.add(path)
            if path not in self.known:
                own = read(os.path.join(ROOT, path))
                self.known[path] = (set(WORD.findall(COMMENT.sub("", own))), HEADER.findall(own))
            words, more = self.known[path]
            found |= words
            queue += more
        return found


class Source:
    """`kept`: of the names that it has for itself, those that it has to keep. `seen`: by which it
    may mean, or be taken to mean, something of another source."""

    def __init__(self, path, headers):
        self.path = path
        self.text = read(os.path.join(ROOT, path))
        self.names = defined(self.text)
        self.uses = set(USE.findall(self.text))
        self.kept = self.names
        if headers is not None:
            code = COMMENT.sub("", self.text)
            self.kept = self.names & (
                headers.words(self.text) | set(MACRO.findall(code)) | set(MEMBER.findall(code)) |
                set(WORD.findall(" ".join(NAMED_BY_TEST.findall(code)))))
        self.seen = self.kept | (self.uses - (self.names - self.kept))

    def disturbs(self, other):
        return not (self.kept.isdisjoint(other.seen) and other.kept.isdisjoint(self.seen))


def batches(paths, bytes_max, headers=None):
    """Lists of sources, in the order given, that do not disturb each other. Without `headers` each
    keeps all of its names."""
    made = []
    for source in (Source(path, headers) for path in paths):
        for batch in made:
            if (sum(len(each.text) for each in batch) + len(source.text) <= bytes_max
                    and not any(source.disturbs(each) for each in batch)):
                batch.append(source)
                break
        else:
            made.append([source])
    return made


def text_of(batch):
    """A source that reads those of a batch; alike in every folder that the tree lies in."""
    includes = {line for source in batch for line in INCLUDE.findall(source.text)}
    text = "".join(sorted(includes, key=lambda line: ('"' in line, line)))  # the system's first
    for number, source in enumerate(batch):
        others = set().union(*(each.names | each.uses for each in batch if each is not source))
        numbered = sorted((source.names - source.kept) & others)
        text += "".join(f"#define {name} {name}_{number}\n" for name in numbered)
        text += f'#include "{source.path}"\n'
        text += "".join(f"#undef {name}\n" for name in numbered)
    return text


def write_if_new(path, text):
    if not os.path.isfile(path) or read(path) != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    targets, folder, bytes_max = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    headers = Headers()
    for line in read(targets).splitlines():
        target, *sources = line.split(";")
        for number, batch in enumerate(batches(sources, int(bytes_max), headers)):
            path = os.path.join(folder, f"{target}_{number}.cpp")
            write_if_new(path, text_of(batch))
            print(f"{target}|{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
