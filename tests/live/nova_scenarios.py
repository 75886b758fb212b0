"""What is shown beside a real Nova with one-time-use devices. Each scenario is a function; run.py
runs them in this order.

After each, the watcher's windows (a dirty drive on offer) are compared with what the scenario
allows: none, unless Nova itself un-reserves there. Each drive that is given back has a certificate
of its last tenant, by instance, project and user.
"""
from contextlib import contextmanager
import signal
import time

from cloud import SURVEY_S
from life import LONG_S
from live import Live
from nova_cloud import CLASS, HOSTS, NovaCloud
from nova_life import NovaLife
from waiting import wait_until


class NovaLive(Live):
    LIFE = NovaLife
    CLASSES = (CLASS,)

    def set_up(self):
        self.wait_all_offered()
        for name in ("nvme", "nvme-other"):
            self.cloud.make_flavor(name, pci_passthrough__alias="nvme:1")

    @contextmanager
    def may_move(self):
        """A server that wrote, and a neighbour that leaves one drive at the other host. Nova 34
        gives a server that moves whichever drive is free there, not the one that it allocated, and
        then fails. Neither the move nor the cleaning may touch the neighbour."""
        life = self.life().run("write")
        (other,) = set(HOSTS) - {life.host}
        neighbour = self.life(availability_zone="nova:" + other).run("write")
        yield life
        neighbour.must_be_whole()
        neighbour.run(since="delete")

    def at_two_drives(self, life):
        """A server that waits for a word: it is at the second already, and the first is still its
        migration's. Returns what it left at the first."""
        life.wait_status("VERIFY_RESIZE")
        left = life.moved(next(self.seeds))
        left.migration = life.its_migration()
        self.whole_for_a_survey(left)
        return left

    def whole_for_a_survey(self, life):
        time.sleep(SURVEY_S + 2)
        life.must_be_whole()


def a_server_gets_a_drive_and_the_next_gets_it_clean(live):
    for _ in range(2):
        life = live.life().run()
        live.note("%s: %s" % (life.address, life.certified()))


def moves_and_is_confirmed(live, move, words=None):
    with live.may_move() as life:
        life.act(move, words)
        left = live.at_two_drives(life)
        life.act("confirmResize")
        life.wait_status("ACTIVE")
        left.wait("return")
        live.note("%s, then %s: %s" % (left.address, life.address, left.certified()))
        # Until its next look nova-compute would burn the drive of a server that is deleted now.
        live.whole_for_a_survey(life)
        life.run(since="delete")


def a_server_is_resized(live):
    moves_and_is_confirmed(live, "resize", {"flavorRef": "nvme-other"})


def a_server_is_migrated(live):
    moves_and_is_confirmed(live, "migrate")


def a_migration_is_reverted(live):
    with live.may_move() as life:
        life.act("migrate")
        stays = live.at_two_drives(life)
        life.act("revertResize")
        life.wait_status("ACTIVE")
        life.wait("return")
        stays.must_be_whole()
        stays.run(since="delete")


def a_server_is_evacuated(live):
    with live.may_move() as life:
        host = life.host
        live.cloud.end("nova-" + host, signal.SIGKILL)
        live.cloud.force_down(host)
        try:
            life.act("evacuate", {})
            wait_until(lambda: life.shown()["OS-EXT-SRV-ATTR:host"] != host, "it is elsewhere",
                       LONG_S)
            life.wait_status("ACTIVE")
            left = life.moved(next(live.seeds), left_at=life.address)
            live.whole_for_a_survey(left)
        finally:
            live.cloud.restart("nova-" + host)
            live.cloud.force_up(host)
        left.wait("return")
        live.whole_for_a_survey(life)
        life.run(since="delete")


def a_server_is_shelved(live):
    life = live.life().run("write")
    life.act("shelve")
    life.wait_status("SHELVED_OFFLOADED")
    life.wait("return")
    life.act("unshelve")
    life.wait_status("ACTIVE")
    life.moved(next(live.seeds))
    life.run(since="delete")


def a_server_is_deleted_softly(live):
    live.cloud.delete_softly(True)
    try:
        life = live.life().run("write")
        for then in ("restore", "forceDelete"):
            life.begin("delete")
            life.wait_status("SOFT_DELETED")
            live.whole_for_a_survey(life)
            life.act(then)
            if then == "restore":
                life.wait_status("ACTIVE")
                life.must_be_whole()
    finally:
        live.cloud.delete_softly(False)
    life.wait("delete")
    life.run(since="erase")


def a_server_cannot_be_built(live):
    """On either host in turn: the guest does not start. It has a drive there for seconds, so that a
    survey may miss it; then the certificate says that it was heard of."""
    for host in HOSTS:
        live.cloud.change_host(host, starts=False)
    life = live.life()
    life.cannot_boot()
    for host in HOSTS:
        live.cloud.change_host(host)
    live.wait_all_offered()
    found = [each for worker in live.cloud.workers.values() for each in worker.certificates()
             if life.server in [each["instance"], *each.get("heard", [])]]
    for each in found:
        live.note("%s %s: %s" % (each["host"], each["address"], each["instance_source"]))
    assert {each["host"] for each in found} == set(HOSTS), found


def a_provider_is_made_anew(live):
    """Nova takes in its PCI devices only when nova-compute starts. One that is not there then loses
    its provider, and when it is found again it has another, of which nothing is reserved."""
    life = live.life()
    live.cleaned_slowly(life, 200000)
    before = live.cloud.provider(life.address)
    live.cloud.finds(life.host, hidden=[life.address])
    wait_until(lambda: live.cloud.provider(life.address) is None, "Nova deletes the provider",
               LONG_S)
    live.cloud.finds(life.host)
    after = wait_until(lambda: live.cloud.provider(life.address), "Nova makes it anew", LONG_S)
    assert after != before, "it has the same UUID"
    wait_until(lambda: live.cloud.reserved(life.address) == 1, "it is reserved again", LONG_S)
    live.goes_on(life)


def the_worker_is_down_while_one_leaves_and_another_comes(live):
    first = live.life().run("write")
    worker, zone = "reclaim " + first.host, "nova:" + first.host
    live.cloud.end(worker)
    first.run("delete", since="delete")
    second = live.life(availability_zone=zone).run("boot")
    second.address = second.find_address()
    assert second.address not in (None, first.address), second.address
    second.wait("write")
    live.life(availability_zone=zone).cannot_boot()  # the dirty drive is given to nobody
    live.cloud.restart(worker)
    second.wait("take")
    first.run(since="erase")
    second.must_be_whole()
    second.run(since="delete")


def the_workers_are_stopped_and_killed(live):
    """Both, at each point of a server's life; they are back two seconds after it has begun."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        for stage in NovaLife.STAGES:
            life = live.life()
            for each in NovaLife.STAGES:
                workers = ["reclaim " + host for host in HOSTS] if each == stage else []
                for worker in workers:
                    live.cloud.end(worker, how)
                life.begin(each)
                if workers:
                    time.sleep(2)
                for worker in workers:
                    live.cloud.restart(worker)
                life.wait(each)
            live.note("%s at %s: %s" % (how.name, stage, life.remedies or "no remedy was needed"))


# (function, how many windows it allows)
SCENARIOS = [
    (a_server_gets_a_drive_and_the_next_gets_it_clean, 0),
    (a_server_is_resized, 0),
    (a_server_is_migrated, 0),
    (a_migration_is_reverted, 0),
    (a_server_is_evacuated, 0),
    (a_server_is_shelved, 0),
    (a_server_is_deleted_softly, 0),
    (a_server_cannot_be_built, 0),
    (a_provider_is_made_anew, 1),
    (the_worker_is_down_while_one_leaves_and_another_comes, 0),
    (the_workers_are_stopped_and_killed, 0),
]
CLOUD, LIVE = NovaCloud, NovaLive
