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


class FindingsColumn(columns.FormattableColumn):
    """Of each step what it found: a line for each surface that it looked at."""

    def human_readable(self):
        lines = []
        for step, found in self._value.items():
            for each in found if isinstance(found, list) else [found]:
                facts = dict(each) if isinstance(each, dict) else {"": each}
                surface = facts.pop("surface", None)
                lines.append("%s: %s%s" % (step, surface + ": " if surface else "", ", ".join(
                    "%s %s" % pair if pair[0] != "found" else str(pair[1])
                    for pair in facts.items())))
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
        cleaning = proxy.get_cleaning(base.uuid_of(proxy, parsed_args.device))
        return tuple(cleaning), [
            FORMATTED[name](value) if name in FORMATTED and value is not None else value
            for name, value in cleaning.items()]
