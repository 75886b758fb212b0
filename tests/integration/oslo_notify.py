"""Sends notifications the way Nova does, with oslo.messaging itself: an independent witness of what
the wire looks like.

Usage: oslo_notify.py TRANSPORT_URL EXCHANGE TOPIC PUBLISHER_ID EVENT_TYPE[,EVENT_TYPE...] PAYLOAD
where PAYLOAD is JSON."""
import json
import sys

import oslo_messaging
from oslo_config import cfg


def main():
    url, exchange, topic, publisher_id, event_types, payload = sys.argv[1:]
    conf = cfg.ConfigOpts()
    conf([], project="oslo_notify")
    oslo_messaging.set_transport_defaults(control_exchange=exchange)
    transport = oslo_messaging.get_notification_transport(conf, url=url)
    notifier = oslo_messaging.Notifier(
        transport, publisher_id=publisher_id, driver="messagingv2", topics=[topic], retry=2)
    context = {"auth_token": "gAAAAABsecret", "request_id": "req-oslo"}
    for event_type in event_types.split(","):
        notifier.info(context, event_type, json.loads(payload))
    transport.cleanup()


main()
