"""Commands of the openstack client for Reclaim's device API."""
