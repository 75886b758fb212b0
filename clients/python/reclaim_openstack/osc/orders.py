"""The commands that change something: each is an order to the device's host, which checks it
again. They are sent to Reclaim alone (cloud.py)."""
from openstack import exceptions as sdk_exceptions
from osc_lib.command import command

from reclaim_openstack.osc import base, cloud, steps, waiting
from reclaim_openstack.sdk import waiting as sdk_waiting


class Order(base.Plain, command.Command):
    """One order to one or more devices."""

    verb = None
    version = "2.6"
    # What judges a wait; None: the order has no end to wait for.
    rule = None
    several = True

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        base.add_device(parser, **({"nargs": "+"} if self.several else {}))
        if self.rule:
            waiting.add_arguments(parser)
        return parser

    def send(self, proxy, uuid, parsed_args):
        getattr(proxy, self.verb + "_device")(uuid)

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, self.version, "`%s`" % self.verb, order=True)
        named = parsed_args.device if self.several else [parsed_args.device]
        uuids = list(dict.fromkeys(base.uuid_of(proxy, text) for text in named))
        waits = self.rule and parsed_args.wait
        rules, refused = {}, 0
        for uuid in uuids:
            try:
                before = sdk_waiting.look(proxy, uuid) if waits else None
                self.send(proxy, uuid, parsed_args)
            except sdk_exceptions.HttpException as problem:
                self.log.error("%s: %s", uuid, base.plain(problem))
                refused = 1
                continue
            if waits:
                rules[uuid] = self.rule(before)
        code = waiting.Waiter(proxy, self.log).run(rules, parsed_args.timeout) if rules else 0
        return max(code, refused)


class CleanDevice(Order):
    """Clean a device again, after a failed cleaning or by hand"""

    verb = "clean"
    version = "2.5"
    rule = sdk_waiting.Cleaning

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--clean-steps", metavar="<file, JSON or ->", help=(
            "Run these steps first: the name of a JSON file, a JSON text, or - for standard input; "
            "a list as " + steps.FORM.replace("%", "%%")))
        return parser

    def act(self, parsed_args):
        if parsed_args.clean_steps is not None:
            self.version = "2.6"
            parsed_args.clean_steps = steps.read(parsed_args.clean_steps)
        return super().act(parsed_args)

    def send(self, proxy, uuid, parsed_args):
        proxy.clean_device(uuid, parsed_args.clean_steps)


class AbortDevice(Order):
    """Stop the cleaning of a device; it stays reserved and goes to error"""

    verb = "abort"
    rule = sdk_waiting.Abort


class UnholdDevice(Order):
    """Approve that a cleaning goes on behind the hold at which it waits"""

    verb = "unhold"
    version = "2.5"
    rule = sdk_waiting.Cleaning


class EnrolDevice(Order):
    """Accept the drive that is in the slot now; it is cleaned and becomes the baseline"""

    verb = "enrol"
    rule = sdk_waiting.Cleaning
    several = False

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--serial", type=base.given, metavar="<serial>",
                            help="Only the drive with this serial is accepted")
        return parser

    def send(self, proxy, uuid, parsed_args):
        proxy.enrol_device(uuid, parsed_args.serial)


class DisownDevice(Order):
    """Strike a device that no device_spec entry matches any more; it stays reserved in Placement"""

    verb = "disown"
    several = False

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--reason", type=base.given, metavar="<text>", required=True,
                            help="Why, for the audit journal")
        return parser

    def send(self, proxy, uuid, parsed_args):
        proxy.disown_device(uuid, parsed_args.reason)


class RetireDevice(Order):
    """Erase a drive that leaves for good: it is certified, and never given back"""

    verb = "retire"
    version = "2.7"
    several = False

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--as", dest="purpose", required=True,
                            choices=("destroyed", "returned-to-vendor", "recycled", "reused"),
                            help="What becomes of the drive")
        parser.add_argument("--reason", type=base.given, metavar="<text>", required=True,
                            help="Why, for its certificate and the audit journal")
        return parser

    def send(self, proxy, uuid, parsed_args):
        proxy.retire_device(uuid, parsed_args.purpose, parsed_args.reason)


class SetMaintenance(Order):
    """Begin the maintenance of a device: it is out of the pool, and left alone, until that ends"""

    verb = "disable"


class UnsetMaintenance(Order):
    """End the maintenance of a device"""

    verb = "enable"
