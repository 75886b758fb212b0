"""Where statements begin and end in a C++ source, as far as mutants need to know: brackets are
matched, and a brace is told from its neighbours to be a block of statements, a scope of
declarations or an initializer."""

import bisect
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tidy"))
from lexer import code_only  # noqa: E402

_TOKEN = re.compile(r"\w+(?:'\w+)*|::|->|&&|\|\||<<|[-+*/|&^!=<>]=|\+\+|--|[^\s\w]")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_SCOPES = {"namespace", "struct", "class", "union", "extern"}
_BEFORE_BLOCK = {")", "]", ";", ":", "else", "do", "try", "const", "noexcept", "override",
                 "mutable"}
_NO_DECLARATION = {"if", "for", "while", "switch", "do", "return", "break", "continue", "throw",
                   "try", "delete", "{", "(", "*", "++", "--", ";"}


class Unbalanced(Exception):
    """The text is not a sequence of whole statements."""


class Code:
    """A source as tokens. Positions are indexes of tokens, offsets those of characters."""

    def __init__(self, text):
        self.text = text
        blank = _DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), code_only(text))
        found = list(_TOKEN.finditer(blank))
        self.tokens = [m.group(0) for m in found]
        self.starts = [m.start() for m in found]
        self.ends = [m.end() for m in found]
        self.match = {}
        self.kinds = {}  # of each "{": block, scope or initializer
        self._match_brackets()

    def _match_brackets(self):
        open_ones = []
        for i, token in enumerate(self.tokens):
            if token in _CLOSES:
                if token == "{":
                    outer = [self.kinds[o] for o in open_ones if o in self.kinds]
                    self.kinds[i] = self._kind(i, outer[-1] if outer else "scope")
                open_ones.append(i)
            elif token in _CLOSES.values():
                if not open_ones or _CLOSES[self.tokens[open_ones[-1]]] != token:
                    raise Unbalanced(f"a '{token}' that closes nothing")
                self.match[open_ones[-1]] = i
                self.match[i] = open_ones.pop()
        if open_ones:
            raise Unbalanced("a bracket that nothing closes")

    def _kind(self, i, outer):
        first = i
        while first > 0 and self.tokens[first - 1] not in (";", "{", "}"):
            first -= 1
        head = self.tokens[first:i]
        if head and (head[0] in _SCOPES or (head[0] == "template" and _SCOPES & set(head))):
            return "scope"
        before = self.tokens[i - 1] if i else ""
        if head and head[0] == "enum":
            return "initializer"
        if before in _BEFORE_BLOCK or "->" in head and self._is_return_type(i):
            return "block"
        # At a scope, the latter is the body behind `: member_{value}`.
        if before == "{" and outer == "block" or before == "}" and outer != "initializer":
            return "block"
        return "initializer"

    def _is_return_type(self, i):
        """Whether what is before the brace is `) -> Type`."""
        at = i - 1
        while at > 0 and (_WORD.fullmatch(self.tokens[at]) or self.tokens[at] in "<>::*&,"):
            at -= 1
        return self.tokens[at] == "->" and self.tokens[at - 1] == ")"

    def index_at(self, offset):
        """The first token that begins at the offset or behind it."""
        return bisect.bisect_left(self.starts, offset)

    def _past(self, i, end):
        """Past the token, or past its bracket."""
        if self.tokens[i] in _CLOSES:
            i = self.match[i]
        if i >= end:
            raise Unbalanced("a statement that does not end")
        return i + 1

    def statement_end(self, i, end):
        """The position past the statement that begins at i, which ends before `end`."""
        if i >= end:
            raise Unbalanced("a statement is missing")
        token = self.tokens[i]
        if token == "{":
            return self._past(i, end)
        if token in ("if", "for", "while", "switch"):
            then = self.statement_end(self._past_head(i, end), end)
            if token == "if" and then < end and self.tokens[then] == "else":
                return self.statement_end(then + 1, end)
            return then
        if token in ("do", "try"):
            then = self.statement_end(i + 1, end)
            while then < end and self.tokens[then] == "catch":
                then = self.statement_end(self._past_head(then, end), end)
            if token == "try":
                return then
            i = then
        last = ":" if token in ("case", "default") else ";"
        while i < end and self.tokens[i] != last:
            i = self._past(i, end)
        if i >= end:
            raise Unbalanced("a statement that does not end")
        return i + 1

    def _past_head(self, i, end):
        """Past `if (...)` and the like."""
        while i < end and self.tokens[i] != "(":
            i += 1
        if i >= end:
            raise Unbalanced("a condition is missing")
        return self._past(i, end)

    def statements(self, i, end):
        """[(first, past)] of the statements that the tokens from i to `end` are."""
        found = []
        while i < end:
            past = self.statement_end(i, end)
            found.append((i, past))
            i = past
        return found

    def inner_statements(self, i, past):
        """[(first, past)] of what an if, for or while at i has below it."""
        if self.tokens[i] not in ("if", "for", "while"):
            return []
        first = self._past_head(i, past)
        then = self.statement_end(first, past)
        found = [(first, then)]
        if then < past:
            found.append((then + 1, past))
        return found

    def is_label(self, i):
        return self.tokens[i] in ("case", "default")

    def is_declaration(self, i):
        """Whether the statement names something that later ones may use; in doubt it does."""
        if self.tokens[i] in _NO_DECLARATION:
            return False
        if self.tokens[i] == "::":
            i += 1
        while _WORD.fullmatch(self.tokens[i]) and self.tokens[i + 1] == "::":
            i += 2
        if not _WORD.fullmatch(self.tokens[i]):
            return True
        after = self.tokens[i + 1]
        return bool(_WORD.fullmatch(after)) or after in ("<", "&", "*", "&&", "[")

    def blocks_around(self, lo, hi):
        """Positions of the braces of the blocks around these offsets, the innermost first."""
        return sorted((i for i, kind in self.kinds.items() if kind == "block"
                       and self.ends[i] <= lo and hi <= self.starts[self.match[i]]), reverse=True)

    def brackets_around(self, lo, hi):
        """Positions of all opening brackets around these offsets, the innermost first."""
        return sorted((i for i, token in enumerate(self.tokens) if token in _CLOSES
                       and self.ends[i] <= lo and hi <= self.starts[self.match[i]]), reverse=True)
