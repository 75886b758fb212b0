#!/usr/bin/python3
"""The Grafana dashboard: what Grafana needs of it is there, no panels overlap, every query is one
that promtool takes, and every metric of them is in the table of docs/metrics.md.

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


def faults_of_panels(panels):
    ids = [panel["id"] for panel in panels]
    if len(ids) != len(set(ids)):
        yield "two panels have one id"
    taken = {}
    for panel in panels:
        title = panel["title"]
        if panel["type"] not in ("stat", "timeseries"):
            yield f"{title}: Grafana has no panel {panel['type']} without a plugin"
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
    faults += faults_of_queries(board["panels"], known)
    print("\n".join(faults) or f"{len(board['panels'])} panels, {len(known)} metrics")
    return 1 if faults or not known else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
