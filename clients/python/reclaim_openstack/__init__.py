"""Reclaim beside OpenStack: osc/ has the commands of the openstack client."""
