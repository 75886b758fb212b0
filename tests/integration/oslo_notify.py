"""Sends notifications the way Nova does, with oslo.messaging itself: an independent witness of what
the wire looks like.

Usage: oslo_notify.py TRANSPORT_URL EXCHANGE TOPIC PUBLISHER_ID EVENT_TYPE[,EVENT_TYPE...] PAYLOAD
where PAYLOAD is JSON."""
import json
import sys

import oslo_messaging
from oslo_config import cfg


class Context(dict):
    """A request's context, as Nova has one. From Debian 13 on oslo.messaging sends what this gives
    it in place of the whole, and of a plain dict nothing."""

    def redacted_copy(self):
        return Context({key: value for key, value in self.items() if key != "auth_token"})


def main():
    url, exchange, topic, publisher_id, event_types, payload = sys.argv[1:]
    conf = cfg.ConfigOpts()
    conf([], project="oslo_notify")
    oslo_messaging.set_transport_defaults(control_exchange=exchange)
    transport = oslo_messaging.get_notification_transport(conf, url=url)
    notifier = oslo_messaging.Notifier(
        transport, publisher_id=publisher_id, driver="messagingv2", topics=[topic], retry=2)
    context = Context(auth_token="gAAAAABsecret", request_id="req-oslo")
    for event_type in event_types.split(","):
        notifier.info(context, event_type, json.loads(payload))
    transport.cleanup()


main()
