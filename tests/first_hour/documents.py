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
    return re.findall(r"^```%s\n(.*?)^```" % language, section, re.M | re.S)


def commands(block):
    """Its lines without what is only said beside them."""
    lines = [re.sub(r"\s+#.*", "", line).strip() for line in block.splitlines()]
    return [line for line in lines if line]


def ten_lines():
    """(what is typed on the build machine, what is typed on the compute host)."""
    lines = commands(_blocks(_section("docs/install.md", "In ten lines (Debian 12 and 13)"),
                             "sh")[0])
    first = next(number for number, line in enumerate(lines) if "apt install" in line)
    return lines[:first], lines[first:]


def readme_commands():
    """Those of its chapter on the configuration, in their order."""
    return [line for block in _blocks(_section("README.md", "Configuration"), "sh")
            for line in commands(block)]


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
