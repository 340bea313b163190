#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws queue.svg, lease.svg, unfenced.svg and fenced.svg from the .json beside each, which tests/pictures recorded.

    draw.py           writes all pictures
    draw.py --check   fails when one of them is not what the data says

To record anew, from the root of the project:

    cmake --build build/dev --target record_pictures
    for scene in queue lease unfenced fenced; do
      build/dev/tests/pictures/record_pictures $scene >recipes/pictures/$scene.json
    done
"""

import json
import pathlib
import sys
from xml.sax.saxutils import escape

here = pathlib.Path(__file__).resolve().parent

style = """
.page { fill: #ffffff } text, .ink { fill: #1f2328 } .soft { fill: #59636e } .line { stroke: #1f2328; fill: none }
.faint { stroke: #b7bfc8; fill: none } .held { fill: #1a7f37 } .suspect { fill: #d29922 } .plain { fill: #e6eaef }
.alarm { stroke: #cf222e; fill: none } .alarming { fill: #cf222e } .on { fill: #ffffff } .tip { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } text, .ink { fill: #e6edf3 } .soft { fill: #9198a1 } .line { stroke: #e6edf3 }
.faint { stroke: #3d444d } .held { fill: #238636 } .suspect { fill: #9e6a03 } .plain { fill: #21262d }
.alarm { stroke: #f85149 } .alarming { fill: #f85149 } .on { fill: #ffffff } .tip { fill: #e6edf3 } }
"""


class Picture:
    def __init__(self, width, height, title):
        self.parts = [
            '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
            'font-family="sans-serif" role="img">' % (width, height, width, height),
            "<title>%s</title>" % escape(title),
            "<style>%s</style>" % style,
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            '<path class="tip" d="M0 0 8 4 0 8z"/></marker>'
            '<marker id="red" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            '<path class="alarming" d="M0 0 8 4 0 8z"/></marker></defs>',
            '<rect class="page" width="%d" height="%d" rx="8"/>' % (width, height),
            '<text x="20" y="30" font-size="17">%s</text>' % escape(title),
        ]

    def text(self, x, y, content, size=12, anchor="start", kind=""):
        self.parts.append('<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s"%s>%s</text>' % (
            x, y, size, anchor, ' class="%s"' % kind if kind else "", escape(content)))

    def box(self, x, y, width, height, kind, more=""):
        self.parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3" class="%s"%s/>' % (
            x, y, width, height, kind, " " + more if more else ""))

    def path(self, kind, steps, more=""):
        self.parts.append('<path class="%s" d="%s"%s/>' % (kind, steps, " " + more if more else ""))

    def done(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


def where_from(data):
    return "Recorded by %s: ZooKeeper %s, %d servers, session timeout %g s, tick %g s." % (
        data["command"], data["zookeeper"], data["servers"], data["session_timeout_ms"] / 1000, data["tick_ms"] / 1000)


# The queue ----------

def draw_queue(data):
    box, gap, left, height = 124, 46, 20, 54
    before, after = data["before"], data["after"]
    place = {entry["number"]: left + i * (box + gap) for i, entry in enumerate(before["entries"])}
    owner = {entry["number"]: entry["of"] for entry in before["entries"]}
    number = {entry["of"]: entry["number"] for entry in before["entries"]}
    left_over = {entry["number"] for entry in after["entries"]}
    picture = Picture(left * 2 + 5 * box + 4 * gap, 384, "One watch per waiter: a release wakes one of them")

    def row(y, state):
        for entry in before["entries"]:
            x = place[entry["number"]]
            now = next((each for each in state["entries"] if each["number"] == entry["number"]), None)
            if now is None:
                picture.box(x, y, box, height, "alarm", 'stroke-dasharray="5 4"')
                role, on = "deleted", ""
            else:
                picture.box(x, y, box, height, "held" if now["holds"] else "plain")
                role, on = ("holder", "on") if now["holds"] else ("waiter", "")
            picture.text(x + box / 2, y + 22, "%s: %s" % (entry["of"], role), 14, "middle", on)
            picture.text(x + box / 2, y + 41, "entry " + entry["number"], 11, "middle", on or "soft")
        for watched, by in state["watched_by"].items():
            for name in by:
                x = place[watched]
                if owner[watched] == name:  # its own node
                    middle = x + box / 2
                    picture.path("faint", "M%.1f %.1f c4 22 -28 22 -22 1" % (middle + 11, y + height + 1),
                                 'marker-end="url(#tip)"')
                else:
                    start, end = place[number[name]] + box * 0.3, x + box * 0.7
                    picture.path("line", "M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" % (
                        start, y - 1, start - 10, y - 26, end + 10, y - 26, end, y - 2), 'marker-end="url(#tip)"')

    picture.text(left, 62, "Before the release", 13)
    row(104, before)
    picture.text(left, 212, "After the release", 13)
    row(254, after)
    for gone in [each for each in place if each not in left_over]:  # its deletion is what the watches on it report
        for name in [each for each in before["watched_by"][gone] if each != owner[gone]]:
            end, start = place[number[name]] + box * 0.3, place[gone] + box * 0.7
            picture.path("alarm", "M%.1f 252 C%.1f 228 %.1f 228 %.1f 252" % (start, start + 10, end - 10, end),
                         'stroke-width="2" marker-end="url(#red)"')
            picture.text((start + end) / 2, 226, "event", 12, "middle", "alarming")
    sent = {name: sum(kinds.values()) for name, kinds in data["requests_for_the_release"].items()}
    asked = ", ".join("%s %d %s" % (name, count, kind) for name, kinds in data["requests_for_the_release"].items()
                      for kind, count in kinds.items())
    silent = ", ".join(name for name, count in sent.items() if count == 0)
    picture.text(left, 350, "Arrow: watches. Loop: an entry watches its own node, too, once it is 10 ms old. "
                 "Requests for the release: %s; %s none." % (asked, silent), 12)
    picture.text(left, 370, where_from(data), 11, kind="soft")
    return picture.done()


# The lease ----------

def draw_lease(data):
    low, high, left, right = -3300.0, 5500.0, 150, 870
    timeout = data["session_timeout_ms"]
    events = data["events"]
    picture = Picture(890, 396, "The lease of a holder that is cut off")

    def x(at):
        return left + (min(max(at, low), high) - low) / (high - low) * (right - left)

    def times(what):
        return [each["at_ms"] for each in events if each["what"] == what and each["at_ms"] >= low]

    def bar(begin, end, y, kind, label, on=True):
        picture.box(x(begin), y, x(end) - x(begin), 24, kind)
        picture.text((x(begin) + x(end)) / 2, y + 16, label, 12, "middle", "on" if on else "")

    cut, suspect, lost = 0.0, times("suspect")[0], times("seen to be lost")[0]
    expiry, granted = times("node deleted")[0], times("next grant")[0]

    # Moments
    moments = [(cut, "cut off"), (suspect, "suspect"), (lost, "loss"), (expiry, "expiry, next grant")]
    for i, (at, label) in enumerate(moments):
        picture.path("alarm" if label in ("cut off", "loss") else "faint", "M%.1f 78 V318" % x(at),
                     'stroke-dasharray="4 3"')
        anchor = "end" if label == "suspect" else "start" if label == "loss" else "middle"
        picture.text(x(at) + {"end": 4, "start": -4, "middle": 0}[anchor], 58, label, 12, anchor)
        picture.text(x(at) + {"end": 4, "start": -4, "middle": 0}[anchor], 72, "%+.2f s" % (at / 1000) if at else "0 s",
                     11, anchor, "soft")

    # What the client sends
    picture.text(20, 104, "requests")
    for at in times("sync"):
        picture.path("line", "M%.1f 104 v-10" % x(at))
    for at in times("write"):
        picture.path("line", "M%.1f 104 v-20" % x(at), 'stroke-width="3"')
    picture.text(x(cut) + 8, 98, "short: sync; tall: write", 11, kind="soft")

    # Each proof extends the lease; the dots begin where the first of its three requests was sent
    leases = [each for each in events if each["what"] == "lease" and each["at_ms"] >= low]
    picture.text(20, 136, "lease, extended")
    picture.text(20, 151, "by each proof")
    y = 122
    for each in leases:
        picture.path("line", "M%.1f %.1f H%.1f" % (x(each["at_ms"]), y, x(each["until"])), 'marker-end="url(#tip)"')
        y += 12
    first_sent = leases[-1]["until"] - timeout * 11 / 12
    picture.path("line", "M%.1f %.1f H%.1f" % (x(first_sent), y - 12, x(leases[-1]["at_ms"])), 'stroke-dasharray="2 3"')
    picture.text(x(lost) + 8, y - 8, "11/12 of the session timeout, from the start of the dots", 11,
                 kind="soft")

    # Who has what
    picture.text(20, 201, "grant of the holder")
    bar(low, suspect, 185, "held", "held")
    bar(suspect, lost, 185, "suspect", "")
    picture.text(x(lost) + 8, 201, "lost: its stop token is requested", 12)
    picture.text(20, 241, "its session, its node")
    bar(low, expiry, 225, "plain", "kept by the ensemble", False)
    picture.text(20, 281, "next waiter")
    bar(low, granted, 265, "plain", "waits", False)
    bar(granted, high, 265, "held", "grant")
    middle = (x(lost) + x(granted)) / 2
    picture.path("line", "M%.1f 306 H%.1f" % (x(lost) + 2, x(granted) - 2),
                 'marker-start="url(#tip)" marker-end="url(#tip)"')
    picture.text(middle, 322, "no holder for %.2f s" % ((granted - lost) / 1000), 12, "middle")

    for second in range(int(low / 1000), int(high / 1000) + 1):
        picture.path("line", "M%.1f 334 v5" % x(second * 1000))
        picture.text(x(second * 1000), 351, "%d s" % second, 11, "middle", "soft")
    picture.path("line", "M%d 334 H%d" % (left, right))
    assert data["next_token"] > data["token"]
    picture.text(20, 369, "Fencing tokens: %s, then %s." % (data["token"], data["next_token"]), 12)
    picture.text(20, 386, where_from(data), 11, kind="soft")
    return picture.done()


# The pause ----------

def draw_pause(data):
    low, high, left, right = -1400.0, 7000.0, 130, 870
    fenced = data["fenced"]
    picture = Picture(890, 396, "A client is stopped between checking its grant and writing: " +
                      ("the storage compares tokens" if fenced else "no token is compared"))

    def x(at):
        return left + (min(max(at, low), high) - low) / (high - low) * (right - left)

    def of(what, client, key="at_ms"):
        return next(each[key] for each in data["events"] if each["what"] == what and each["of"] == client)

    def bar(begin, end, y, kind, label, on=True):
        picture.box(x(begin), y, x(end) - x(begin), 24, kind)
        picture.text((x(begin) + x(end)) / 2, y + 16, label, 12, "middle", "on" if on else "")

    def seconds(at):
        return "%+.2f s" % (at / 1000) if at else "0 s"

    grant, stopped, continued = of("grant", "1"), of("stopped", "1"), of("continued", "1")
    until, expiry = of("checked its grant", "1", "until"), of("node deleted", "1")
    next_grant, next_write, late = of("grant", "2"), of("write", "2"), of("write", "1")

    # Moments
    for at, label, anchor in ((stopped, "client 1 is stopped", "middle"), (until, "its lease ends", "middle"),
                              (expiry, "expiry, next grant", "middle"), (continued, "client 1 runs again", "start")):
        picture.path("alarm" if at in (stopped, continued) else "faint", "M%.1f 78 V250" % x(at), 'stroke-dasharray="4 3"')
        place = x(at) - (4 if anchor == "start" else 0)
        picture.text(place, 58, label, 12, anchor)
        picture.text(place, 72, seconds(at), 11, anchor, "soft")

    # Who has what
    picture.text(20, 106, "client 1")
    bar(grant, stopped, 90, "held", "holds")
    bar(stopped, continued, 90, "suspect", "stopped: it cannot check its grant")
    bar(continued, high, 90, "plain", "lost", False)
    picture.text(20, 146, "its lease")
    bar(grant, until, 130, "held", "")
    picture.text(20, 186, "its session")
    bar(low, expiry, 170, "plain", "kept by the ensemble", False)
    picture.text(20, 226, "client 2")
    bar(of("waits", "2"), next_grant, 210, "plain", "waits", False)
    bar(next_grant, high, 210, "held", "")
    picture.text((x(next_write) + x(late)) / 2, 226, "holds", 12, "middle", "on")

    # What the storage sees
    y = 290
    picture.text(20, y + 16, "storage")
    value, begin = of("read", "1", "value"), low
    for each in [each for each in data["events"] if each["what"] == "write"] + [None]:
        if each and not each["accepted"]:
            continue
        end = each["at_ms"] if each else high
        wrong = value != of("write", "2", "value") and begin > next_write
        picture.box(x(begin), y, x(end) - x(begin), 24, "alarming" if wrong else "plain")
        picture.text((x(begin) + x(end)) / 2, y + 16, "value: " + value, 12, "middle", "on" if wrong else "")
        if each:
            begin, value = end, each["value"]

    def arrow(at, top, bottom, kind, tip):
        picture.path(kind, "M%.1f %.1f V%.1f" % (x(at), top, bottom), 'stroke-width="2" marker-end="url(#%s)"' % tip)

    for client, top, aside, anchor in (("1", 114, 6, "start"), ("2", 234, -6, "end")):
        arrow(of("read", client), y - 1, top + 2, "line", "tip")
        picture.text(x(of("read", client)) + aside, y - 10, "reads %s%s" % (
            of("read", client, "value"), ", seals" if fenced else ""), 11, anchor)
    arrow(next_write, 234, y - 2, "line", "tip")
    picture.text(x(next_write) + 5, y - 24, "writes " + of("write", "2", "value"), 11)
    arrow(late, 114, y - (12 if fenced else 2), "alarm", "red")
    picture.text(x(late) + 8, y - 10, "%s: %s" % (of("write", "1", "value"), "refused" if fenced else "accepted"), 12,
                 kind="alarming")
    if fenced:
        picture.path("alarm", "M%.1f %.1f h16" % (x(late) - 8, y - 8), 'stroke-width="3"')

    for second in range(int(low / 1000), int(high / 1000) + 1):
        picture.path("line", "M%.1f 330 v5" % x(second * 1000))
        picture.text(x(second * 1000), 347, "%d s" % second, 11, "middle", "soft")
    picture.path("line", "M%d 330 H%d" % (left, right))
    assert data["late_write_accepted"] != fenced and data["tokens"][0] < data["tokens"][1]
    picture.text(20, 367, "Tokens: client 1 %s, client 2 %s. %s" % (
        *data["tokens"], "The smaller one is refused." if fenced else "The write of client 2 is lost."), 12)
    picture.text(20, 386, where_from(data), 11, kind="soft")
    return picture.done()


def main():
    check = sys.argv[1:] == ["--check"]
    outcome = 0
    for name, draw in (("queue", draw_queue), ("lease", draw_lease), ("unfenced", draw_pause), ("fenced", draw_pause)):
        drawn = draw(json.loads((here / (name + ".json")).read_text()))
        target = here / (name + ".svg")
        if not check:
            target.write_text(drawn)
        elif not target.exists() or target.read_text() != drawn:
            print("%s is not what draw.py makes of %s.json: run draw.py" % (target, name))
            outcome = 1
        if len(drawn.encode()) > 20_000:
            print("%s has more than 20 kB" % target)
            outcome = 1
    return outcome


if __name__ == "__main__":
    sys.exit(main())
