"""Listens to notifications with oslo.messaging itself, and prints each as a line of JSON.

Usage: oslo_listen.py TRANSPORT_URL EXCHANGE TOPIC
It prints "ready" first, and ends with its standard input."""
import json
import sys
import threading

import oslo_messaging
from oslo_config import cfg


class Endpoint:
    def __init__(self):
        self.lock = threading.Lock()  # several threads call

    def _print(self, priority, publisher_id, event_type, payload, metadata):
        with self.lock:
            print(json.dumps({"priority": priority, "publisher_id": publisher_id,
                              "event_type": event_type, "payload": payload,
                              "message_id": metadata["message_id"],
                              "timestamp": metadata["timestamp"]}), flush=True)

    def info(self, _context, publisher_id, event_type, payload, metadata):
        self._print("info", publisher_id, event_type, payload, metadata)

    def error(self, _context, publisher_id, event_type, payload, metadata):
        self._print("error", publisher_id, event_type, payload, metadata)


def main():
    url, exchange, topic = sys.argv[1:]
    conf = cfg.CONF
    conf([], project="oslo_listen")
    conf.set_override("metrics_thread_stop_timeout", 0, group="oslo_messaging_metrics")
    transport = oslo_messaging.get_notification_transport(conf, url=url)
    target = oslo_messaging.Target(exchange=exchange, topic=topic)
    listener = oslo_messaging.get_notification_listener(transport, [target], [Endpoint()],
                                                        executor="threading")
    listener.start()
    print("ready", flush=True)
    sys.stdin.read()
    listener.stop()
    listener.wait()
    transport.cleanup()


main()
