"""What an operator is told to type, taken out of the documents: they are what is tested."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _section(document, heading):
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(heading), text, re.M | re.S)
    if not found:
        raise AssertionError('%s has no section "%s"' % (document, heading))
    return found.group(1)


def _blocks(section, language):
    return re.findall(r"^ *```%s\n(.*?)^ *```" % language, section, re.M | re.S)


def _lines(block):
    """(what is typed, what is said beside it); one that goes on in the next line is whole."""
    whole = re.sub(r"\\\n|(?<=&&)\n", " ", block)
    whole = re.sub(r"^for .*?^done", lambda loop: re.sub(r"(?<!; do)\n", "; ", loop[0]), whole,
                   flags=re.M | re.S).replace("; do\n", "; do ")
    for line in whole.splitlines():
        typed, _, said = re.sub(r"(^|\s)#\s", "\n", line, count=1).partition("\n")
        if typed.strip():
            yield " ".join(typed.split()), said.strip()


def commands(block):
    """Its lines without what is only said beside them."""
    return [typed for typed, _ in _lines(block)]


def other_blocks(text):
    """Those without a language: what is shown, and not typed."""
    return [block for language, block in
            re.findall(r"^ *```(\S*)\n(.*?)^ *```", text, re.M | re.S) if not language]


def every_command():
    """{document: [(what a block tells to type, what it says beside it)], in their order}."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")),
             *sorted((ROOT / "clients").rglob("*.md"))]
    found = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines = [line for block in _blocks(text, "sh") if not block.startswith("#!")
                 for line in _lines(block)]
        if lines:
            found[str(path.relative_to(ROOT))] = lines
    return found


def named_commands():
    """(document, `reclaim ...`) wherever a sentence or a table names one."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for span in re.findall(r"`([^`]+)`", text):
            command = " ".join(span.split()).removeprefix("sudo ")
            if command.startswith("reclaim "):
                yield str(path.relative_to(ROOT)), command


def ten_lines():
    """(what is typed on the build machine, what is typed on the compute host)."""
    lines = commands(_blocks(_section("docs/install.md", "In ten lines (Debian 12 and 13)"),
                             "sh")[0])
    first = next(number for number, line in enumerate(lines) if "apt install" in line)
    return lines[:first], lines[first:]


def readme_commands():
    """Those of its chapter on the configuration that are typed on the host, in their order."""
    return [line for block in _blocks(_section("README.md", "Configuration"), "sh")
            for line in commands(block) if not line.startswith("rabbitmqctl ")]


def readme_file(name):
    """The contents of a file that the README shows; the block's first line names it."""
    for block in _blocks(_section("README.md", "Configuration"), "ini"):
        first, _, rest = block.partition("\n")
        if Path(first.removeprefix("# ")).name == name:
            return rest
    raise AssertionError("the README shows no %s" % name)


def missing_commands(lines):
    """The README's that are not among these lines: it says less, never something else."""
    typed = [line.replace("sudo ", "") for line in lines]
    # What it redirects, the lines do in a shell of root's.
    return [line for line in readme_commands()
            if not any(line.split(" > ")[0] in other for other in typed)]


def with_values(text, values):
    """The examples of a document replaced by the site's own; each has to be there."""
    for example, own in values.items():
        if text.count(example) != 1:
            raise AssertionError('"%s" is not there once, but %d times' %
                                 (example, text.count(example)))
        text = text.replace(example, own)
    return text
