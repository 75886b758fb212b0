"""Blanks what is not code: comments and the insides of literals become spaces, lines stay lines."""

import re

# One alternative a kind of token that can hide code-like text. Order matters: a raw string may hold
# quotes, a quote may stand in a comment, a ' between digits is a separator.
_TOKENS = re.compile(
    r"""
    (?P<line>//[^\n]*)
  | (?P<block>/\*.*?\*/)
  | (?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")
  | (?P<include>^[ \t]*\#[ \t]*include[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<number>\b[0-9][0-9a-zA-Z'.]*)
  | (?P<char>'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """The text with comments and literals blanked; #include lines are kept as they are."""

    def replace(match):
        if match.lastgroup == "include" or match.group("include") or match.group("number"):
            return match.group(0)
        return _blank(match.group(0))

    return _TOKENS.sub(replace, text)


def has_block_comment(text):
    """The offset of the first block comment that does more than name an argument, or None."""
    for match in _TOKENS.finditer(text):
        if match.group("block") and not re.fullmatch(r"/\*\s*\w+=?\s*\*/", match.group("block")):
            return match.start()
    return None
