"""Reclaim's device API for the OpenStack SDK.

    connection = openstack.connect(cloud="prod")
    cleaning = reclaim_openstack.sdk.of(connection)
    for device in cleaning.devices(device_state="error"):
        cleaning.clean_device(device)

The service type is Reclaim's own. Cyborg's, `accelerator`, is never asked here: an order meant for
Reclaim would do something else there.
"""
from openstack import service_description

from reclaim_openstack.sdk import proxy

SERVICE_TYPE = "accelerator-cleaning"
ATTRIBUTE = "accelerator_cleaning"


def of(connection):
    """The proxy of Reclaim's device API, as `connection.accelerator_cleaning` from then on."""
    if not hasattr(type(connection), ATTRIBUTE):
        connection.add_service(service_description.ServiceDescription(
            SERVICE_TYPE, {"2": proxy.Proxy}))
    connection.config.enable_service(SERVICE_TYPE)
    return getattr(connection, ATTRIBUTE)
