"""openstack accelerator device cleaning show: the plan and where it stands."""
from cliff import columns
from osc_lib.cli import format_columns
from osc_lib.command import command

from reclaim_openstack.osc import base, cloud
from reclaim_openstack.osc.devices import StepColumn


class StepsColumn(columns.FormattableColumn):
    def human_readable(self):
        return "\n".join("%s.%s (%s)" % (
            step.get("interface"), step.get("step"),
            "by hand" if step.get("by_hand") else "priority %s" % step.get("priority"))
            for step in self._value)

    def machine_readable(self):
        return self._value


def _finding(found):
    """{"surface": "opal", "found": "locked", "reset": true} as "opal: locked, reset"."""
    if not isinstance(found, dict):
        return str(found)
    facts = dict(found)
    surface, words = facts.pop("surface", None), []
    for name, value in facts.items():
        if name == "found":
            words.append(str(value))
        elif isinstance(value, bool):
            words += [name] if value else []
        else:
            words.append("%s %s" % (name, value))
    return "%s%s" % (surface + ": " if surface else "", ", ".join(words))


class FindingsColumn(columns.FormattableColumn):
    """Of each step what it found: a line for each surface that it looked at."""

    def human_readable(self):
        lines = []
        for step, found in self._value.items():
            for each in found if isinstance(found, list) else [found]:
                lines.append("%s: %s" % (step, _finding(each)))
        return "\n".join(lines)

    def machine_readable(self):
        return self._value


FORMATTED = {"steps": StepsColumn, "clean_step": StepColumn, "findings": FindingsColumn,
             "tagged_device": format_columns.DictColumn, "policies": format_columns.ListColumn}


class ShowCleaning(base.Plain, command.ShowOne):
    """Show the clean steps of a device, the one that runs, and what they found"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        base.add_device(parser)
        return parser

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, "2.5", "`cleaning show`")
        cleaning = base.visible(proxy.get_cleaning(base.uuid_of(proxy, parsed_args.device)))
        return tuple(cleaning), [
            FORMATTED[name](value) if name in FORMATTED and value is not None else value
            for name, value in cleaning.items()]
