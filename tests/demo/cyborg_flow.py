"""Cyborg's flow: an instance gets a drive by an accelerator request (ARQ), goes, and the drive is
cleaned and on offer again; the device API is asked about it by clients that nobody here wrote."""
import os

import api_clients
import api_node
import check
import cyborg_said
import keeping
from stage import HOST, Stage, Tenant
from waiting import wait_until


class CyborgFlow(Stage):
    tenants = {
        "0000:01:00.0": Tenant("vm7", "7b0c6f6e-0a0e-4a44-8f5f-5d1f6c0f8a11", "DEMO-0001", 5),
        "0000:02:00.0": Tenant("vm8", "c1c9a1de-9c39-4f0a-8c0b-0d7b8b1f2e22", "DEMO-0002", 4),
    }
    arq = "2f59e9d8-5a17-4607-83c5-e2ff83cce2c7"

    def run(self):
        self.cleaned, self.left = self.tenants
        self.start_services()
        self.make_host()
        self.start()
        self.bind()
        before = self.look()
        self.unbind()
        after = self.look()
        listed = self.ask()
        self.show_result(before, after, listed)

    def make_host(self):
        self.screen.working("Compute host", "making two drives")
        self.make_drives()
        with self.services.bus() as connection:
            connection.declare_exchange("cyborg")
        for address in self.tenants:
            self.fill(address)
        self.register(self.cleaned, owner="cyborg")
        left = self.tenants[self.left]
        self.register(self.left, owner="cyborg", consumer=left.instance)
        self.screen.step("Compute host", "%s: two emulated drives, registered as Cyborg does" %
                         HOST)
        self.screen.fact(self.cleaned, "%s, 64 MiB; trait OWNER_CYBORG; free: reserved = 0" %
                         self.tenants[self.cleaned].serial)
        self.screen.fact(self.left, "%s, 64 MiB; trait OWNER_CYBORG; %s has it; Cyborg left "
                         "reserved = 0" % (left.serial, left.name))

    def start(self):
        self.start_worker("[listener]\nexchanges = nova,cyborg\n")
        self.api = api_node.ApiNode(self.programs, self.services, os.path.join(self.folder, "api"))
        self.api.start(debug=False)
        self.services.register_endpoint("accelerator-cleaning", self.api.url)
        self.worker.wait_field(self.cleaned, "device_state", "available")
        self.worker.wait_field(self.left, "device_state", "allocated")
        self.wait_reserved(self.left)
        self.screen.step("reclaim serve", "ready (pid %d), listening on no port" %
                         self.worker.process.pid)
        self.screen.step("reclaim api", "ready (pid %d), unprivileged; the device API at %s" %
                         (self.api.process.pid, self.api.url))
        self.screen.fact(self.left, "reserved 0 → 1 at once: the next tenant cannot get it before "
                         "it is clean", self.screen.green)

    def wait_reserved(self, address):
        wait_until(lambda: self.services.reserved(self.providers[address]) == 1,
                   address + " is reserved")

    def say(self, event):
        """What Cyborg's notifier would say, sent by oslo.messaging."""
        cyborg_said.notify(self.services, "accelerator_request." + event, cyborg_said.arq(
            self.arq, HOST, self.cleaned, self.tenants[self.cleaned].instance,
            self.providers[self.cleaned], state="Bound" if event == "bind.end" else "Unbound"))

    def bind(self):
        tenant = self.tenants[self.cleaned]
        self.screen.step("%s is created" % tenant.name,
                         "Nova allocates %s, Cyborg binds an ARQ to it" % self.cleaned)
        provider = self.providers[self.cleaned]
        (resource_class,) = self.services.inventories(provider)
        self.services.placement().allocate(tenant.instance, provider, resource_class)
        self.say("bind.end")
        self.worker.wait_field(self.cleaned, "device_state", "allocated")
        self.wait_reserved(self.cleaned)
        self.follow(self.story(), lambda: True)
        self.screen.fact("device state", "available → allocated, reserved 0 → 1; the ARQ (%s) is "
                         "recorded" % self.arq[:8])

    def unbind(self):
        tenant = self.tenants[self.cleaned]
        self.screen.step("%s is deleted" % tenant.name,
                         "Cyborg unbinds the ARQ, Nova frees the allocation")
        # Nova's order. Between the two the allocation keeps the drive.
        self.say("unbind.end")
        self.services.placement().free(tenant.instance)
        story = self.story()
        self.follow(story, lambda: story.finished)
        self.worker.wait_field(self.cleaned, "device_state", "available")

    def ask(self):
        """The API, by two clients; what curl was told."""
        self.screen.step("Device API", "called with a Keystone token")
        endpoints = self.services.endpoints
        code, out, err = api_clients.openstack_client(
            endpoints, "--os-cloud", "reclaim", "accelerator", "device", "list", "-f", "value",
            "-c", "uuid", "-c", "type", "-c", "hostname", **self.cloud())
        if code != 0:
            raise AssertionError("openstack accelerator device list: " + err)
        self.screen.fact("openstack client", "accelerator device list:")
        for line in out.splitlines():
            self.screen.fact("", line, self.screen.dim)
        uuid = self.worker.field(self.cleaned, "uuid")
        token = self.services.token()
        path = "/v2/devices/" + uuid
        answer = api_clients.curl(self.api.url + path, token=token, version="2.5")
        device = answer.json()
        self.screen.fact("curl", "GET %s… → %d %s, device_state %s" % (
            path[:20], answer.status, device["type"], device["device_state"]))
        refused = api_clients.curl(self.api.url + path + "/clean", method="POST", token=token,
                                   version="2.5")
        self.screen.fact("", "POST …/clean → %d: it is clean already" % refused.status)
        denied = api_clients.curl(self.api.url + path + "/clean", method="POST", version="2.5",
                                  token=self.services.token("nobody"))
        self.screen.fact("", "POST …/clean as a reader → %d" % denied.status)
        return out, device, refused.status, denied.status

    def cloud(self):
        return api_clients.write_cloud(os.path.join(self.folder, "clouds.yaml"),
                                       self.services.endpoints)

    def show_result(self, before, after, listed):
        certificate, path = self.certificate()
        names = [tenant.name for tenant in self.tenants.values()]
        self.show_table(before, after, [names[0] + ", deleted", names[1] + ", running"],
                        {1: self.screen.green})
        self.show_certificate(certificate)
        verified = self.verify(os.path.dirname(path))
        self.screen.fact("verified", verified[1].replace(self.folder, ""), self.screen.green)
        cleaned = self.tenants[self.cleaned]
        wrong = ["%s: %s" % (self.cleaned, text) for text in
                 check.wrong_with_erased(before[self.cleaned], after[self.cleaned]) +
                 check.wrong_with_certificate(certificate, cleaned.serial, cleaned.instance) +
                 check.wrong_with_api(*listed, self.worker.field(self.cleaned, "uuid"))]
        wrong += ["%s: %s" % (self.left, text) for text in
                  check.wrong_with_untouched(before[self.left], after[self.left])]
        if verified[0] != 0:
            wrong.append("the certificate does not verify: " + verified[1])
        wrong += self.wrong_with_queues()
        if wrong:
            raise AssertionError("; ".join(wrong))
        self.screen.step("Left alone", "%s is as it was, byte for byte: sha256 %s…" %
                         (self.left, after[self.left].sha256[:16]))

    def keep(self):
        uuid = self.worker.field(self.cleaned, "uuid")
        keeping.keep(self.screen, self, [
            "openstack --os-cloud reclaim accelerator device list",
            "curl -s -H \"X-Auth-Token: $(openstack token issue -f value -c id)\" \\\n"
            "  -H 'OpenStack-API-Version: accelerator 2.5' $API/v2/devices/$DEVICE"],
            {**self.cloud(), "API": self.api.url, "DEVICE": uuid})
