"""The rules of documents: a page is short and has one title, and each link of it leads somewhere.
rules.py gives them to check_file() and check_tree()."""
import os
import re
from typing import NamedTuple

PAGE_LINES_MAX = 300
CONTENTS = "docs/README.md"

_FENCED = re.compile(r"^ *(```+).*?^ *\1", re.MULTILINE | re.DOTALL)
_CITED = re.compile(r"\b(docs/[\w./-]+\.md)(?:#([\w-]+))?")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Finding(NamedTuple):
    path: str
    line: int
    text: str


def _prose(text):
    """The page without its blocks of code, each line at its place."""
    return _FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)


def _anchors(text):
    """Those of a page's headings, as its readers' tools make them, and those that it sets."""
    made = set(re.findall(r'<a id="([\w-]+)">', text))
    for heading in re.findall(r"^#+ (.+)$", _prose(text), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        made.add(re.sub(r"[^\w -]", "", shown.lower()).replace(" ", "-"))
    return made


def check_markdown(path, text):
    if not path.endswith(".md"):
        return
    lines = _prose(text).split("\n")
    titles = [number for number, line in enumerate(lines, 1) if line.startswith("# ")]
    if len(titles) != 1:
        yield Finding(path, titles[1] if titles else 1,
                      f'{len(titles)} titles ("# "), exactly one is wanted')
    if len(lines) - 1 > PAGE_LINES_MAX:
        yield Finding(path, 1, f"{len(lines) - 1} lines, {PAGE_LINES_MAX} are the limit: "
                      "a page answers one question of its reader")


def check_links(tree):
    """A link leads to a file, and to a section that is in it."""
    folders = {os.path.dirname(path) for path in tree}
    for path, text in sorted(tree.items()):
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(_prose(text).split("\n"), 1):
            for link in _LINK.findall(line):
                to, _, anchor = link.partition("#")
                page = os.path.normpath(os.path.join(os.path.dirname(path), to)) if to else path
                if re.match(r"[a-z]+:", link) or page in folders:
                    continue
                if page not in tree:
                    yield Finding(path, number, f"{link}: {page} is not there")
                elif anchor and page.endswith(".md") and anchor not in _anchors(tree[page]):
                    yield Finding(path, number, f"{link}: {page} has no #{anchor}")


def check_citations(tree):
    """A comment sends its reader to a page and a section that are there."""
    for path, text in sorted(tree.items()):
        if path.startswith(("tests/tidy/", "tests/data/", "tests/fuzz/corpus/", "tests/golden/")):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"\bdesign §|\.md §", line):
                yield Finding(path, number, "no such document is here; cite docs/ by its anchor")
            for page, anchor in _CITED.findall(line):
                if page not in tree:
                    yield Finding(path, number, f"{page} is cited and not there")
                elif anchor and anchor not in _anchors(tree[page]):
                    yield Finding(path, number, f"{page} has no #{anchor}")


def check_contents(tree):
    """The page of contents has each page."""
    if CONTENTS not in tree:
        return
    listed = {os.path.normpath(os.path.join("docs", link.partition("#")[0]))
              for link in _LINK.findall(tree[CONTENTS])}
    for path in sorted(tree):
        if re.fullmatch(r"docs/(dev/)?[\w-]+\.md", path) and path not in listed | {CONTENTS}:
            yield Finding(CONTENTS, 1, f"{path} is missing: a line says what it has, for whom")
