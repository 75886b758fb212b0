"""One cleanup that Cyborg asked for: when it is ordered, and when it is over."""

ORDERS_MAX = 5
# An order for a drive in error that was not begun until then is not begun.
BEGIN_MS = 30_000


class CleanupFailed(Exception):
    """The drive is not clean, and stays reserved."""


class Cleanup:
    """Judges what the worker tells of the drive, by times of the worker's clock alone."""

    def __init__(self, address):
        self._address = address
        self._orders = []  # when each was given
        self._again = True

    def orders_now(self):
        return self._again

    def ordered(self, asked_ms):
        self._orders.append(asked_ms)
        self._again = False

    def look_after_ms(self):
        return self._orders[-1]

    def judge(self, drive):
        """True: it was cleaned. False: not yet. Raises when it will not be."""
        state = drive.get("state")
        looked_ms = drive.get("looked_ms") or 0
        first_ms, last_ms = self._orders[0], self._orders[-1]
        if state == "error":
            since_ms = drive.get("state_since_ms") or 0
            if since_ms > last_ms or looked_ms > last_ms + BEGIN_MS:
                raise CleanupFailed("%s is in error and stays reserved: %s" %
                                    (self._address, drive.get("status")))
            return False
        # What was seen before the order says nothing of the tenancy that ended with it.
        if state != "available" or looked_ms <= last_ms:
            return False
        cleaned = (drive.get("cleaned_ms") or 0) > first_ms
        if drive.get("clean") is True and (cleaned or drive.get("offered") is True):
            return True
        if cleaned and drive.get("held") is not True:
            return False  # given back a moment ago: the next look tells
        if len(self._orders) >= ORDERS_MAX:
            raise CleanupFailed(
                "%s is not cleaned: it is available and %s; see `reclaim device show %s`" %
                (self._address, drive.get("status") or ("held" if drive.get("held") else
                                                        "in doubt"), self._address))
        self._again = True
        return False
