"""What the demo claims, checked against the media, Placement and the drive's own counters: not
against what Reclaim says of itself. Pure."""


class Drive:
    """What is to be seen of one drive at one time."""

    def __init__(self, state, reserved, consumers, digest, sanitizes, excerpt):
        self.state = state          # device_state
        self.reserved = reserved    # in Placement
        self.consumers = consumers  # in Placement
        self.sha256 = digest["sha256"]
        self.tenant_blocks = int(digest["tenant_blocks"])
        self.tenant_blocks_kept = int(digest["tenant_blocks_kept"])
        self.sanitizes = sanitizes  # accepted by the drive in its life
        self.excerpt = excerpt      # a few bytes at a place that held the tenant's text


def wrong_with_erased(before, after):
    """Why the drive of the deleted instance is not what it should be: sentences, none if it is."""
    wrong = []
    if before.tenant_blocks == 0 or before.tenant_blocks_kept != before.tenant_blocks:
        wrong.append("the tenant's data was not on the drive to begin with")
    if after.tenant_blocks_kept != 0:
        wrong.append("%d of the tenant's blocks are still on the drive" % after.tenant_blocks_kept)
    if after.excerpt == before.excerpt:
        wrong.append("the tenant's text can still be read")
    if after.sha256 == before.sha256:
        wrong.append("its media did not change at all")
    if after.sanitizes != before.sanitizes + 1:
        wrong.append("the drive accepted %d sanitize commands instead of one" %
                     (after.sanitizes - before.sanitizes))
    if after.reserved != 0:
        wrong.append("it is still reserved in Placement")
    if after.state != "available":
        wrong.append("its device_state is %s" % after.state)
    return wrong


def wrong_with_untouched(before, after):
    """The same for the drive that an instance still holds."""
    wrong = []
    if after.sha256 != before.sha256 or after.tenant_blocks_kept != before.tenant_blocks:
        wrong.append("its data changed")
    if after.sanitizes != before.sanitizes:
        wrong.append("it was sanitized")
    if after.reserved != 1 or not after.consumers:
        wrong.append("it is not reserved and allocated any more")
    if after.state != "allocated":
        wrong.append("its device_state is %s" % after.state)
    return wrong


def queues_of_notifiers(listed):
    """{name: (messages, consumers)} of their queues and Reclaim's, in a list of all. What another
    service has in its own, oslo.messaging lets expire."""
    rows = [line.split() for line in listed.splitlines()]
    return {name: (int(messages), int(consumers)) for name, messages, consumers in rows
            if "notifications" in name or name.startswith("reclaim_")}


def wrong_with_queues(queues):
    """Of the queues of Nova's notifier: {name: (messages, consumers)}."""
    wrong = ["%s holds %d messages that nobody reads" % (name, messages)
             for name, (messages, consumers) in queues.items() if messages and not consumers]
    return wrong or ([] if queues else ["Nova's notifier has no queues"])


class Card:
    """What is to be seen of a network card at one time."""

    def __init__(self, state, reserved, firmware):
        self.state = state        # device_state
        self.reserved = reserved  # in Placement
        self.firmware = firmware  # as the card itself has it


def wrong_with_card(card, state, reserved, firmware):
    """Why a card is not what it should be: sentences, none if it is."""
    wrong = []
    if card.state != state:
        wrong.append("its device_state is %s" % card.state)
    if card.reserved != reserved:
        wrong.append("%d of it are reserved in Placement" % card.reserved)
    if card.firmware != firmware:
        wrong.append("its firmware is %s" % card.firmware)
    return wrong


def wrong_with_steps(certificate, findings):
    """Of a card that an operator's step cleaned: what its certificate tells."""
    wrong = []
    if certificate["method"] != "operator_steps" or certificate["sanitization_class"]:
        wrong.append("the certificate claims %s %s" % (certificate["method"],
                                                       certificate["sanitization_class"]))
    surfaces = [finding["surface"] for finding in findings]
    if not {"command", "args", "time", "result"} <= set(surfaces):
        wrong.append("the certificate tells only %s of the step" % ", ".join(surfaces))
    return wrong


def wrong_with_quarantined(before, after, note, words=("opal", "PSID")):
    """The same for the drive whose tenant left what cannot be put right."""
    wrong = []
    if after.state != "error":
        wrong.append("its device_state is %s" % after.state)
    if after.reserved != 1:
        wrong.append("it was given back")
    if after.consumers:
        wrong.append("an instance has it")
    if after.sanitizes != before.sanitizes or after.sha256 != before.sha256:
        wrong.append("it was erased though it is quarantined")
    if any(word not in note for word in words):
        wrong.append("its note does not say what to do: " + note)
    return wrong


def wrong_with_verification(code, told, tampered_code, tampered_told):
    """Of `certificate verify`, on the folder as it is and on a copy with one byte changed."""
    wrong = []
    if code != 0 or "whole and signed" not in told:
        wrong.append("the certificate does not verify: " + told)
    if tampered_code == 0 or "was changed" not in tampered_told:
        wrong.append("a changed certificate is not noticed: " + tampered_told)
    return wrong


def wrong_with_api(listed, device, clean_again, clean_by_reader, uuid):
    """Of the device API: what the openstack client listed, what curl was shown and told."""
    wrong = []
    if uuid not in listed:
        wrong.append("the openstack client does not list it: " + listed)
    if (device.get("uuid"), device.get("type"), device.get("device_state")) != (
            uuid, "NVME", "available"):
        wrong.append("the device API shows %s" % device)
    if clean_again != 409:
        wrong.append("cleaning a clean device was answered with %d" % clean_again)
    if clean_by_reader != 403:
        wrong.append("a reader's clean was answered with %d" % clean_by_reader)
    return wrong


def wrong_with_certificate(certificate, serial, instance):
    wrong = []
    if certificate.get("serial") != serial:
        wrong.append("the certificate is of drive %s" % certificate.get("serial"))
    if certificate.get("instance") != instance:
        wrong.append("the certificate names instance %s" % certificate.get("instance"))
    if not certificate.get("evidence", {}).get("global_data_erased"):
        wrong.append("the certificate does not say that all data was erased")
    report = certificate.get("verification", {})
    if report.get("samples_counted", 0) < 1 or report.get("samples_unchanged") != 0:
        wrong.append("the certificate does not show a verification that counts")
    return wrong
