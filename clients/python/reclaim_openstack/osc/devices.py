"""openstack accelerator device list, show: Cyborg's commands, with what Reclaim's API adds."""
from cliff import columns
from keystoneauth1 import discover
from osc_lib.cli import format_columns
from osc_lib.command import command

from reclaim_openstack.osc import base, cloud
from reclaim_openstack.sdk import device as sdk_device

STATES = ("available", "allocated", "pending_cleaning", "cleaning", "error")


class StepColumn(columns.FormattableColumn):
    def human_readable(self):
        step = self._value
        return "%s.%s" % (step.get("interface"), step.get("step")) if step else ""

    def machine_readable(self):
        return self._value


# Cyborg's names, as the API and python-cyborgclient have them; the microversion they came with.
SHORT = (("uuid", "2.0"), ("type", "2.0"), ("vendor", "2.0"), ("hostname", "2.0"),
         ("std_board_info", "2.0"), ("device_state", "2.5"))
LONG = (("created_at", "2.0"), ("updated_at", "2.0"), ("uuid", "2.0"), ("type", "2.0"),
        ("vendor", "2.0"), ("model", "2.0"), ("hostname", "2.0"), ("std_board_info", "2.0"),
        ("vendor_board_info", "2.0"), ("status", "2.3"), ("device_state", "2.5"), ("held", "2.6"),
        ("clean_step", "2.6"), ("progress", "2.6"), ("tags", "2.6"), ("percentage_used", "2.7"),
        ("available_spare", "2.7"), ("waiting_for", "2.6"), ("last_error", "2.6"),
        ("cyborg_uuid", "2.6"))
FORMATTED = {"clean_step": StepColumn, "tags": format_columns.ListColumn}


def value_of(device, column):
    value = base.visible(getattr(device, column))
    return FORMATTED[column](value) if column in FORMATTED and value is not None else value


class _Devices(base.Plain):
    def add_source(self, parser):
        parser.add_argument("--cyborg", action="store_true", help=(
            "Ask Cyborg itself (service type accelerator), which knows devices of other types and "
            "neither device_state nor cleanings"))

    def source(self, parsed_args, version=None, purpose=None):
        if not parsed_args.cyborg:
            return cloud.cleaning_of(self.app, version, purpose)
        proxy = cloud.cyborg_of(self.app)
        if version:
            cloud.require(proxy, version, purpose)
        return proxy

    def known(self, proxy, wanted):
        """Those of the columns that the service has, and a word about the others."""
        found = cloud.highest(proxy)
        if proxy.default_microversion:
            found = min(found, discover.normalize_version_number(proxy.default_microversion))
        missing = [pair for pair in wanted if discover.normalize_version_number(pair[1]) > found]
        if missing:
            self.log.warning("microversion %s has no %s", discover.version_to_string(found),
                             ", ".join("%s (from %s)" % pair for pair in missing))
        return tuple(name for name, version in wanted if (name, version) not in missing)


class ListDevices(_Devices, command.Lister):
    """List accelerator devices and the state of their cleaning"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--long", action="store_true", help="List additional fields")
        parser.add_argument("--host", type=base.given, metavar="<host>",
                            help="Only devices of this host")
        parser.add_argument("--type", type=base.given, metavar="<type>",
                            help="Only of this type, as NVME")
        parser.add_argument("--vendor", type=base.given, metavar="<vendor>",
                            help="Only of this PCI vendor id")
        parser.add_argument("--state", choices=STATES, help="Only in this device_state")
        parser.add_argument("--status", choices=("enabled", "maintaining"),
                            help="Only with this status")
        parser.add_argument("--sort", type=base.given, metavar="<key>[:asc|desc]", help=(
            "Order by this field; without it by host and address"))
        parser.add_argument("--limit", metavar="<number>", type=int,
                            help="At most that many devices, 1 to 1000")
        parser.add_argument("--marker", type=base.given, metavar="<uuid>",
                            help="The last device of the page before")
        self.add_source(parser)
        return parser

    def act(self, parsed_args):
        query = {"hostname": parsed_args.host, "type": parsed_args.type,
                 "vendor": parsed_args.vendor, "device_state": parsed_args.state,
                 "status": parsed_args.status, "limit": parsed_args.limit,
                 "marker": parsed_args.marker}
        version = purpose = None
        if parsed_args.state or parsed_args.status:
            version, purpose = "2.5", "--state or --status"
        if parsed_args.sort:
            query["sort_key"], _, direction = parsed_args.sort.partition(":")
            query["sort_dir"] = direction or None
        if parsed_args.sort or parsed_args.limit is not None or parsed_args.marker:
            version, purpose = "2.6", "--sort, --limit or --marker"
        proxy = self.source(parsed_args, version, purpose)
        names = self.known(proxy, LONG if parsed_args.long else SHORT)
        # A limit is the end of the list here, not the length of a page.
        devices = list(sdk_device.Device.list(
            proxy, paginated=parsed_args.limit is None,
            **{key: value for key, value in query.items() if value is not None}))
        if parsed_args.host and not devices:
            base.check_host(proxy, parsed_args.host)
        return names, ([value_of(device, name) for name in names] for device in devices)


class ShowDevice(_Devices, command.ShowOne):
    """Show an accelerator device and the state of its cleaning"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        base.add_device(parser)
        self.add_source(parser)
        return parser

    def act(self, parsed_args):
        proxy = self.source(parsed_args)
        device = sdk_device.Device.new(id=base.uuid_of(proxy, parsed_args.device)).fetch(proxy)
        names = self.known(proxy, LONG)
        return names, [value_of(device, name) for name in names]
