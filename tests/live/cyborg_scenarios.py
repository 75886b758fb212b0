"""What is shown beside a real Cyborg. Each scenario is a function; run.py runs them in this order.

After each, the watcher's windows (a dirty drive on offer) are compared with what the scenario
allows: none, unless Cyborg itself un-reserves there.
"""
import json
import signal
import time

from cyborg_cloud import ADDRESSES, CLASS, CLASS_UNMANAGED, UNMANAGED, CyborgCloud
import openstack_api as api
from cyborg_life import CyborgLife
from life import LONG_S
from live import Live
from waiting import wait_until


class CyborgLive(Live):
    LIFE = CyborgLife
    CLASSES = (CLASS, CLASS_UNMANAGED)

    def set_up(self):
        """The drives are cleaned, reported by the agent, and on offer."""
        for address in ADDRESSES:
            if address != UNMANAGED:
                wait_until(lambda at=address: self.cloud.worker_of(at).field(at, "certificate_id")
                           or self.cloud.worker_of(at).field(at, "device_state") == "available",
                           address + " is cleaned", 600)
        self.wait_all_offered()
        for name, resource_class in (("nvme", CLASS), ("nvme-unmanaged", CLASS_UNMANAGED)):
            self.cloud.cyborg("POST", "/device_profiles", [
                {"name": name, "groups": [{"resources:" + resource_class: "1"}]}])
            self.cloud.make_flavor(name, accel__device_profile=name)

    def device_uuid(self, address):
        for each in self.cloud.cyborg("GET", "/devices")["devices"]:
            info = json.loads(each["std_board_info"] or "{}")
            if info.get("pci_address") == address:
                return each["uuid"]
        raise AssertionError("Cyborg has no device with the address " + address)


def the_command_lists_the_drives_as_nvme(live):
    rows = json.loads(live.cloud.openstack("accelerator", "device", "list", "--cyborg",
                                             "-f", "json"))
    assert len(rows) == len(ADDRESSES), rows
    assert {row["type"] for row in rows} == {"NVME"}, rows


def a_server_gets_a_drive_and_the_next_gets_it_clean(live):
    first = live.life().run()
    second = live.life().run()
    live.note("given back: %s, then %s" % (first.address, second.address))


def servers_are_booted_and_deleted_in_a_loop(live):
    for _ in range(8):
        live.life().run()


def an_unmanaged_drive_goes_through_the_whole_chain(live):
    life = live.life(flavor="nvme-unmanaged").run("take")
    assert life.address == UNMANAGED, life.address
    life.run(since="write")
    driver = live.cloud.host_driver(UNMANAGED)
    assert driver == "vfio-pci", "it was given back on " + driver


def a_drive_that_fails_stays_out(live):
    life = live.life().run("write")
    live.cloud.host_of(life.address).set(life.address, fails_at=40)
    life.begin("delete")
    live.cloud.worker_of(life.address).wait_field(life.address, "device_state", "error", LONG_S)
    end = time.monotonic() + 15  # two reports of the agent
    while time.monotonic() < end:
        assert live.cloud.reserved(life.address) == 1, "it was un-reserved in error"
        time.sleep(0.1)
    live.cloud.host_of(life.address).set(life.address, fails_at="off")
    live.cloud.reclaim("device", "clean", life.address)
    life.wait("return")


def enabled_while_dirty(live):
    life = live.life()
    live.cleaned_slowly(life)
    uuid = live.device_uuid(life.address)
    live.cloud.cyborg("POST", "/devices/%s/enable" % uuid)
    wait_until(lambda: live.cloud.reserved(life.address) == 1, "it is reserved again", LONG_S)
    live.goes_on(life)


def a_provider_is_taken_away_and_given_back_in_mid_erase(live):
    life = live.life()
    live.cleaned_slowly(life, 200000)  # the agent reports each minute
    before = live.cloud.provider(life.address)
    live.cloud.change_report(hidden=[life.address])
    wait_until(lambda: live.cloud.provider(life.address) is None, "Cyborg deletes the provider",
               LONG_S)
    live.cloud.change_report()
    wait_until(lambda: live.cloud.provider(life.address), "Cyborg makes it again", LONG_S)
    assert live.cloud.provider(life.address) == before, "it has another UUID"
    wait_until(lambda: live.cloud.reserved(life.address) == 1, "it is reserved again", LONG_S)
    live.goes_on(life)


def the_class_is_changed_while_dirty(live):
    life = live.life()
    live.cleaned_slowly(life, 200000)
    live.watcher.classes.add("CUSTOM_NVME_CHANGED")
    live.cloud.change_report(rc={life.address: "CUSTOM_NVME_CHANGED"})

    def changed():
        uuid = live.cloud.provider(life.address)
        return "CUSTOM_NVME_CHANGED" in live.cloud.services.inventories(uuid)
    wait_until(changed, "Cyborg writes the class", LONG_S)
    wait_until(lambda: live.cloud.reserved(life.address) == 1, "it is reserved again", LONG_S)
    live.cloud.change_report()
    wait_until(lambda: not changed(), "Cyborg writes the former class", LONG_S)
    live.goes_on(life)


def cyborg_is_silent_at_the_delete(live):
    life = live.life().run("write")
    live.cloud.end("cyborg-api")
    life.begin("delete")
    life.wait("delete")
    live.cloud.restart("cyborg-api")
    assert [arq["instance_uuid"] for arq in life.leaked()] == [life.server], life.leaked()
    text = wait_until(lambda: live.cloud.leak_is_told(life.address),
                      "reclaim names the leaked ARQ", LONG_S)
    live.note(text[:160])
    life.delete_leaked()
    life.wait("return")


def ended_at_each_point(live, name):
    for how in (signal.SIGTERM, signal.SIGKILL):
        remedies = []
        for stage in CyborgLife.STAGES:
            life = live.life()
            for each in CyborgLife.STAGES:
                if each == stage:
                    live.cloud.end(name, how)
                run_stage(live, life, each, lambda: live.cloud.restart(name), each == stage)
            remedies += [each for each in life.remedies if each not in remedies]
            live.wait_all_offered()
        live.note("%s, %s at each of %d points: %s" % (
            name, "stop" if how == signal.SIGTERM else "kill", len(CyborgLife.STAGES),
            ", ".join(remedies) or "no remedy was needed"))


def run_stage(live, life, stage, restart, ended):
    """A service that was ended comes back two seconds after the stage has begun."""
    try:
        life.begin(stage)
    except api.HttpError:
        # Nova takes no server while it cannot ask Cyborg for the device profile.
        if not ended or stage != "boot":
            raise
    finally:
        if ended:
            time.sleep(2)
            restart()
    if stage == "boot":
        life.boot_patiently()
    else:
        life.wait(stage)
        if stage == "delete":
            life.delete_leaked()


def the_agent_is_stopped_and_killed(live):
    ended_at_each_point(live, "cyborg-agent")


def the_conductor_is_stopped_and_killed(live):
    ended_at_each_point(live, "cyborg-conductor")


def the_api_is_stopped_and_killed(live):
    ended_at_each_point(live, "cyborg-api")


def the_worker_is_stopped_and_killed(live):
    ended_at_each_point(live, "reclaim")


# (function, how many windows it allows)
SCENARIOS = [
    (the_command_lists_the_drives_as_nvme, 0),
    (a_server_gets_a_drive_and_the_next_gets_it_clean, 0),
    (servers_are_booted_and_deleted_in_a_loop, 0),
    (an_unmanaged_drive_goes_through_the_whole_chain, 0),
    (a_drive_that_fails_stays_out, 0),
    (enabled_while_dirty, 1),
    (a_provider_is_taken_away_and_given_back_in_mid_erase, 1),
    (the_class_is_changed_while_dirty, 2),
    (cyborg_is_silent_at_the_delete, 0),
    (the_agent_is_stopped_and_killed, 0),
    (the_conductor_is_stopped_and_killed, 0),
    (the_api_is_stopped_and_killed, 0),
    (the_worker_is_stopped_and_killed, 0),
]
CLOUD, LIVE = CyborgCloud, CyborgLive
