"""A device of Reclaim's device API, with what microversions 2.3 to 2.7 added to Cyborg's."""
from keystoneauth1 import discover
from openstack import exceptions, resource, utils

NEWEST = "2.7"


def version_for(session):
    """The microversion to ask for: the configured one, else the highest that both sides know."""
    return session.default_microversion or utils.maximum_supported_microversion(session, NEWEST)


class Device(resource.Resource):
    resource_key = None
    resources_key = "devices"
    base_path = "/devices"
    _max_microversion = NEWEST
    allow_fetch = True
    allow_list = True
    _query_mapping = resource.QueryParameters(
        "type", "vendor", "hostname", "status", "device_state", "sort_key", "sort_dir")

    #: Reclaim's own UUID of it: made of the host's name and the PCI address.
    uuid = resource.Body("uuid", alternate_id=True)
    #: NVME is cleaned as a drive; GPU and others by an operator's steps, or never.
    type = resource.Body("type")
    #: The PCI ids of vendor and product, four hexadecimal digits each.
    vendor = resource.Body("vendor")
    model = resource.Body("model")
    #: A JSON text with product_id and pci_address.
    std_board_info = resource.Body("std_board_info")
    vendor_board_info = resource.Body("vendor_board_info")
    hostname = resource.Body("hostname")
    #: enabled or maintaining. From 2.3 on.
    status = resource.Body("status")
    #: available, allocated, pending_cleaning, cleaning or error. From 2.5 on.
    device_state = resource.Body("device_state")
    # From 2.6 on.
    #: Cyborg's UUID of the same drive, where Reclaim is told.
    cyborg_uuid = resource.Body("cyborg_uuid")
    #: Whether an operator reserved it in Placement.
    held = resource.Body("held", type=bool)
    #: The step that runs, {"interface": ..., "step": ...}, or None.
    clean_step = resource.Body("clean_step", type=dict)
    #: Of that step, in percent.
    progress = resource.Body("progress", type=float)
    tags = resource.Body("tags", type=list)
    #: How worn the drive was at its last cleaning, in percent. From 2.7 on.
    percentage_used = resource.Body("percentage_used", type=int)
    available_spare = resource.Body("available_spare", type=int)
    #: Why it is not cleaned yet, and the last failure with its remedy. Absent where the caller may
    #: not read the cleaning.
    waiting_for = resource.Body("waiting_for")
    last_error = resource.Body("last_error")
    created_at = resource.Body("created_at")
    updated_at = resource.Body("updated_at")

    def _order(self, session, verb, body=None):
        """Sends an order; the API answers when it is in the host's stream, not when it is done."""
        answer = session.post(
            utils.urljoin(self.base_path, self.uuid or self.id, verb), json=body,
            microversion=version_for(session))
        exceptions.raise_from_response(answer)

    def clean(self, session, clean_steps=None):
        """Cleans it again, or with `clean_steps`, [{"interface", "step", "args"}], runs these
        first."""
        self._order(session, "clean", {"clean_steps": clean_steps} if clean_steps else None)

    def abort(self, session):
        """Stops its cleaning: the device stays reserved."""
        self._order(session, "abort")

    def unhold(self, session):
        """Approves that its cleaning goes on behind the hold at which it waits."""
        self._order(session, "unhold")

    def enrol(self, session, serial=None):
        """Accepts the drive that is in the slot now; with a serial only the one that has it."""
        self._order(session, "enrol", {"serial": serial} if serial else None)

    def disown(self, session, reason):
        """Strikes a device that no device_spec entry matches any more."""
        self._order(session, "disown", {"reason": reason})

    def retire(self, session, purpose, reason):
        """Has it erased, certified and never given back; `purpose`: what becomes of the drive."""
        self._order(session, "retire", {"as": purpose, "reason": reason})

    def disable(self, session):
        """Begins its maintenance: it is out of the pool, and left alone, until that ends."""
        self._order(session, "disable")

    def enable(self, session):
        """Ends its maintenance."""
        self._order(session, "enable")

    def cleaning(self, session):
        """Its plan, the step that runs, progress, findings and errors, as the API says them."""
        version = version_for(session)
        whole = bool(version) and discover.normalize_version_number(version) >= (2, 7)
        words = ("cleaning",) if whole else ("cleaning", "steps")
        answer = session.get(utils.urljoin(self.base_path, self.uuid or self.id, *words),
                             microversion=version)
        exceptions.raise_from_response(answer)
        return answer.json()
