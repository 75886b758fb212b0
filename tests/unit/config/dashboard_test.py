#!/usr/bin/python3
"""The Grafana dashboard: what Grafana needs of it is there, no panels overlap, each panel has one
unit, a link leads to a section of the runbook, every query is one that promtool takes, and every
metric of them is in the table of docs/metrics.md.

    dashboard_test.py SOURCE
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

COLUMNS = 24


def queries(panels):
    for panel in panels:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$host", ".*")


UNITS = {"seconds": ("s",), "ratio": ("percentunit",), "a second": ("reqps", "cps"),
         "count": ("short",)}


def kind_of(expr):
    """What a query's numbers are."""
    if re.search(r"_seconds(_bucket)?\b", expr):
        return "seconds"
    if "_ratio" in expr:
        return "ratio"
    return "a second" if "rate(" in expr else "count"


def unit_of(panel):
    """The unit of all its values, or of the column that has one."""
    config = panel["fieldConfig"]
    units = [config["defaults"].get("unit")]
    units += [each["value"] for override in config["overrides"]
              for each in override["properties"] if each["id"] == "unit"]
    return next((unit for unit in units if unit), None)


def faults_of_links(panels, source):
    """A link leads to a section of the runbook."""
    with open(os.path.join(source, "docs/metrics.md"), encoding="utf-8") as file:
        sections = {line[4:].strip().lower() for line in file if line.startswith("### ")}
    links = re.findall(r"\$\{runbook\}#(\w+)", json.dumps(panels))
    for name in links:
        if name not in sections:
            yield f"docs/metrics.md has no section {name}"
    if not links:
        yield "no panel leads to the runbook"


def faults_of_panels(panels):
    ids = [panel["id"] for panel in panels]
    if len(ids) != len(set(ids)):
        yield "two panels have one id"
    taken = {}
    for panel in panels:
        title = panel["title"]
        if panel["type"] not in ("stat", "table", "timeseries"):
            yield f"{title}: Grafana has no panel {panel['type']} without a plugin"
        kinds = {kind_of(target["expr"]) for target in panel["targets"]}
        if len(kinds) > 1:
            yield f"{title} has several units: {', '.join(sorted(kinds))}"
        if kinds <= UNITS.keys() and unit_of(panel) not in UNITS[kinds.pop()]:
            yield f"{title}: {unit_of(panel)} is not the unit of what it shows"
        refs = [target["refId"] for target in panel["targets"]]
        if len(refs) != len(set(refs)):
            yield f"{title}: two targets have one refId"
        at = panel["gridPos"]
        if at["x"] + at["w"] > COLUMNS:
            yield f"{title} is wider than the page"
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                if taken.setdefault((x, y), title) != title:
                    yield f"{title} covers {taken[x, y]}"
                    return


def metric_of(name, known):
    """Of a histogram's sample the histogram."""
    metric = re.sub(r"_(bucket|sum|count)$", "", name)
    return metric if metric in known else name


def faults_of_queries(panels, known):
    used = set()
    rules = []
    for title, expr in queries(panels):
        names = {metric_of(name, known) for name in re.findall(r"\breclaim_[a-z_]+", expr)}
        used |= names
        for name in sorted(names - known):
            yield f"{title}: {name} is not in the table of docs/metrics.md"
        rules.append({"record": "reclaim:query", "expr": expr, "labels": {"n": str(len(rules))}})
    for name in sorted(known - used):
        yield f"no panel shows {name}"
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)  # JSON is YAML
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        yield done.stdout


def main(source):
    if shutil.which("promtool") is None:
        print("skipped: promtool is missing: apt-get install prometheus")
        return 77
    with open(os.path.join(source, "config/grafana-reclaim.json"), encoding="ascii") as file:
        board = json.load(file)
    with open(os.path.join(source, "docs/metrics.md"), encoding="utf-8") as file:
        known = set(re.findall(r"^\| `(reclaim_\w+)` \|", file.read(), re.MULTILINE))
    faults = [f"{key} is missing" for key in ("title", "uid", "schemaVersion", "templating")
              if not board.get(key)]
    faults += faults_of_panels(board["panels"])
    faults += faults_of_links(board["panels"], source)
    faults += faults_of_queries(board["panels"], known)
    print("\n".join(faults) or f"{len(board['panels'])} panels, {len(known)} metrics")
    return 1 if faults or not known else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
