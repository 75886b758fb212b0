"""A certificate of an erasure: the row of the list, and the sealed text."""
from openstack import exceptions, resource, utils

from reclaim_openstack.sdk.device import NEWEST, version_for


def listed(session, damaged, paginated=True, **query):
    """A generator of the Certificates of a list. `damaged` gets, as the API says them, the places
    whose certificate it cannot read: {"hostname", "address", "reason"}, each once."""
    uri = Certificate.base_path
    while uri:
        answer = session.get(uri, headers={"Accept": "application/json"}, params=query,
                             microversion=version_for(session))
        exceptions.raise_from_response(answer)
        page = answer.json()
        damaged += [each for each in page.get("damaged", []) if each not in damaged]
        for row in page["certificates"]:
            yield Certificate.existing(**row)
        following = [link["href"] for link in page.get("certificates_links", [])
                     if paginated and link["rel"] == "next"]
        uri, query = following[0] if following else None, {}


class Certificate(resource.Resource):
    resource_key = None
    resources_key = "certificates"
    base_path = "/certificates"
    _max_microversion = NEWEST
    allow_list = True
    _query_mapping = resource.QueryParameters("hostname", "device_uuid", "serial")

    id = resource.Body("id")
    #: Its place in the chain of its host.
    sequence = resource.Body("sequence", type=int)
    device_uuid = resource.Body("device_uuid")
    hostname = resource.Body("hostname")
    #: The PCI address.
    address = resource.Body("address")
    model = resource.Body("model")
    serial = resource.Body("serial")
    #: UUID of the instance whose tenancy it ended; empty where none was seen.
    instance = resource.Body("instance")
    method = resource.Body("method")
    #: clear or purge; empty for a device that is not a drive.
    sanitization_class = resource.Body("sanitization_class")
    released_at = resource.Body("released_at")

    def sealed(self, session, hostname=None):
        """The sealed text, byte for byte as in the file on its host: its signature is over these
        bytes."""
        answer = session.get(
            utils.urljoin(self.base_path, self.id), headers={"Accept": "*/*"},
            params={"hostname": hostname} if hostname else {},
            microversion=version_for(session))
        exceptions.raise_from_response(answer)
        return answer.content
