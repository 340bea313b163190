#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_dashboards.py PROGRAM SOURCE: whether dashboard and alerts name metrics that there are, and all that they should.

PROGRAM prints the metrics of a client, as `prometheus_text` does. SOURCE is the top folder.
"""

import json
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[2])
printed = subprocess.run([sys.argv[1], "latchkey"], check=True, capture_output=True, text=True).stdout
there = set(re.findall(r"^(latchkey_\w+)[ {]", printed, re.M))
# Of `latchkey run --textfile`.
written = (source / "examples/command/run_report.cpp").read_text()
there |= {f"latchkey_run_{name}" for name in re.findall(r'\badd\("(\w+)"', written)}


def names(expression):
    return set(re.findall(r"\blatchkey_\w+", re.sub(r'"[^"]*"', '""', expression)))


def check(where, expressions):
    assert expressions, where
    for each in expressions:
        assert names(each), f"{where}: {each} names no metric"
        for name in names(each):
            assert name in there, f"{where}: there is no {name}"
        assert each.count("(") == each.count(")") and each.count("{") == each.count("}"), each


dashboard = json.loads((source / "examples/metrics/dashboard.json").read_text())
check("dashboard", [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]])
places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
assert len(set(places)) == len(places), "panels on top of each other"
variables = {each["name"] for each in dashboard["templating"]["list"]}
assert set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(dashboard["panels"]))) <= variables, "an unknown variable"
for each in dashboard["templating"]["list"]:
    if each["type"] == "query":
        check("variables", [each["query"]["query"]])

# The shape in which each rule is written; a line that does not fit is a mistake.
rules = (source / "examples/metrics/alerts.yml").read_text().split("    rules:\n")[1]
rule = re.compile(
    r"      - alert: Latchkey\w+\n        expr: ([^\n#]+)\n(?:        for: \d+m\n)?"
    r"        labels: \{severity: (?:warning|critical)\}\n        annotations: \{summary: \"[^\"\n]+\"\}\n?"
)
assert not rule.sub("", rules).strip(), rule.sub("", rules)
alerts = rule.findall(rules)
check("alerts", alerts)

# Each number of ours in the table of OPERATIONS.md has a rule.
section = (source / "OPERATIONS.md").read_text().split("## What to alarm on")[1].split("\n## ")[0]
cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
wanted = {name for cell in cells for name in re.findall(r"`(\w+)`", cell) if not name.startswith("zk_")}
wanted -= {"malformed"}
alarmed = {re.sub("_bucket$", "", name) for each in alerts for name in names(each)}
assert len(wanted) > 5
for name in wanted:
    assert f"latchkey_{name}" in alarmed, f"no alert for {name}"
