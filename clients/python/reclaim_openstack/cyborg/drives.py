"""Which drives are reported, and with what: plain values, without Cyborg's modules."""
import json

from reclaim_openstack.cyborg.report import ADDRESS, OWNER, is_entry

DRIVER_NAME = "reclaim_nvme"


def entry_of(drive):
    """What the file keeps of a drive as the worker tells it; None: that cannot be used."""
    entry = {"serial": drive.get("serial"), "vendor": drive.get("vendor"),
             "product_id": drive.get("product_id"), "rc": drive.get("resource_class"),
             "traits": [OWNER] + list(drive.get("traits") or []), "action": drive.get("action"),
             "managed": drive.get("managed")}
    whole = is_entry(entry) and ADDRESS.match(str(drive.get("address"))) is not None
    return entry if whole else None


def may_begin(drive):
    """Whether a drive may be reported for the first time. Cyborg un-reserves it then.

    One that an instance has, and that was cleaned before, was reported before. Hidden, it would
    make Cyborg's conductor fail for the whole host, and its allocation keeps it from others.
    """
    if drive.get("clean") is True:
        return True
    return (drive.get("state") == "allocated" and bool(drive.get("provider")) and
            (drive.get("cleaned_ms") or 0) > 0 and not drive.get("handed_over"))


def refreshed(entry, drive):
    """The entry of a drive that was reported before, by what the worker tells now.

    The resource class stays: a change makes Cyborg write `reserved = 0`, also while it is dirty. So
    another drive in the same slot counts only when it is clean.
    """
    told = entry_of(drive)
    if told is None:
        return entry
    if entry["serial"] and told["serial"] and entry["serial"] != told["serial"]:
        return told if drive.get("clean") is True else entry
    new = dict(entry, serial=told["serial"] or entry["serial"])
    if drive.get("traits") is not None:
        new["traits"] = told["traits"]
    # Locked in while it is cleaned; an attach handle that is in use must not change.
    if drive.get("state") in ("available", "error") and told["action"]:
        new["action"] = told["action"]
    if drive.get("state") == "available":
        new["managed"] = told["managed"]
    return new


def merged(known, drives):
    """Entries by address: all that were reported before, and those that may be from now on."""
    entries = dict(known)
    for drive in drives:
        address = drive.get("address")
        if address in entries:
            entries[address] = refreshed(entries[address], drive)
        elif may_begin(drive):
            entry = entry_of(drive)
            if entry is not None:
                entries[address] = entry
    return entries


def pci_parts(address):
    """{"bus", "device", "domain", "function"} in that order: the text is the device's identity."""
    domain, bus, rest = address.split(":")
    device, function = rest.split(".")
    return {"bus": bus, "device": device, "domain": domain, "function": function}


def board_info(address, entry):
    info = {"product_id": entry["product_id"], "pci_address": address}
    if entry["action"]:
        info["cleanup_action"] = entry["action"]
    return json.dumps(info)


def attributes(entry):
    """(key, value) pairs. One key for each trait: Cyborg takes a trait that leaves a numbered key
    for one that the drive has no more."""
    pairs = [("rc", entry["rc"])]
    for trait in entry["traits"]:
        pairs.append(("trait_" + trait, trait))
    return pairs


def attach_info(address, entry):
    info = pci_parts(address)
    if not entry["managed"]:
        info["managed"] = False
    return json.dumps(info)
