#!/usr/bin/python3
"""Puts faults into a source, each behind a switch of its own: switch.py SOURCE FAULTS OUT.

FAULTS holds, one after the other, `%% fault NAME`, the text to replace, `%% by`, the text that
replaces it, `%% end`. The first text stands exactly once in SOURCE. What a fault changes grows to
whole statements, which OUT then has in both forms:

    if (fault_NAME) { the faulty ones } else { the sound ones }

Behind a declaration these reach to the end of its block. Faults that overlap share one chain. What
no function holds (a table, a constant) is chosen as an expression, and constexpr around it goes,
with the static_asserts: it is a test that has to catch the fault."""

import re
import sys
from collections import namedtuple

from cpp_statements import Code, Unbalanced

# name as RECLAIM_FAULT has it; lo, hi: offsets in the source of what changes; code: the source with
# the fault.
Fault = namedtuple("Fault", "name lo hi code")
# lo, hi: offsets in the source; kind: "statements" or "expression".
Place = namedtuple("Place", "lo hi kind faults")

_FAULT = re.compile(r"%% fault (\S+)\n(.*?)\n%% by\n(.*?)\n%% end\n", re.DOTALL)


def faults_of(source, text, listing):
    """The faults of a listing, each with the source that it makes of the text."""
    found = []
    for name, old, new in _FAULT.findall(listing):
        count = text.count(old)
        if count != 1:
            what = "does not hold the text to replace any more" if count == 0 else (
                "holds the text to replace more than once")
            sys.exit(f"mutant {name}: {source} {what}; write it as the source has it now:\n{old}")
        lo = text.index(old)
        hi = lo + len(old)
        same = _common(old, new)
        tail = _common(old[same:][::-1], new[same:][::-1])
        old, new = old[same:len(old) - tail], new[same:len(new) - tail]
        # The space around what changes stays, so that the rest is the same text in both.
        lo, hi = lo + same + len(old) - len(old.lstrip()), hi - tail - len(old) + len(old.rstrip())
        lo, hi = min(lo, hi), hi
        faulty = text[:lo] + new + text[hi:]
        try:
            found.append(Fault(name, lo, hi, Code(faulty)))
        except Unbalanced as why:
            sys.exit(f"mutant {name}: {source} with this fault has {why}; mend the list:\n{new}")
    return found


def _common(one, other):
    """How many characters two texts begin with alike."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _faulty_text(code, fault, lo, hi):
    return fault.code.text[lo:hi + len(fault.code.text) - len(code.text)]


def _are_statements(code, fault, lo, hi):
    """Whether the fault makes whole statements of what is there."""
    past = hi + len(fault.code.text) - len(code.text)
    try:
        fault.code.statements(fault.code.index_at(lo), fault.code.index_at(past))
    except Unbalanced:
        return False
    return True


def _statement_places(code, lo, hi):
    """(lo, hi) of whole statements around these offsets, the smallest first."""
    for brace in code.blocks_around(lo, hi):
        try:
            below = code.statements(brace + 1, code.match[brace])
        except Unbalanced:
            continue
        chosen = [n for n, (first, past) in enumerate(below)
                  if code.ends[past - 1] > lo and code.starts[first] < hi
                  or code.starts[first] < lo < code.ends[past - 1]]
        # What is inserted between two statements may belong to the second one.
        after = next((n for n, (first, _) in enumerate(below) if code.starts[first] >= hi), None)
        if not chosen:
            yield lo, hi
            chosen = [] if after is None else [after]
        if len(chosen) == 1:
            inner, steps = below[chosen[0]], []
            while inner is not None:
                steps.append(inner)
                inner = next((each for each in code.inner_statements(*inner)
                              if code.starts[each[0]] <= lo and hi <= code.ends[each[1] - 1]), None)
            for first, past in reversed(steps[1:]):
                yield code.starts[first], code.ends[past - 1]
        for more in range(2):
            if not chosen or chosen[-1] + more >= len(below):
                break
            last = chosen[-1] + more
            if any(code.is_declaration(below[n][0]) for n in range(chosen[0], last + 1)):
                last = len(below) - 1
            if any(code.is_label(below[n][0]) for n in range(chosen[0], last + 1)):
                break
            yield code.starts[below[chosen[0]][0]], code.ends[below[last][1] - 1]


def _expression_places(code, lo, hi):
    """(lo, hi) of elements of brackets around these offsets, then of what stands behind a '='."""
    for bracket in code.brackets_around(lo, hi):
        close = code.match[bracket]
        if code.kinds.get(bracket) == "scope":
            break
        cuts, i = [code.ends[bracket]], bracket + 1
        while i < close:
            if code.tokens[i] == ",":
                cuts += [code.starts[i], code.ends[i]]
            i = code.match[i] + 1 if code.tokens[i] in "([{" else i + 1
        cuts.append(code.starts[close])
        for left, right in zip(cuts[::2], cuts[1::2]):
            if left <= lo and hi <= right:
                yield left, right
    equals = [i for i in range(code.index_at(lo)) if code.tokens[i] == "="]
    if equals:
        past = code.statement_end(equals[-1], len(code.tokens))
        if hi <= code.starts[past - 1]:
            yield code.ends[equals[-1]], code.starts[past - 1]


def place_of(code, lo, hi, faults):
    """The smallest part of the source around these offsets that can be chosen at run time."""
    for first, past in _statement_places(code, lo, hi):
        if first <= lo and hi <= past and all(
                _are_statements(code, fault, first, past) for fault in faults):
            return Place(first, past, "statements", faults)
    if not code.blocks_around(lo, hi):
        for first, past in _expression_places(code, lo, hi):
            return Place(first, past, "expression", faults)
    names = ", ".join(fault.name for fault in faults)
    sys.exit(f"mutant {names}: what it changes is neither statements nor the element of a table; "
             "write the fault as a change of statements")


def places_of(code, faults):
    """Places in order, none of which overlaps another."""
    places = [place_of(code, fault.lo, fault.hi, [fault]) for fault in faults]
    while True:
        places.sort(key=lambda place: (place.lo, -place.hi))
        for one, other in zip(places, places[1:]):
            if other.lo < one.hi or other.lo == one.lo:
                places.remove(one)
                places.remove(other)
                places.append(place_of(code, one.lo, max(one.hi, other.hi),
                                       one.faults + other.faults))
                break
        else:
            return places


def _variable(name):
    return "fault_" + re.sub(r"\W", "_", name)


def _switched(code, place):
    sound = code.text[place.lo:place.hi]
    if place.kind == "expression":
        for fault in place.faults:
            sound = (f"({_variable(fault.name)} ? "
                     f"({_faulty_text(code, fault, place.lo, place.hi)}\n) : ({sound}\n))")
        return sound
    chain = "".join(
        f"if ({_variable(fault.name)}) {{\n"
        f"{_faulty_text(code, fault, place.lo, place.hi)}\n}} else " for fault in place.faults)
    return f"{{ {chain}{{\n{sound}\n}} }}"


def _known_at_run_time_only(code):
    """(lo, hi, text) of what goes when a constant is chosen at run time."""
    i = 0
    while i < len(code.tokens):
        token = code.tokens[i]
        if token == "static_assert":
            past = code.statement_end(i, len(code.tokens))
            yield code.starts[i], code.ends[past - 1], ""
            i = past
        elif token == "constexpr":
            head = next(t for t in code.tokens[i:] if t in ("(", "=", "{"))
            yield code.starts[i], code.ends[i], "" if head == "(" else "const"
            i += 1
        else:
            i = code.match[i] + 1 if code.kinds.get(i, "scope") != "scope" else i + 1


def switched(source, text, listing):
    """The text with every fault of the listing behind its switch."""
    code = Code(text)
    faults = faults_of(source, text, listing)
    places = places_of(code, faults)
    edits = [(place.lo, place.hi, _switched(code, place)) for place in places]
    if any(place.kind == "expression" for place in places):
        edits += _known_at_run_time_only(code)
    for lo, hi, new in sorted(edits, reverse=True):
        text = text[:lo] + new + text[hi:]
    switches = "".join(f'const bool {_variable(fault.name)} = '
                       f'reclaim::mutants::fault_is("{fault.name}");\n' for fault in faults)
    return ("#include <string_view>\n"
            "namespace reclaim::mutants { bool fault_is(std::string_view name); }\n"
            f"namespace {{\n{switches}}}\n{text}")


def main():
    source, listing, out = sys.argv[1:]
    with open(source, encoding="utf-8") as file, open(listing, encoding="utf-8") as faults:
        text = switched(source, file.read(), faults.read())
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
