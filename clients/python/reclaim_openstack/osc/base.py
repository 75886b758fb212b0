"""What the commands share: the API's errors in plain words, and how a device is named."""
import argparse
import difflib
import json
import uuid

from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions


def visible(value):
    """A value of the API's, or of Cyborg's: what would move the cursor of a terminal, or turn its
    reading direction, is shown and not obeyed."""
    if isinstance(value, dict):
        return {visible(name): visible(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible(each) for each in value]
    if not isinstance(value, str):
        return value
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode()
                   for each in value)


def plain(problem):
    """The one line that the user is shown of an error of the API's."""
    text = getattr(problem, "details", None) or str(problem)
    status = getattr(problem, "status_code", None)
    facts = ["HTTP %s" % status] if status else []
    if getattr(problem, "request_id", None):
        facts.append(problem.request_id)
    return visible("%s (%s)" % (text, ", ".join(facts)) if facts else text)


def given(text):
    """The type of an option's text. One that is empty, as of a variable that is not set, is not one
    that was left out: all would be listed, or any drive accepted."""
    if not text:
        raise argparse.ArgumentTypeError("is empty; give a value, or leave the option out")
    return text


class Plain:
    """Beside a command's class: `act` does the work, and what the API refuses is a plain error."""

    def take_action(self, parsed_args):
        try:
            return self.act(parsed_args)
        except sdk_exceptions.HttpException as problem:
            raise exceptions.CommandError(plain(problem))
        except keystone.ConnectFailure as problem:
            raise exceptions.CommandError("%s. Look whether `reclaim api` runs" % problem)


def address_of(device):
    """The PCI address, or None."""
    try:
        return json.loads(device.std_board_info)["pci_address"]
    except (TypeError, ValueError, KeyError):
        return None


def add_device(parser, **more):
    parser.add_argument("device", metavar="<device>", help=(
        "UUID of the device, Reclaim's or Cyborg's, or HOST/PCI-ADDRESS, as in "
        "compute-1/0000:c1:00.0"), **more)


def check_host(proxy, host):
    """An error where no device is of this host, so that nothing was found for another reason than
    the rest of what was asked for."""
    known = sorted({device.hostname for device in proxy.devices()})
    if host not in known:
        near = difflib.get_close_matches(host, known, 1)
        raise exceptions.CommandError(visible(
            "no device here is of the host %s%s; see openstack accelerator device list" % (
                host, "; did you mean %s?" % near[0] if near else "")))


def uuid_of(proxy, text):
    """The UUID that a <device> stands for."""
    host, slash, address = text.rpartition("/")
    if slash:
        for device in proxy.devices(hostname=host):
            if address_of(device) == address.lower():
                return device.uuid
        check_host(proxy, host)
        raise exceptions.CommandError(
            "%s: host %s has no device at %s; see openstack accelerator device list --host %s" % (
                text, host, address, host))
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise exceptions.CommandError(
            "%s: accepted are a UUID and HOST/PCI-ADDRESS, as in compute-1/0000:c1:00.0" % text)
