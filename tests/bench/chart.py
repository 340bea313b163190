# SPDX-License-Identifier: Apache-2.0
"""The rates as an SVG: a group of bars for each workload, as multiples of Curator's; the logarithm of them."""

import math
from xml.sax.saxutils import escape

from rows import rows

colours = {"floor": "#9aa0a6", "latchkey": "#1f6feb", "direct": "#1a7f37", "curator": "#d29922", "kazoo": "#8250df", "redis": "#cf222e"}
width, label_width, bar, gap, top = 900, 330, 15, 14, 76
scale_low, scale_high = 0.1, 10_000.0
# Those of README.md's chart.
headlines = ("uncontended", "uncontended_delayed", "eight_sessions", "eight_sessions_delayed", "one_lock_64", "own_locks_256",
             "readers_32")


def position(multiple):
    share = (math.log10(multiple) - math.log10(scale_low)) / (math.log10(scale_high) - math.log10(scale_low))
    return label_width + max(0.0, min(1.0, share)) * (width - label_width - 110)


def text(x, y, content, size=12, anchor="start", colour="#1f2328"):
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" fill="%s">%s</text>' % (
        x, y, size, anchor, colour, escape(content))


def groups(results, quartiles, values, only):
    """(row, Curator's median, [(name, quartiles)]) of every rate that Curator has too, or of those that `only` names."""
    for row in rows:
        if row.key != "rate" or row.name not in results["rows"] or (only and row.name not in only):
            continue
        bars = [(name, quartiles(values(results, row.name, name, row.key))) for name in row.contestants]
        bars = [(name, spread) for name, spread in bars if spread]
        curator = dict(bars).get("curator")
        if curator:
            yield row, curator[1], bars


def draw(results, quartiles, values, shown, only=()):
    parts, y = [], top
    for row, unit, bars in groups(results, quartiles, values, only):
        parts.append(text(label_width - 70, y + bar * len(bars) / 2 + 4, row.title, anchor="end"))
        for name, (low, middle, high) in bars:
            end, y_middle = position(middle / unit), y + bar / 2
            parts.append(text(label_width - 6, y + bar - 3, name, 10, "end", "#59636e"))
            parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>' % (
                label_width, y, max(1.0, end - label_width), bar - 3, colours[name]))
            parts.append('<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#1f2328"/>' % (
                position(low / unit), position(high / unit), y_middle - 1, y_middle - 1))
            parts.append(text(end + 5, y + bar - 4, "%s  (%s x)" % (shown(middle), shown(middle / unit)), 10))
            y += bar
        y += gap
    axis = []
    tick = scale_low
    while tick <= scale_high:
        axis.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s"/>' % (
            position(tick), position(tick), top - 8, y - gap + 4, "#59636e" if tick == 1 else "#d1d9e0"))
        axis.append(text(position(tick), top - 12, "%g x" % tick, 10, "middle", "#59636e"))
        tick *= 10
    machine = results["machine"]
    head = [
        text(12, 22, "Locks a second, as multiples of Curator's", 16),
        text(12, 42, "%s, %d cores, Linux %s; three servers on the same machine; medians of %d rounds, line: quartiles" % (
            machine["cpu"], machine["cores"], machine["kernel"], results["rounds"]), 11, colour="#59636e"),
    ]
    return '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">\n%s\n</svg>\n' % (
        width, y + 4, "\n".join(['<rect width="100%" height="100%" fill="white"/>'] + head + axis + parts))
