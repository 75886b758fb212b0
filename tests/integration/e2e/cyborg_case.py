"""What the tests of the Cyborg flow share: a host whose drives Cyborg registered in Placement, and
what Nova and Cyborg do and say when an instance takes one or gives it up."""
import json
import os
import uuid

import bus
from case import DELETED, FIRST, SECOND, SEED, EndToEnd, Setting
from services import STACK, openstack_api, run
from waiting import wait_until

PYTHON = "/usr/bin/python3"


def new_uuid():
    return str(uuid.uuid4())


class CyborgSetting(Setting):
    """A host whose drives have a provider each as Cyborg's agent and conductor make it."""

    def register(self, address, consumer=None, reserved=0, **more):
        return super().register(address, consumer=consumer, reserved=reserved,
                                **{"owner": "cyborg", **more})

    def allocate(self, address, consumer):
        """What Nova does when an instance with a device profile is scheduled."""
        provider = self.providers[address]
        (resource_class,) = self.services.inventories(provider)
        self.services.placement().allocate(consumer, provider, resource_class)

    def tell_nova(self, instance, event):
        """What Nova says of an instance with a device profile: the recorded messages of that event,
        versioned and legacy, with this instance and the extra spec in them."""
        def change(content):
            payload = content["payload"].get("nova_object.data", content["payload"])
            payload["uuid" if "uuid" in payload else "instance_id"] = instance
            if "flavor" in payload:
                payload["flavor"]["nova_object.data"]["extra_specs"] = {
                    "accel:device_profile": "nvme"}
        self.publish([bus.changed(message, change) for message in self.messages()
                      if DELETED in message[2] and bus.event_of(message[2]).endswith(event)])

    def driver(self, address):
        """Of the PCI function, as sysfs has it."""
        return os.path.basename(os.readlink(os.path.join(
            self.host.root, "sys/bus/pci/devices", address, "driver")))

    def triggers(self):
        return [entry["trigger"] for entry in self.worker.journal()]

    def arqs(self):
        """The ARQs in Redis, by UUID."""
        words = self.services.redis("--json", "hgetall", "reclaim:{%s}:arqs" % self.name,
                                    db=self.db)
        found = json.loads(words)
        if isinstance(found, list):
            found = dict(zip(found[::2], found[1::2]))
        return {name: json.loads(text) for name, text in found.items()}


class CyborgApi:
    """The stand-in for Cyborg's REST API (stack/cyborg.py); any token is an admin's to it."""

    PROGRAM = os.path.join(STACK, "cyborg.py")

    def __init__(self, folder):
        self.folder = folder
        run([PYTHON, self.PROGRAM, "start", folder, "--owner-pid", str(os.getpid())])
        with open(os.path.join(folder, "cyborg.json"), encoding="utf-8") as file:
            self.endpoint = json.load(file)["endpoint"]

    def do(self, command, **values):
        return json.loads(run([PYTHON, self.PROGRAM, "do", self.folder, command,
                               *["%s=%s" % pair for pair in values.items()]]))

    def stop(self):
        run([PYTHON, self.PROGRAM, "stop", self.folder])


class CyborgEndToEnd(EndToEnd):
    def cyborg(self, drives=1, duration_ms=300, fault="", start=True, more="", registered=True,
               **settings):
        """A host with drives of Cyborg's that nobody has, and a worker that knows them."""
        descriptions = ["address=%s,serial=SERIAL%d,size=32M,duration_ms=%d%s" %
                        (address, number, duration_ms, fault)
                        for number, address in enumerate((FIRST, SECOND)[:drives], 1)]
        made = CyborgSetting(self, descriptions, **settings)
        for address in (FIRST, SECOND)[:drives]:
            made.host.fill(address, SEED)
            if registered:
                made.register(address)
        made.worker.write_config(more)
        if start:
            made.worker.start()
            for address in made.providers:
                made.worker.wait_field(address, "device_state", "available")
        return made

    def bind(self, made, instance=None, address=FIRST):
        """Nova's scheduler gives the drive to an instance; nobody has said anything yet."""
        instance = instance or new_uuid()
        made.allocate(address, instance)
        return instance

    def bind_behind(self, made):
        """Somebody un-reserves a drive that is not to be had, and an instance gets it. The worker
        looks every two seconds, and may have reserved it again in between: then both are done
        again."""
        instance = new_uuid()

        def bound():
            made.services.reserve(made.providers[FIRST], 0)
            try:
                self.bind(made, instance)
            except openstack_api.HttpError as error:
                if error.status != 409:
                    raise
                return False
            return True
        wait_until(bound, "%s is bound (see %s)" % (FIRST, made.worker.log))
        return instance

    def wait_reserved(self, made, address=FIRST, reserved=1):
        wait_until(lambda: made.reserved(address) == reserved, "%s has reserved = %d (see %s)" %
                   (address, reserved, made.worker.log))

    def surveys(self, made):
        """How many there were: each lists the tree once."""
        root = made.services.placement().provider(made.name)["uuid"]
        return sum(path.endswith("in_tree=" + root) for _, path, _ in made.services.requests())

    def assert_certified(self, made, instance, address=FIRST):
        certificate = made.certificate(address)
        self.assertEqual(certificate["flow"], "cyborg")
        self.assertEqual(certificate["instance"], instance)
        self.assertEqual(certificate["provider"], made.providers[address])
