"""The recorded Nova traffic and how it gets onto RabbitMQ: through py-amqp, which shares nothing
with the librabbitmq that Reclaim listens with."""
import json
import os

import amqp

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "../../data/nova-2026.2/notifications.jsonl")


def recorded(of_host="compute-2", to_host="compute-2"):
    """The recorded messages, one a tuple (exchange, routing key, body), for a host of that name."""
    messages = []
    with open(RECORDED, encoding="utf-8") as file:
        for line in file:
            message = json.loads(line)
            messages.append((message["exchange"], message["routing_key"],
                             message["body"].replace(of_host, to_host)))
    return messages


def inner(body):
    """What oslo.messaging put into its envelope."""
    return json.loads(json.loads(body)["oslo.message"])


def event_of(body):
    return inner(body)["event_type"]


def changed(message, change):
    """The same message with what `change` does to what oslo.messaging put into its envelope."""
    exchange, routing_key, body = message
    outer = json.loads(body)
    content = json.loads(outer["oslo.message"])
    change(content)
    return exchange, routing_key, json.dumps({**outer, "oslo.message": json.dumps(content)})


class Bus:
    """One connection to the broker. Not kept open for longer than it takes."""

    def __init__(self, broker):
        self.connection = amqp.Connection(
            host="127.0.0.1:%d" % broker["port"], userid=broker["user"],
            password=broker["password"], connect_timeout=300, read_timeout=300, write_timeout=300)
        self.connection.connect()
        self.channel = self.connection.channel()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def declare_exchange(self, name="nova"):
        """As oslo.messaging declares it where amqp_durable_queues is off."""
        self.channel.exchange_declare(name, "topic", durable=False, auto_delete=False)

    def bind_queue(self, queue, exchange, keys):
        """A listener's queue, with its exchange."""
        self.declare_exchange(exchange)
        self.channel.queue_declare(queue, durable=False, auto_delete=False)
        for key in keys:
            self.channel.queue_bind(queue, exchange, key)

    def declare_notifiers_queues(self):
        """As oslo.messaging declares them on its way, without a bound; their names."""
        self.declare_exchange()
        names = ["%s.%s" % (topic, priority)
                 for topic in ("versioned_notifications", "notifications")
                 for priority in ("info", "error")]
        for name in names:
            self.channel.queue_declare(name, durable=False, auto_delete=False)
            self.channel.queue_bind(name, "nova", name)
        return names

    def publish(self, exchange, routing_key, body):
        message = amqp.Message(body, content_type="application/json", content_encoding="utf-8",
                               delivery_mode=2, priority=0)
        self.channel.basic_publish(message, exchange=exchange, routing_key=routing_key)

    def publish_all(self, messages):
        for exchange, routing_key, body in messages:
            self.publish(exchange, routing_key, body)

    def take(self, queue):
        """The body of the next message of a queue, or None."""
        message = self.channel.basic_get(queue, no_ack=True)
        return message.body if message else None

    def look(self, queue):
        """(messages, consumers)."""
        found = self.channel.queue_declare(queue, passive=True)
        return found.message_count, found.consumer_count

    def length(self, queue):
        return self.look(queue)[0]

    def delete_queue(self, queue):
        self.channel.queue_delete(queue)
