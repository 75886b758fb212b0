"""Reclaim's device API as a service of the OpenStack SDK. `device` is a Device or a UUID, Reclaim's
or Cyborg's. Orders return when they are on their way; waiting.py waits for what comes of them."""
from openstack import proxy

from reclaim_openstack.sdk import certificate as _certificate
from reclaim_openstack.sdk import device as _device


class Proxy(proxy.Proxy):
    def devices(self, **query):
        """A generator of devices; `query`: type, vendor, hostname, status, device_state, sort_key,
        sort_dir, limit (a page's length) and marker."""
        return self._list(_device.Device, **query)

    def get_device(self, device):
        return self._get(_device.Device, device)

    def clean_device(self, device, clean_steps=None):
        self._of(device).clean(self, clean_steps)

    def abort_device(self, device):
        self._of(device).abort(self)

    def unhold_device(self, device):
        self._of(device).unhold(self)

    def enrol_device(self, device, serial=None):
        self._of(device).enrol(self, serial)

    def disown_device(self, device, reason):
        self._of(device).disown(self, reason)

    def retire_device(self, device, purpose, reason):
        self._of(device).retire(self, purpose, reason)

    def disable_device(self, device):
        self._of(device).disable(self)

    def enable_device(self, device):
        self._of(device).enable(self)

    def get_cleaning(self, device):
        """The plan of its cleaning and where that stands, as a dict."""
        return self._of(device).cleaning(self)

    def certificates(self, **query):
        """A generator of the last certificate of each device; `query`: hostname, device_uuid,
        serial, limit (a page's length) and marker."""
        return self._list(_certificate.Certificate, **query)

    def get_sealed_certificate(self, certificate, hostname=None):
        """The bytes of a certificate, by its id; `hostname`: as this host has it, where several
        have that id."""
        return self._get_resource(_certificate.Certificate, certificate).sealed(self, hostname)

    def _of(self, device):
        return self._get_resource(_device.Device, device)
