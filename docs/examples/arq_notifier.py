#!/usr/bin/python3
"""Publishes that a device was bound, then that it was unbound, as a Cyborg notifier does.

usage: arq_notifier.py TRANSPORT_URL HOST [DRIVER], where DRIVER is messagingv2 or messaging"""
import sys

import oslo_messaging
from oslo_config import cfg

ARQ = {"uuid": "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b", "project_id": None, "hostname": sys.argv[2],
       "device_profile_name": "nvme", "device_profile_group_id": 0, "attach_handle_type": "PCI",
       "device_rp_uuid": "03631f82-20a9-3f67-a29d-dc1abe4041bf",
       "instance_uuid": "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc",
       "attach_handle_info": {"domain": "0000", "bus": "0c", "device": "00", "function": "0",
                              "managed": False}}
conf = cfg.ConfigOpts()
conf([], project="cyborg")
oslo_messaging.set_transport_defaults(control_exchange="cyborg")
notifier = oslo_messaging.Notifier(
    oslo_messaging.get_notification_transport(conf, url=sys.argv[1]),
    publisher_id="cyborg-conductor:" + sys.argv[2], topics=["versioned_notifications"],
    driver=sys.argv[3] if len(sys.argv) > 3 else "messagingv2")
for event, state in (("bind.end", "Bound"), ("unbind.end", "Unbound")):
    notifier.info({}, "accelerator_request." + event, {
        "cyborg_object.name": "ExtARQPayload", "cyborg_object.namespace": "cyborg",
        "cyborg_object.version": "1.0", "cyborg_object.data": {**ARQ, "state": state}})
