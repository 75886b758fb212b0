"""What Cyborg says on the bus, said by oslo.messaging itself, each in a process of its own:
notifications of ARQs as docs/examples/arq_notifier.py sends them, and what Cyborg's conductor casts
to an agent.

As a program, with JSON as the last word:
    cyborg_said.py TRANSPORT_URL HOST notify EVENT_TYPE "" ARQ
    cyborg_said.py TRANSPORT_URL HOST cast|call METHOD VERSION ARGUMENTS
"""
import json
import os
import subprocess
import sys

PYTHON = "/usr/bin/python3"


def arq(uuid, host, address, instance, provider, state="Bound", managed=None):
    """An ARQ as Cyborg's API shows it."""
    domain, bus, rest = address.split(":")
    device, function = rest.split(".")
    info = {"domain": domain, "bus": bus, "device": device, "function": function}
    if managed is not None:
        info["managed"] = managed
    return {"uuid": uuid, "state": state, "project_id": "4e01a8e052b442e4be6720dd82f0ef77",
            "device_profile_name": "nvme", "device_profile_group_id": 0, "hostname": host,
            "device_rp_uuid": provider, "instance_uuid": instance, "attach_handle_type": "PCI",
            "attach_handle_uuid": "97734f69-5cfa-4f4b-8609-b6d3ddadb0d7",
            "attach_handle_info": info}


def say(services, host, kind, name, version, content):
    done = subprocess.run([PYTHON, os.path.abspath(__file__), services.transport_url(), host, kind,
                           name, version, json.dumps(content)],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError("%s of %s failed: %s" % (kind, name, done.stderr[-2000:]))
    return json.loads(done.stdout)


def notify(services, event_type, content):
    say(services, content["hostname"] or "", "notify", event_type, "", content)


def cast(services, host, method, arguments, version="1.1"):
    say(services, host, "cast", method, version, arguments)


def device_object(uuid, host, address):
    """A Device as oslo.versionedobjects' serializer writes it, as far as it matters here."""
    return {"cyborg_object.name": "Device", "cyborg_object.namespace": "cyborg",
            "cyborg_object.version": "1.3", "cyborg_object.data": {
                "id": 1, "uuid": uuid, "type": "NVME", "vendor": "144d", "model": "a80a",
                "hostname": host, "status": "enabled", "device_state": "error",
                "std_board_info": json.dumps({"product_id": "a80a", "pci_address": address}),
                "vendor_board_info": None}}


def send(transport, host, kind, name, version, content):
    import oslo_messaging
    if kind == "notify":
        notifier = oslo_messaging.Notifier(
            transport, publisher_id="cyborg-conductor:" + host, driver="messagingv2",
            topics=["versioned_notifications"], retry=2)
        return notifier.info({"request_id": "req-cyborg"}, name, {
            "cyborg_object.name": "ExtARQPayload", "cyborg_object.namespace": "cyborg",
            "cyborg_object.version": "1.0", "cyborg_object.data": content})
    client = oslo_messaging.RPCClient(
        transport, oslo_messaging.Target(topic="cyborg-agent", version="1.0"), timeout=300)
    return getattr(client.prepare(server=host, version=version), kind)(
        {"request_id": "req-cyborg"}, name, **content)


def main():
    import oslo_messaging
    from oslo_config import cfg
    url, host, kind, name, version, content = sys.argv[1:]
    conf = cfg.CONF  # where oslo.messaging registers the options of its metrics
    conf([], project="cyborg")
    # A thread of theirs outlives the last request by this many seconds, and we wait for it to end.
    conf.set_override("metrics_thread_stop_timeout", 0, group="oslo_messaging_metrics")
    oslo_messaging.set_transport_defaults(control_exchange="cyborg")
    get = oslo_messaging.get_notification_transport if kind == "notify" else \
        oslo_messaging.get_rpc_transport
    transport = get(conf, url=url)
    print(json.dumps(send(transport, host, kind, name, version, json.loads(content))))
    transport.cleanup()


if __name__ == "__main__":
    main()
