#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""parse_prometheus.py PROGRAM: has Prometheus' own parser read what `prometheus_text` prints."""

import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

text = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
families = {family.name: family for family in text_string_to_metric_families(text)}
GROUPS = ["", "accounts", 'a "b" \\ c\nd']


def samples(family, suffix=""):
    name = family + suffix
    return {tuple(sorted(each.labels.items())): each.value for each in families[family].samples if each.name == name}


assert all(each.documentation.endswith(".") for each in families.values())
assert families["app_connections"].type == "counter"
assert samples("app_connections", "_total") == {(): 2}
assert families["app_waiting"].type == "gauge"
assert samples("app_waiting") == {(("group", group),): 1 for group in GROUPS}
assert samples("app_lease_least_left_seconds") == {(): 2.5}
assert sum(samples("app_lost", "_total").values()) == 45
assert (("group", "accounts"), ("reason", "node deleted")) in samples("app_lost", "_total")
assert samples("app_peer_dropped", "_total")[(("reason", "bad tag"),)] == 3

assert families["app_request_seconds"].type == "histogram"
buckets = [(float(dict(labels)["le"]), count) for labels, count in samples("app_request_seconds", "_bucket").items()]
assert buckets == sorted(buckets), "cumulative, in order"
assert buckets[0] == (1e-6, 0) and buckets[-1] == (float("inf"), 2)
assert dict(buckets)[4e-6] == 1
assert samples("app_request_seconds", "_count") == {(): 2}
assert abs(samples("app_request_seconds", "_sum")[()] - 0.700003) < 1e-9
for group in GROUPS:
    assert samples("app_wait_seconds", "_count")[(("group", group),)] == 1
