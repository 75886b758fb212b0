"""Which service a command asks, and that it is the right one.

Reclaim and Cyborg have calls of the same name that do different things, so an order goes to the
service type `accelerator-cleaning` alone, and only if what answers there says that it is Reclaim.
"""
import re

from keystoneauth1 import discover
from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from reclaim_openstack import sdk

NAME = "Reclaim device API"


def _no_endpoint(connection, interface, region):
    text = "no endpoint of the service type %s with the interface %s%s" % (
        sdk.SERVICE_TYPE, interface, " in region " + region if region else "")
    catalog = connection.session.auth.get_access(connection.session).service_catalog
    others = sorted({"%s in %s" % (each.interface, each.region_name) for found in
                     catalog.get_endpoints_data(service_type=sdk.SERVICE_TYPE).values()
                     for each in found})
    if others:
        return ("%s; the catalog has: %s. Set accelerator_cleaning_interface or region_name in "
                "clouds.yaml" % (text, ", ".join(others)))
    return ("%s: Reclaim's device API is not registered in this cloud. Register it (`openstack "
            "service create accelerator-cleaning`, then `openstack endpoint create`), or set "
            "accelerator_cleaning_endpoint_override in clouds.yaml" % text)


def _registered_at(connection):
    """The URL in clouds.yaml or in the catalog."""
    config = connection.config
    override = config.get_endpoint(sdk.SERVICE_TYPE)
    if override:
        return override
    interface = config.get_interface(sdk.SERVICE_TYPE)
    region = config.get_region_name(sdk.SERVICE_TYPE)
    try:
        found = connection.session.get_endpoint(
            service_type=config.get_service_type(sdk.SERVICE_TYPE), interface=interface,
            region_name=region)
    except keystone.EndpointNotFound:
        found = None
    if not found:
        raise exceptions.CommandError(_no_endpoint(connection, interface, region))
    return found


def cleaning_of(app, version=None, purpose=None, order=False):
    """The SDK's proxy of Reclaim's device API. `version`: the microversion that `purpose` needs.
    `order`: it changes something."""
    connection = app.client_manager.sdk_connection
    url = _registered_at(connection)
    try:
        # Asked by itself first: of a dead override the SDK makes an AttributeError.
        data = connection.config.get_session_client(sdk.SERVICE_TYPE).get_endpoint_data()
        if not data or not data.max_microversion:
            raise exceptions.CommandError(
                "no device API answers with its versions at %s. Look whether `reclaim api` runs "
                "there, and what the catalog says: openstack endpoint list --service %s" % (
                    url, sdk.SERVICE_TYPE))
        proxy = sdk.of(connection)
    except (sdk_exceptions.SDKException, keystone.ClientException) as problem:
        raise exceptions.CommandError(str(problem))
    if order:
        _check_name(proxy)
    if version:
        require(proxy, version, purpose)
    return proxy


def cyborg_of(app):
    """The SDK's proxy of Cyborg itself: only to read."""
    connection = app.client_manager.sdk_connection
    connection.accelerator.get_endpoint_data()
    return connection.accelerator


def highest(proxy):
    """(major, minor) that the service answers; (2, 0) where it does not say."""
    data = proxy.get_endpoint_data()
    return data.max_microversion or (2, 0) if data else (2, 0)


def require(proxy, version, purpose):
    """An error where the service, or what is configured, is older than what is asked for."""
    wanted = discover.normalize_version_number(version)
    if highest(proxy) < wanted:
        raise exceptions.CommandError(
            "%s needs microversion %s; %s answers up to %s. Upgrade what serves the API" % (
                purpose, version, proxy.get_endpoint(),
                discover.version_to_string(highest(proxy))))
    configured = proxy.default_microversion
    if configured and discover.normalize_version_number(configured) < wanted:
        raise exceptions.CommandError(
            "%s needs microversion %s; clouds.yaml or the environment asks for %s. Remove "
            "accelerator_cleaning_default_microversion" % (purpose, version, configured))


def _check_name(proxy):
    url = re.sub(r"/v\d[\d.]*/?$", "", proxy.get_endpoint())
    answer = proxy.session.get(url + "/", authenticated=False, raise_exc=False,
                               headers={"Accept": "application/json"})
    try:
        name = answer.json().get("name")
    except (ValueError, AttributeError):
        name = None
    if name != NAME:
        raise exceptions.CommandError(
            "%s is registered as %s, but what answers there calls itself %r and not %r. Nothing "
            "was sent. Correct the endpoint: openstack endpoint list --service %s" % (
                url, sdk.SERVICE_TYPE, name, NAME, sdk.SERVICE_TYPE))
