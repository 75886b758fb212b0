"""Reclaim beside OpenStack: osc/ has the commands of the openstack client, sdk/ what they
and scripts ask the device API with, cyborg/ the driver of a cyborg-agent."""
