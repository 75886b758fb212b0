"""What the suites share: lives, a watcher, and the rule that each scenario is held against."""
import itertools

from life import LONG_S
from waiting import wait_until
from watcher import Watcher

WINDOW_S = 10  # the close watch looks every 2 s; a busy machine and Placement's time come to it


class Live:
    """A suite's own says which Life its servers live (LIFE), which resource classes its drives have
    and how the cloud gets ready (set_up)."""

    CLASSES = ()

    def __init__(self, cloud):
        self.cloud = cloud
        self.watcher = Watcher(cloud, self.CLASSES)
        self.seeds = itertools.count(100)
        self.lives = []

    def life(self, **wishes):
        self.lives.append(self.LIFE(self.cloud, self.watcher, next(self.seeds), **wishes))
        return self.lives[-1]

    def note(self, text):
        print("   " + text, flush=True)

    def wait_all_offered(self):
        wait_until(lambda: set(self.cloud.host_names) <= self.watcher.offered(),
                   "all drives are on offer", 2 * LONG_S)

    def cleaned_slowly(self, life, duration_ms=20000):
        """A tenancy that has ended and whose erase runs for a while."""
        life.run("write")
        host = self.cloud.host_of(life.address)
        host.set(life.address, duration_ms=duration_ms)
        life.begin("delete")
        life.wait("delete")
        wait_until(lambda: host.sanitize_status(life.address) == 2,
                   "%s is being erased" % life.address, LONG_S)

    def goes_on(self, life):
        """The erase of cleaned_slowly comes to its end, and the drive is given back."""
        self.cloud.host_of(life.address).set(life.address, duration_ms=1500)
        life.wait("return")

    def delete_servers(self):
        """What a scenario that failed has left would have the drives of the next."""
        for life in self.lives:
            if life.server and life.status() != "gone":
                life.begin("delete")

    def passed(self, function, allowed):
        """Raises where the scenario fails, or a drive was on offer that must not have been."""
        self.watcher.taken_windows()
        self.lives = []
        try:
            function(self)
        finally:
            self.delete_servers()
        windows = self.watcher.taken_windows()
        for address in sorted({address for address, _ in windows}):
            self.note("%s on offer while dirty: %s" % (address, ", ".join(
                "%.1f s" % seconds for where, seconds in windows if where == address)))
        assert len(windows) <= allowed, "%d times on offer while dirty, %d allowed" % (
            len(windows), allowed)
        assert all(seconds <= WINDOW_S for _, seconds in windows), "on offer for too long"
        self.wait_all_offered()
