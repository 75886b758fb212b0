"""The clean steps that an operator names, read and looked at before anything is sent."""
import json
import sys

from osc_lib import exceptions

FORM = '[{"interface": "nvme", "step": "check_health", "args": {}}]'


def read(text):
    """From a JSON text, from a file, or from standard input (`-`)."""
    place = "--clean-steps"
    if text == "-":
        place, text = "standard input", sys.stdin.read()
    elif not text.lstrip().startswith(("[", "{")):
        place = text
        try:
            with open(place, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as problem:
            raise exceptions.CommandError("%s: cannot be read: %s" % (place, problem))
    try:
        steps = json.loads(text)
    except ValueError as problem:
        raise exceptions.CommandError("%s: not JSON: %s; accepted is a list as %s" % (
            place, problem, FORM))
    if not isinstance(steps, list) or not steps:
        raise exceptions.CommandError("%s: accepted is a list with a step or more, as %s" % (
            place, FORM))
    for number, step in enumerate(steps, 1):
        _check(place, number, step)
    return steps


def _check(place, number, step):
    where = "%s: element %d" % (place, number)
    if not isinstance(step, dict):
        raise exceptions.CommandError("%s is not an object; accepted is a list as %s" % (
            where, FORM))
    for name in ("interface", "step"):
        if not isinstance(step.get(name), str) or not step[name]:
            raise exceptions.CommandError("%s: %s has to be a text, as in %s" % (where, name, FORM))
    if not isinstance(step.get("args", {}), dict):
        raise exceptions.CommandError("%s: args has to be an object, as in %s" % (where, FORM))
    unknown = sorted(set(step) - {"interface", "step", "args"})
    if unknown:
        raise exceptions.CommandError("%s: unknown member %s; accepted are interface, step and args"
                                      % (where, ", ".join(unknown)))
