"""What came of an order: looks at a device again and again, and tells when it is over.

A cleaning may begin and fail between two looks, and the device is in `error` before and after. So a
look is compared with the one before the order: a cleaning that began later has another beginning
(`started_at`). Where the caller may not read that, or the host refused to begin, the device's
record was changed (`updated_at`), and stays as it is for SETTLED_S.
"""
import collections

from keystoneauth1 import exceptions as keystone
from openstack import exceptions

# What ends a wait.
DONE = "done"
FAILED = "failed"
TAKEN = "taken"
MISSED = "missed"

BUSY = ("pending_cleaning", "cleaning")
SETTLED_S = 15

Look = collections.namedtuple(
    "Look", "state started_at updated_at step number steps percent eta_s waiting_for last_error")


def _name_of(step):
    return ".".join(filter(None, (step.get("interface"), step.get("step")))) if step else None


def look(proxy, uuid):
    """A Look at the device. Its state and the beginning of its cleaning come from one answer."""
    try:
        cleaning = proxy.get_cleaning(uuid)
    except exceptions.HttpException as problem:
        if problem.status_code != 403:
            raise
        cleaning = {}
    device = proxy.get_device(uuid)
    running = cleaning.get("clean_step", device.clean_step)
    names = [_name_of(step) for step in cleaning.get("steps", ())]
    name = _name_of(running)
    return Look(
        state=cleaning.get("device_state", device.device_state),
        started_at=cleaning.get("started_at"), updated_at=device.updated_at, step=name,
        number=names.index(name) + 1 if name in names else None, steps=len(names),
        percent=cleaning.get("progress_percent", device.progress),
        eta_s=cleaning.get("progress_eta_s"),
        waiting_for=cleaning.get("waiting_for", device.waiting_for),
        last_error=cleaning.get("last_error", device.last_error))


def may_pass(problem):
    """Whether asking again may help: nothing is told of the device by it."""
    if isinstance(problem, exceptions.HttpException):
        return problem.status_code is None or problem.status_code >= 500
    return isinstance(problem, (keystone.ConnectFailure, keystone.HttpServerError))


class Cleaning:
    """Waits for the end of the cleaning that an order begins, or lets go on."""

    def __init__(self, before):
        self._before = before
        self._began = False
        self._changed_at = None

    def judge(self, now, at_s):
        """What ended it, or None while it goes on; `at_s`: a clock that only goes forward."""
        before = self._before
        if now.state in BUSY or now.started_at != before.started_at:
            self._began = True
        if now.state in BUSY:
            return None
        if self._began or now.state != before.state:
            return {"available": DONE, "error": FAILED}.get(now.state, TAKEN)
        if now.state == "error" and now.updated_at != before.updated_at:
            if self._changed_at is None:
                self._changed_at = at_s
            if at_s - self._changed_at >= SETTLED_S:
                return FAILED
        return None


class Abort:
    """Waits until a cleaning was stopped."""

    def __init__(self, before):
        self._before = before

    def judge(self, now, _at_s):
        if now.state in BUSY:
            return None
        return {"error": DONE, "available": MISSED}.get(now.state, TAKEN)
