"""What the demo puts on the screen: numbered steps, aligned, in colour and with a moving bar on a
terminal; plain lines that stay readable in a log everywhere else."""
import os
import shutil
import sys
import textwrap

LABEL = 18  # columns of a step's or a fact's name
INDENT = "    "


class Screen:
    def __init__(self, out=sys.stdout):
        self.out = out
        self.terminal = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.colour = self.terminal and "NO_COLOR" not in os.environ
        locale = "".join(os.environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
        encoding = (out.encoding or "").lower().replace("-", "")
        self.wide = encoding == "utf8" and ("utf" in locale.lower() or not locale)
        self.number = 0
        self.drawn = False
        self.last_bar = None

    def columns(self):
        return max(72, min(shutil.get_terminal_size((100, 24)).columns, 100))

    def paint(self, text, code):
        return "\033[%sm%s\033[0m" % (code, text) if self.colour else text

    def bold(self, text):
        return self.paint(text, "1")

    def dim(self, text):
        return self.paint(text, "2")

    def green(self, text):
        return self.paint(text, "32")

    def red(self, text):
        return self.paint(text, "31")

    def write(self, text):
        if not self.wide:
            for fancy, plain in (("→", "->"), ("…", "..."), ("·", "|"), ("█", "#"), ("░", "."),
                                 ("─", "-")):
                text = text.replace(fancy, plain)
        self.out.write(text)
        self.out.flush()

    def clear(self):
        if self.drawn:
            self.write("\r\033[K")
        self.drawn = False

    def line(self, text=""):
        self.clear()
        self.write(text + "\n")

    def title(self, text):
        self.line()
        self.line(" " + self.bold(text))
        self.line()

    def step(self, name, text=""):
        """The next numbered step; what follows it are facts."""
        self.number += 1
        lines = self.wrapped(text)
        self.line("%s  %s%s" % (self.paint("%2d" % self.number, "1;36"),
                                self.bold(name.ljust(LABEL)), lines[0]))
        for each in lines[1:]:
            self.line(INDENT + " " * LABEL + each)

    def working(self, name, text):
        """Shown while something takes its time; replaced by what comes next."""
        if not self.terminal:
            return
        self.clear()
        self.write("%2d  %s%s" % (self.number + 1, name.ljust(LABEL), self.dim(text)))
        self.drawn = True

    def wrapped(self, text):
        """The lines of a text beside its name."""
        width = self.columns() - len(INDENT) - LABEL
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]

    def fact(self, name, text, painted=None):
        for index, each in enumerate(self.wrapped(text)):
            shown = painted(each) if painted else each
            self.line(INDENT + (name if index == 0 else "").ljust(LABEL) + shown)

    def bar(self, name, text, percent, eta_s):
        percent = max(0.0, min(100.0, percent))
        width = min(30, self.columns() - 60)  # beside name, method, percent and time left
        full = int(width * percent / 100)
        left = "  about %d s left" % eta_s if eta_s > 0 else ""
        shown = "%s  %s%s  %3d %%%s" % (text, "█" * full, "░" * (width - full), percent, left)
        if self.terminal:
            if self.colour:
                shown = shown.replace("█" * full, self.green("█" * full)) if full else shown
            self.clear()
            self.write(INDENT + name.ljust(LABEL) + shown)
            self.drawn = True
        elif self.last_bar is None or percent - self.last_bar >= 20:
            self.last_bar = percent
            self.line(INDENT + name.ljust(LABEL) + shown)

    def table(self, rows, mark=lambda row, column: None):
        """The first row is the heading; `mark` may paint a cell. A cell that is too long for its
        share of the line is broken."""
        first = max(LABEL - 2, *(len(row[0]) for row in rows))
        others = len(rows[0]) - 1
        share = (self.columns() - len(INDENT) - first - 2 * others) // others
        widths = [first] + [min(share, max(len(row[column]) for row in rows))
                            for column in range(1, others + 1)]
        for index, row in enumerate(rows):
            cells = [textwrap.wrap(text, width, break_on_hyphens=False) or [""]
                     for text, width in zip(row, widths)]
            for line in range(max(len(cell) for cell in cells)):
                shown = []
                for column, width in enumerate(widths):
                    text = "".join(cells[column][line:line + 1]).ljust(width)
                    paint = self.bold if index == 0 else mark(index, column)
                    shown.append(paint(text) if paint else text)
                self.line((INDENT + "  ".join(shown)).rstrip())
            if index == 0:
                self.line(INDENT + "  ".join("─" * width for width in widths))
