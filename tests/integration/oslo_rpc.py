"""Talks to a cyborg-agent the way Cyborg's conductor does, and answers as an agent does, with
oslo.messaging itself: an independent witness of both ends.

Usage: oslo_rpc.py client TRANSPORT_URL EXCHANGE SERVER OPERATIONS
       oslo_rpc.py agent TRANSPORT_URL EXCHANGE SERVER
The topic is EXCHANGE-agent. OPERATIONS is a JSON list of {"kind": "cast"|"call", "method",
"version", "device", "timeout"}; the client prints a JSON list of what each returned or raised. An
agent prints "ready" and the name of each method called, and ends with its standard input."""
import json
import sys

import oslo_messaging
from oslo_config import cfg


def primitive(device):
    """A Device as cyborg/objects/base.py's serializer writes it."""
    if not isinstance(device, dict):
        return device
    return {"cyborg_object.name": device.pop("object", "Device"),
            "cyborg_object.namespace": "cyborg", "cyborg_object.version": "1.3",
            "cyborg_object.data": device, "cyborg_object.changes": ["device_state"]}


def client(transport, exchange, server, operations):
    outcomes = []
    for operation in json.loads(operations):
        target = oslo_messaging.Target(exchange=exchange, topic=exchange + "-agent", server=server,
                                       version=operation["version"])
        caller = oslo_messaging.RPCClient(transport, target, timeout=operation.get("timeout", 300))
        arguments = {"device": primitive(operation["device"])} if "device" in operation else {}
        context = {"auth_token": "gAAAAABsecret", "request_id": "req-oslo"}
        try:
            send = getattr(caller, operation["kind"])
            outcomes.append({"returned": send(context, operation["method"], **arguments)})
        except oslo_messaging.RemoteError as error:
            outcomes.append({"raised": "RemoteError", "of": error.exc_type, "text": error.value})
        except Exception as error:  # pylint: disable=broad-except
            outcomes.append({"raised": type(error).__name__, "of": type(error).__module__,
                             "text": str(error)})
    print(json.dumps(outcomes))


class Endpoint:
    target = oslo_messaging.Target(version="1.1")

    def cleanup_device(self, _context, device):
        # In one piece: several threads answer.
        sys.stdout.write("cleanup_device %s\n" % device["cyborg_object.data"]["uuid"])
        sys.stdout.flush()
        return "the agent's"


def agent(transport, exchange, server):
    target = oslo_messaging.Target(exchange=exchange, topic=exchange + "-agent", server=server)
    listener = oslo_messaging.get_rpc_server(transport, target, [Endpoint()], executor="threading")
    listener.start()
    print("ready", flush=True)
    sys.stdin.read()
    listener.stop()
    listener.wait()


def main():
    what, url, exchange, server, *rest = sys.argv[1:]
    conf = cfg.CONF  # where oslo.messaging registers the options of its metrics
    conf([], project="oslo_rpc")
    # A thread of theirs outlives the last request by this many seconds, and we wait for it to end.
    conf.set_override("metrics_thread_stop_timeout", 0, group="oslo_messaging_metrics")
    transport = oslo_messaging.get_rpc_transport(
        conf, url=url, allowed_remote_exmods=["oslo_messaging.rpc.dispatcher"])
    {"client": client, "agent": agent}[what](transport, exchange, server, *rest)
    transport.cleanup()


main()
