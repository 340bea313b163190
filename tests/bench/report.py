# SPDX-License-Identifier: Apache-2.0
"""Reads what bench.py has measured: prints the table, says which targets fall short, draws the chart.

    report.py results.json      prints and draws again"""

import json
import pathlib
import statistics
import sys

import chart
from rows import rows


def runs(results, row, name):
    return [figures for figures in results["rows"].get(row, {}).get("rounds", {}).get(name, []) if "error" not in figures]


def values(results, row, name, key):
    return [figures[key] for figures in runs(results, row, name) if key in figures]


def quartiles(numbers):
    if len(numbers) < 2:
        return (numbers[0],) * 3 if numbers else None
    return tuple(statistics.quantiles(numbers, n=4, method="inclusive"))


def shown(number):
    if number is None:
        return "-"
    if abs(number) >= 1000:
        return format(round(number), ",d").replace(",", " ")
    return "%.3g" % number


def ratios(results, row, name, rival, key, rival_row=None):
    """Of the runs of the same round: a machine that is slow for a while is slow for both."""
    ours = results["rows"].get(row, {}).get("rounds", {}).get(name, [])
    theirs = results["rows"].get(rival_row or row, {}).get("rounds", {}).get(rival, [])
    return [mine[key] / other[key] for mine, other in zip(ours, theirs) if mine.get(key) and other.get(key)]


def counted(results, row, name):
    """Requests a cycle of one contestant, by operation; None when they were not counted."""
    found = results["rows"].get(row, {}).get("requests", {}).get(name)
    if not found or not found["figures"].get("cycles"):
        return None
    cycles = found["figures"]["cycles"]
    return {
        "total": sum(found["requests"].values()) / cycles,
        "by_operation": {operation: count / cycles for operation, count in found["requests"].items()},
        "but_proofs": sum(count for operation, count in found["requests"].items() if operation != "multi"),
        "packets_of_servers": found["packets_of_servers"] / cycles,
        "cycles": cycles,
    }


def measured(results, row, target):
    """The figure that a target is about, as numbers of the rounds; those of a ratio are ratios."""
    if target.figure in ("requests_per_cycle", "requests_but_proofs"):
        counts = [counted(results, row.name, name) for name in (target.whose, target.rival) if name]
        if None in counts:
            return []
        found = [count["total" if target.figure == "requests_per_cycle" else "but_proofs"] for count in counts]
        return [found[0] / found[1] if target.rival else found[0]]
    if target.rows:
        medians = [statistics.median(found) for row in target.rows for found in [values(results, row, "latchkey", target.figure)] if found]
        return [max(medians) / min(medians)] if len(medians) == len(target.rows) else []
    if target.rival or target.own:
        return ratios(results, row.name, target.whose, target.rival or "latchkey", target.figure, target.row or None)
    found = values(results, row.name, "latchkey", target.figure)
    # A bound is for every round, the rest is for the middle one.
    return [max(found)] if found and row.name == "turns_64_outside" else found


def judge(results, row, target):
    """(text, measured, met), measured and met None where something is missing."""
    found = measured(results, row, target)
    if not found:
        return target, None, None
    middle = statistics.median(found)
    return target, middle, target.met(middle)


def print_row(results, row):
    print("\n%s [%s, %s]" % (row.title, row.name, row.unit))
    for name in row.contestants:
        spread = quartiles(values(results, row.name, name, row.key))
        errors = [figures["error"] for figures in results["rows"][row.name]["rounds"].get(name, []) if "error" in figures]
        if spread is None and not errors:
            continue
        line = "  %-9s" % name
        if spread:
            line += "%12s  (%s .. %s)" % (shown(spread[1]), shown(spread[0]), shown(spread[2]))
        against = [
            "%s x %s" % (shown(statistics.median(found)), rival)
            for rival in row.contestants if name in ("latchkey", "direct") and rival != name
            for found in [ratios(results, row.name, name, rival, row.key)] if found]
        if against:
            line += "   " + ", ".join(against)
        print(line)
        for error in sorted(set(errors)):
            print("            %d x failed: %s" % (errors.count(error), error))
        count = counted(results, row.name, name)
        if count:
            operations = ", ".join("%s %s" % (shown(each), what) for what, each in sorted(count["by_operation"].items()))
            print("            requests a cycle: %s (%s); packets of the servers' own count: %s; %s cycles" % (
                shown(count["total"]), operations or "none", shown(count["packets_of_servers"]), shown(count["cycles"])))
    for key in row.also:
        spread = quartiles(values(results, row.name, "latchkey", key))
        if spread:
            print("            %s: %s (%s .. %s)" % (key, shown(spread[1]), shown(spread[0]), shown(spread[2])))
    for target, middle, met in (judge(results, row, target) for target in row.targets):
        state = "not measured" if met is None else "met" if met else "FALLS SHORT"
        print("    target: %-60s %10s wanted %s %s   %s" % (target.text, shown(middle), target.relation, shown(target.factor), state))


def print_table(results):
    machine = results["machine"]
    print("latchkey %s on %s, %d cores, %d GiB, Linux %s; %s; load before %.2f" % (
        machine["commit"], machine["cpu"], machine["cores"], machine["memory_gib"], machine["kernel"], machine["when"],
        machine["load_before"]))
    print("%d rounds of %g s; medians (quartiles); ratios are medians of the rounds' own ratios" % (results["rounds"], results["seconds"]))
    short, missing, met_count = [], [], 0
    for row in rows:
        if row.name not in results["rows"]:
            continue
        print_row(results, row)
        for target, middle, met in (judge(results, row, target) for target in row.targets):
            if met is None:
                missing.append((row, target))
            elif met:
                met_count += 1
            else:
                short.append((row, target, middle))
    print("\n%d targets met, %d fall short, %d not measured" % (met_count, len(short), len(missing)))
    for row, target, middle in short:
        print("  falls short: %s: %s (measured %s, wanted %s %s)" % (
            row.title, target.text, shown(middle), target.relation, shown(target.factor)))
    for row, target in missing:
        print("  not measured: %s: %s" % (row.title, target.text))


def write(results, folder):
    print_table(results)
    (folder / "chart.svg").write_text(chart.draw(results, quartiles, values, shown))
    (folder / "chart_short.svg").write_text(chart.draw(results, quartiles, values, shown, chart.headlines))
    print("\n%s, %s" % (folder / "results.json", folder / "chart.svg"))


if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1])
    write(json.loads(source.read_text()), source.parent)
