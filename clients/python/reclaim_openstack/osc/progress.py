"""The line that shows how far a cleaning is: on a terminal only, rewritten in place."""
import shutil

BAR = 24


def describe(look):
    """In words, as far as the look tells."""
    words = [look.state]
    if look.step:
        words.append("step %s of %s, %s" % (look.number, look.steps, look.step)
                     if look.number else look.step)
    if look.percent is not None and look.step:
        words.append("%.0f %%" % look.percent)
    if look.eta_s is not None and look.eta_s >= 0:
        words.append("%d s left" % look.eta_s)
    if look.waiting_for:
        words.append("waits: " + look.waiting_for)
    return ", ".join(words)


def part(look):
    """How much of its plan is done, 0 to 1."""
    if not look.number or not look.steps:
        return 0.0
    return min(1.0, (look.number - 1 + (look.percent or 0) / 100) / look.steps)


class Bar:
    """Of several devices; `stream`: where it is drawn, if that is a terminal."""

    def __init__(self, stream, total):
        self._stream, self._total = stream, total
        self._drawn = stream.isatty()
        self._parts = {}

    def show(self, name, look, ended=False):
        if not self._drawn:
            return
        self._parts[name] = 1.0 if ended else part(look)
        done = sum(self._parts.values()) / self._total
        filled = int(done * BAR)
        line = "[%s%s] %s %s" % ("#" * filled, "." * (BAR - filled), name, describe(look))
        width = max(20, shutil.get_terminal_size().columns - 1)
        printable = "".join(each if each.isprintable() else "?" for each in line)
        self._stream.write("\r\033[K" + printable[:width])
        self._stream.flush()

    def clear(self):
        if self._drawn:
            self._stream.write("\r\033[K")
            self._stream.flush()
