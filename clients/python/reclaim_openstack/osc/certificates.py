"""openstack accelerator device certificate list, show, save."""
import datetime
import json
import logging
import os
import re
import sys

from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.cli import format_columns
from osc_lib.command import command

from reclaim_openstack.osc import base, cloud
from reclaim_openstack.sdk import certificate as sdk_certificate

VERSION = "2.6"
SHORT = ("id", "hostname", "address", "serial", "instance", "method", "released_at")
LONG = ("id", "sequence", "hostname", "address", "device_uuid", "model", "serial", "instance",
        "method", "sanitization_class", "released_at")
LOG = logging.getLogger(__name__)
DAY = datetime.timedelta(days=1)


def _moment(option, text):
    """A day of the calendar, or a time in UTC, and whether it is a day."""
    for form, day in (("%Y-%m-%d", True), ("%Y-%m-%dT%H:%M:%SZ", False),
                      ("%Y-%m-%dT%H:%M:%S.%fZ", False)):
        try:
            return datetime.datetime.strptime(text, form), day
        except ValueError:
            pass
    raise exceptions.CommandError(
        "%s: '%s' is neither a day like 2026-11-25 nor a time in UTC like 2026-11-25T21:00:00Z" % (
            option, text))


def _period(begin, end):
    """(from, to) of two options, half-open: a day that ends it counts whole. None: open."""
    since = _moment("--from", begin)[0] if begin else None
    until = None
    if end:
        until, day = _moment("--to", end)
        until += DAY if day else datetime.timedelta()
    if since and until and since >= until:
        raise exceptions.CommandError(
            "--from %s is not before --to %s: exchange the two" % (begin, end))
    return since, until


def _bare(identifier):
    return (identifier or "").lower().replace("-", "")


def _project_id(app, named):
    """The id of a project of that id or name, and a word about which it is. What looks like an id
    is one, though Keystone may not know it any more: anybody may give a project of his own that
    name."""
    if re.fullmatch("[0-9a-f]{32}", _bare(named)):
        LOG.warning("the project with the id %s", named)
        return named
    try:
        found = app.client_manager.sdk_connection.identity.find_project(named)
    except (sdk_exceptions.SDKException, keystone.ClientException) as problem:
        found, why = None, base.plain(problem)
    else:
        why = "there is none of this name or id"
    if found:
        LOG.warning("the project %s: its id is %s", named, found.id)
        return found.id
    raise exceptions.CommandError(
        "the project %s: %s. Give its id: certificates have that alone" % (named, why))


def _add_id(parser):
    parser.add_argument("certificate", metavar="<certificate>", help="Its id")
    parser.add_argument("--host", type=base.given, metavar="<host>",
                        help="As this host has it, where several have that id")


class ListCertificates(base.Plain, command.Lister):
    """List the newest certificate of each device, of its last release or of an erasure behind it"""

    # 1: there are some that could not be looked at. The others are listed.
    code = 0

    def run(self, parsed_args):
        return max(super().run(parsed_args), self.code)

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--long", action="store_true", help="List additional fields")
        parser.add_argument("--host", type=base.given, metavar="<host>",
                            help="Only of devices of this host")
        parser.add_argument("--device", type=base.given, metavar="<device>",
                            help="Only of this device: a UUID, or HOST/PCI-ADDRESS")
        parser.add_argument("--serial", type=base.given, metavar="<serial>",
                            help="Only of this drive")
        parser.add_argument("--project", type=base.given, metavar="<project>", help=(
            "Only of this project's instances: its id, or a name that Keystone knows"))
        parser.add_argument("--instance", type=base.given, metavar="<uuid>",
                            help="Only of this instance")
        parser.add_argument("--from", dest="since", type=base.given, metavar="<date>", help=(
            "From this day on, 2026-11-01, or this time, 2026-11-01T06:00:00Z, UTC"))
        parser.add_argument("--to", dest="until", type=base.given, metavar="<date>", help=(
            "Until this day, with all of it, or until before this time, UTC"))
        parser.add_argument("--limit", metavar="<number>", type=int,
                            help="Look at that many at most, 1 to 1000")
        parser.add_argument("--marker", type=base.given, metavar="<device>",
                            help="UUID of the last device of the page before")
        return parser

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, VERSION, "`certificate list`")
        query = {"hostname": parsed_args.host, "serial": parsed_args.serial,
                 "device_uuid": parsed_args.device and base.uuid_of(proxy, parsed_args.device),
                 "limit": parsed_args.limit, "marker": parsed_args.marker}
        names = LONG if parsed_args.long else SHORT
        period = _period(parsed_args.since, parsed_args.until)
        project = parsed_args.project and _project_id(self.app, parsed_args.project)
        damaged = []
        found = sdk_certificate.listed(
            proxy, damaged, paginated=parsed_args.limit is None,
            **{key: value for key, value in query.items() if value is not None})
        rows = list(self.chosen(proxy, found, parsed_args.instance, period, project))
        for place in damaged:
            self.cannot(place.get("hostname"), place.get("address"), place.get("reason"))
        if parsed_args.host and not rows and not damaged:
            base.check_host(proxy, parsed_args.host)
        return names, ([getattr(each, name) for name in names] for each in rows)

    def cannot(self, host, address, why):
        LOG.error("%s", base.visible("host %s, %s: %s" % (
            host, address or "all devices", why or "its certificate cannot be read")))
        self.code = 1

    def chosen(self, proxy, found, instance, period, project):
        """Those of them that are meant. One that cannot be looked at is said, as what one host put
        into its keys costs no other host. What names no project is counted."""
        nameless = 0
        for each in found:
            try:
                is_meant, names_a_project = _looked_at(proxy, each, instance, period, project)
            except exceptions.CommandError as problem:
                self.cannot(each.hostname, each.address, problem)
            except (sdk_exceptions.NotFoundException, sdk_exceptions.ConflictException) as problem:
                self.cannot(each.hostname, each.address, base.plain(problem))
            else:
                nameless += 0 if names_a_project else 1
                if is_meant:
                    yield each
        if nameless:
            LOG.warning("%d %s no project: whose they were is not known, and they are not shown",
                        nameless, "erasure names" if nameless == 1 else "erasures name")
        if project or instance or any(period):
            LOG.warning("the last certificate of each device, unverified: earlier ones are in each "
                        "host's chain (reclaim certificate report --all-hosts)")


def _looked_at(proxy, row, instance, period, project):
    """(whether it is meant, whether it is one that names a project or none was asked for). The row
    has no project, and no time of what was not returned: its text is read for these."""
    since, until = period
    content, ended = {}, row.released_at
    if instance and _bare(row.instance) != _bare(instance):
        return False, True
    if project or ((since or until) and not ended):
        content = _content(proxy.get_sealed_certificate(row.id, row.hostname), row.id)
        ended = ended or _text(content, "verified_at")
    if since or until:
        at = _moment("released_at", ended)[0]
        if (since and at < since) or (until and at >= until):
            return False, True
    if not project:
        return True, True
    named = _text(content, "project")
    return _bare(named) == _bare(project), bool(named)


def _text(content, name):
    value = content.get(name, "")
    if not isinstance(value, str):
        raise exceptions.CommandError("its certificate has no text as %s" % name)
    return value


def _sealed(text, identifier):
    """What is sealed in a text; its signature is not looked at."""
    try:
        whole = json.loads(text)["sealed"]
        if isinstance(whole["certificate"], dict):
            return whole
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise exceptions.CommandError(
        "%s is not in the form of a certificate; save it and look: openstack accelerator "
        "device certificate save %s --file -" % (identifier, identifier))


def _content(text, identifier):
    return _sealed(text, identifier)["certificate"]


class ShowCertificate(base.Plain, command.ShowOne):
    """Show what a certificate says; its signature is not checked"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_id(parser)
        return parser

    def act(self, parsed_args):
        proxy = cloud.cleaning_of(self.app, VERSION, "`certificate show`")
        text = proxy.get_sealed_certificate(parsed_args.certificate, parsed_args.host)
        whole = _sealed(text, parsed_args.certificate)
        facts = {"sequence": whole["sequence"], "key_id": whole["key_id"], **whole["certificate"]}
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
