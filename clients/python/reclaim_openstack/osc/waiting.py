"""--wait: follows what came of orders, with a bar on a terminal, and gives the exit code."""
import sys
import time

from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk_exceptions

from reclaim_openstack.osc import base
from reclaim_openstack.osc.progress import Bar, describe
from reclaim_openstack.sdk import waiting

# Exit codes beside the client's own: 1 where something is refused or cannot be asked, 2 for usage.
FAILED = 3
TIME_IS_UP = 4

POLL_S = 2
TIMEOUT_S = 3600

SAID = {
    waiting.TAKEN: "is %s now, so it is not known what came of the order; look with: openstack "
                   "accelerator device certificate list --device %s",
    waiting.MISSED: "is %s: its cleaning had ended before the order was carried out (%s)"}


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def add_arguments(parser):
    parser.add_argument("--wait", action="store_true", help=(
        "Wait until it is over; the exit code is 0 if all went well, 3 if a device is in error or "
        "came to another end, 4 if the time is up"))
    parser.add_argument("--timeout", metavar="<seconds>", type=positive, default=TIMEOUT_S, help=(
        "With --wait: how long, 1 or more (default: %d); the order goes on after it" % TIMEOUT_S))


class Waiter:
    """Looks at devices until each came to its end. `log` says what becomes of each."""

    def __init__(self, proxy, log, stream=None, clock=time.monotonic, sleep=time.sleep):
        self._proxy, self._log = proxy, log
        self._stream, self._clock, self._sleep = stream or sys.stderr, clock, sleep

    def run(self, rules, timeout_s):
        """`rules`: what judges the looks at each device, by its UUID. The exit code."""
        until = self._clock() + timeout_s
        bar = Bar(self._stream, len(rules))
        open_ones, code, said, trouble = dict(rules), 0, {}, None
        try:
            while open_ones:
                for uuid, rule in list(open_ones.items()):
                    try:
                        look = waiting.look(self._proxy, uuid)
                    except (sdk_exceptions.HttpException, keystone.ClientException) as problem:
                        if not waiting.may_pass(problem):
                            raise
                        trouble = problem
                        continue
                    said[uuid] = look
                    outcome = rule.judge(look, self._clock())
                    bar.show(uuid, look, outcome is not None)
                    if outcome is not None:
                        del open_ones[uuid]
                        bar.clear()
                        code = max(code, self._told(uuid, look, outcome))
                if open_ones and self._clock() >= until:
                    bar.clear()
                    self._time_is_up(open_ones, said, trouble, timeout_s)
                    return max(code, TIME_IS_UP)
                if open_ones:
                    self._sleep(POLL_S)
        finally:
            bar.clear()
        return code

    def _told(self, uuid, look, outcome):
        if outcome == waiting.DONE:
            self._log.info("%s is %s", uuid, look.state)
            return 0
        if outcome == waiting.FAILED:
            why = base.visible(look.last_error or look.waiting_for)
            self._log.error("%s is in error: %s", uuid, why or
                            "the caller may not read why; ask for the rule "
                            "cyborg:device:cleaning_steps")
        else:
            self._log.error("%s " + SAID[outcome], uuid, look.state, uuid)
        return FAILED

    def _time_is_up(self, open_ones, said, trouble, timeout_s):
        for uuid in open_ones:
            text = describe(said[uuid]) if uuid in said else "not seen yet"
            self._log.error("%s: %d s are over, and it goes on without this command (%s); wait "
                            "longer with --timeout", uuid, timeout_s, text)
        if trouble is not None:
            self._log.error("the last error of the API meanwhile: %s", base.plain(trouble))
