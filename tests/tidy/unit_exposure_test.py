#!/usr/bin/python3
"""What the units that ship leave open, as `systemd-analyze security` sees it: no more than they do
now, and SECURITY.md says of each point why. Where systemd-analyze is missing this is skipped."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = "What the units leave open"
# In tenths of what it prints, as systemd 252 counts; 257 finds 33 and 11.
CEILINGS = {"reclaim.service": 35, "reclaim-api.service": 11}
# Open to systemd 252, and not to 257.
MAY_BE_CLOSED = {"PrivateMounts="}
SKIPPED = 77  # as ctest knows it


def explained(page):
    """The names that the page's table has for each unit."""
    found = {unit: set() for unit in CEILINGS}
    section = page.partition("\n## %s\n" % SECTION)[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = line.strip("|").split(" | ")
        if line.startswith("|") and len(cells) == 3 and len(cells[2].split()) > 2:
            for unit in re.findall(r"`([\w.-]+)`", cells[1]):
                found[unit].update(re.findall(r"`([^`]+)`", cells[0].replace("\\|", "|")))
    return found


def wrong_with(unit, names, points):
    """Sentences; none if all is well. `points`: systemd's, where what is open has an exposure."""
    still_open = {point["name"] for point in points if point["exposure"]}
    for name in sorted(still_open - names):
        yield "%s leaves %s open, and SECURITY.md does not say why" % (unit, name)
    for name in sorted(names - still_open - MAY_BE_CLOSED):
        yield "SECURITY.md says why %s leaves %s open, and it does not" % (unit, name)


def main():
    # The checker itself: a point that nobody explains, and one that is closed.
    points = [{"name": "User=", "exposure": "0.4"}, {"name": "Delegate=", "exposure": None}]
    assert list(wrong_with("a", {"User="}, points)) == []
    assert len(list(wrong_with("a", set(), points))) == 1
    assert len(list(wrong_with("a", {"User=", "Delegate="}, points))) == 1
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is not here; the package systemd has it")
        return SKIPPED
    problems = []
    names = explained((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    for unit, ceiling in CEILINGS.items():
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--json=short",
                               "--threshold=%d" % ceiling, str(ROOT / "config" / unit)],
                              capture_output=True, text=True, check=False)
        if not done.stdout:
            problems.append("systemd-analyze says nothing of %s: %s" % (unit, done.stderr.strip()))
            continue
        problems += wrong_with(unit, names[unit], json.loads(done.stdout))
        if done.returncode != 0:
            problems.append("%s is more exposed than %.1f" % (unit, ceiling / 10))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
