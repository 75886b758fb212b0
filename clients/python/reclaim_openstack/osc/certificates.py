"""openstack accelerator device certificate list, show, save."""
import json
import os
import sys

from osc_lib import exceptions
from osc_lib.cli import format_columns
from osc_lib.command import command

from reclaim_openstack.osc import base, cloud
from reclaim_openstack.sdk import certificate as sdk_certificate

VERSION = "2.6"
SHORT = ("id", "hostname", "address", "serial", "method", "released_at")
LONG = ("id", "sequence", "hostname", "address", "device_uuid", "model", "serial", "instance",
        "method", "sanitization_class", "released_at")


def _add_id(parser):
    parser.add_argument("certificate", metavar="<certificate>", help="Its id")
    parser.add_argument("--host", metavar="<host>",
                        help="As this host has it, where several have that id")


class ListCertificates(base.Plain, command.Lister):
    """List the certificate of the last release of each device"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--long", action="store_true", help="List additional fields")
        parser.add_argument("--host", metavar="<host>", help="Only of devices of this host")
        parser.add_argument("--device", metavar="<device>",
                            help="Only of this device: a UUID, or HOST/PCI-ADDRESS")
        parser.add_argument("--serial", metavar="<serial>", help="Only of this drive")
        parser.add_argument("--limit", metavar="<number>", type=int,
                            help="At most that many, 1 to 1000")
        parser.add_argument("--marker", metavar="<device>",
                            help="UUID of the last device of the page before")
        return parser

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, VERSION, "`certificate list`")
        query = {"hostname": parsed_args.host, "serial": parsed_args.serial,
                 "device_uuid": parsed_args.device and base.uuid_of(proxy, parsed_args.device),
                 "limit": parsed_args.limit, "marker": parsed_args.marker}
        names = LONG if parsed_args.long else SHORT
        found = list(sdk_certificate.Certificate.list(
            proxy, paginated=parsed_args.limit is None,
            **{key: value for key, value in query.items() if value is not None}))
        return names, ([getattr(each, name) for name in names] for each in found)


class ShowCertificate(base.Plain, command.ShowOne):
    """Show what a certificate says; its signature is not checked"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_id(parser)
        return parser

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, VERSION, "`certificate show`")
        text = proxy.get_sealed_certificate(parsed_args.certificate, parsed_args.host)
        try:
            whole = json.loads(text)
            content = whole["sealed"]["certificate"]
            facts = {"sequence": whole["sealed"]["sequence"], "key_id": whole["sealed"]["key_id"],
                     **content}
        except (ValueError, KeyError, TypeError):
            raise exceptions.CommandError(
                "%s is not in the form of a certificate; save it and look: openstack accelerator "
                "device certificate save %s --file -" % (parsed_args.certificate,
                                                         parsed_args.certificate))
        return tuple(facts), [
            format_columns.DictColumn(value) if isinstance(value, dict) else
            format_columns.ListColumn(value) if isinstance(value, list) else value
            for value in facts.values()]


class SaveCertificate(base.Plain, command.Command):
    """Save the sealed text of a certificate, byte for byte, to verify it"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_id(parser)
        parser.add_argument("--file", metavar="<file>", required=True, help=(
            "Where to; a file that exists is not overwritten; - is standard output"))
        return parser

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, VERSION, "`certificate save`")
        text = proxy.get_sealed_certificate(parsed_args.certificate, parsed_args.host)
        if parsed_args.file == "-":
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
            return
        try:
            with open(parsed_args.file, "xb") as file:
                file.write(text)
        except OSError as problem:
            raise exceptions.CommandError("%s: cannot be written: %s" % (
                parsed_args.file, os.strerror(problem.errno)))
