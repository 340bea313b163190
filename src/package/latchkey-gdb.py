# SPDX-License-Identifier: Apache-2.0
"""For gdb: prints locks, guards, grants and clients of latchkey, and adds the command `latchkey locks`.

Works on a process and on a core dump: it reads memory, and calls no function of the program. It reads private members
by their names; tests/debugger fails when one is renamed.
"""

import itertools
import os
import re
import time

import gdb
import gdb.printing

MOST = 1 << 24  # elements of a container; more are taken for a corrupt size
NOT_A_FIBER = 1 << 63


class Unreadable(Exception):
    """Says what there is in place of an object."""


class NoDebugInformation(Unreadable):
    def __init__(self, why="no debug information of liblatchkey; install its package -dbgsym, or build it with -g"):
        super().__init__(why)


def readable(function, *arguments):
    """A text, whatever is in memory."""
    try:
        return function(*arguments)
    except Unreadable as why:
        return f"<{why}>"
    except gdb.MemoryError:
        return "<corrupt: refers to memory that cannot be read>"
    except Exception as why:  # a traceback helps nobody who looks at a corrupt process
        return f"<cannot be read: {why}>"


class Object:
    """An object in memory. A gdb.Value would look for the dynamic type of all that it passes, and warn of each that has
    no debug information."""

    def __init__(self, address, kind):
        self.address, self.kind = int(address), kind.strip_typedefs()
        if self.kind.code == gdb.TYPE_CODE_REF:
            self.address, self.kind = int(read(self.address)), self.kind.target().strip_typedefs()

    def __getitem__(self, name):
        found = member(self.kind, name)
        if found is None:
            raise Unreadable(f"cannot be read: {self.kind} has no member {name}")
        return Object(self.address + found[0], found[1])

    def __int__(self):
        return int(self.value())

    def value(self):
        return gdb.Value(self.address).cast(self.kind.pointer()).dereference()


def member(kind, name):
    """Its offset and type; None if there is none of that name, in bases and unnamed unions either."""
    for each in kind.fields():
        if not hasattr(each, "bitpos"):
            continue  # static
        found = (0, each.type) if each.name == name else None
        if found is None and (each.is_base_class or not each.name):
            found = member(each.type.strip_typedefs(), name)
        if found is not None:
            return each.bitpos // 8 + found[0], found[1]
    return None


def read(address, kind="unsigned long"):
    return Object(address, gdb.lookup_type(kind))


def pointee(pointer, kind):
    kind = kind.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT and not kind.fields():
        raise NoDebugInformation  # known by name only
    return Object(pointer, kind)


def symbol_of(address):
    with gdb.with_parameter("print demangle", True):
        return gdb.execute(f"info symbol {int(address):#x}", to_string=True)


def class_of(address):
    """The class whose vtable the object has; empty if it has none, as in memory that was freed."""
    found = re.match(r"vtable for (.*?)( \+ \d+)? in section", symbol_of(read(address)))
    return found[1] if found else ""


# Values of libstdc++, whose own printers make texts.


def owned(pointer):
    """What a shared_ptr or weak_ptr refers to; None if that is nothing, or has ended."""
    to, counts = int(pointer["_M_ptr"]), pointer["_M_refcount"]["_M_pi"]
    if to == 0 or int(counts) == 0:
        return None
    found = pointee(to, pointer.kind.template_argument(0))
    if not class_of(counts).startswith("std::_Sp_counted"):
        raise Unreadable("destroyed, or corrupt")
    return found if int(pointee(counts, counts.kind.target())["_M_use_count"]) > 0 else None


def present(pointer):
    found = owned(pointer)
    if found is None:
        raise Unreadable("destroyed")
    return found


def unique(pointer):
    """What a unique_ptr refers to; None if that is nothing."""
    to = int(read(pointer.address))
    return pointee(to, pointer.kind.template_argument(0)) if to != 0 else None


def size(count):
    if not 0 <= int(count) <= MOST:
        raise Unreadable("corrupt: the size of a container")
    return int(count)


def text(string):
    is_view = member(string.kind, "_M_len") is not None
    length = size(string["_M_len" if is_view else "_M_string_length"])
    found = string["_M_str"] if is_view else string["_M_dataplus"]["_M_p"]
    found = found.value().string("utf-8", "backslashreplace", length=length)
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in found)


def each_of_vector(vector):
    first, of = int(vector["_M_impl"]["_M_start"]), vector.kind.template_argument(0)
    count = size((int(vector["_M_impl"]["_M_finish"]) - first) // of.sizeof)
    return [Object(first + index * of.sizeof, of) for index in range(count)]


def each_node(first, count, of, before):
    """The elements of linked nodes, which have `before` bytes in front of them, the first of them the link."""
    for _ in range(size(count)):
        yield Object(int(first) + before, of)
        first = read(first)


def waiters_of(line):
    calls = line["line_"]["line_"]
    node = calls["_M_impl"]["_M_node"]
    return (present(each) for each in each_node(node["_M_next"], node["_M_size"], calls.kind.template_argument(0), 16))


def name(enumerator):
    found = str(enumerator.value()).rsplit("::", 1)[-1]
    if not re.fullmatch(r"[a-z_]+", found):
        raise Unreadable("corrupt: a state that is none")
    return found.replace("_", " ")


def time_of(point):
    return int(point["__d"]["__r"])


# Times


def has_our_clock():
    """Whether the clock of this gdb is that of the process: one that runs here."""
    inferior = gdb.selected_inferior()
    connection = getattr(inferior, "connection", None)
    if inferior.pid == 0 or connection is None or connection.type != "native":
        return False
    return os.readlink(f"/proc/{inferior.pid}/ns/time") == os.readlink("/proc/self/ns/time")


class Clock:
    """The time of a client: now; or, where no clock tells it, that of the newest event that the client has noted."""

    def __init__(self, core):
        monitor, session = present(core["monitor_"]), core["session_"]
        called = symbol_of(read(monitor["clock_"].address))
        self.exact = called.startswith("latchkey::boottime_clock::now") and has_our_clock()
        if self.exact:
            self.now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            return
        noted = [session["heard_at_"], session["opened_at_"], core["keeper_"]["synced_at_"], monitor["running_since_"]]
        for line in itertools.islice(lines_of(core), 1000):
            noted += [present(each["grant"])["since_"] for each in holds_of(line)]
            noted += [each["since"] for each in waiters_of(line)]
        self.now = max(time_of(each) for each in noted)

    def since(self, when):
        return f"{'' if self.exact else 'at least '}{max(self.now - time_of(when), 0) / 1e9:.1f} s"

    def lease(self, of):
        """How much is left; and, if nothing is, why."""
        until = int(present(of["lease_"])["until_"]["_M_i"])
        ended = until + (1 << 63)
        if ended <= 255:  # see lease::end_for
            return "", gdb.lookup_type("latchkey::loss_reason").fields()[ended].name.replace("_", " ")
        if until <= self.now:
            return "", "deadline passed"
        return f"; lease {'' if self.exact else 'at most '}{(until - self.now) / 1e9:.1f} s left", ""


# Locks. Each lock object has a line or two (`detail::lock_line`), whose calls hold the lock or wait for it.

LINES = {
    **dict.fromkeys(["fair_mutex", "robust_mutex", "semaphore"], "line_"),
    **dict.fromkeys(["multi_lock", "any_lock"], "lock_"),
    **{"mutex": "cohort_", "reentrant_mutex": "state_.cohort_", "election": "candidate_"},
    "shared_mutex": "state_.writers_ state_.readers_",
}
# By the class of the line, and the name of its rule, or of what a joint lock needs.
KINDS = {
    **{"cohort lock": "mutex or reentrant_mutex", "cohort latch": "election", "robust_line lock": "robust_mutex"},
    **{"cohort write": "shared_mutex, writers", "reader_group read": "shared_mutex, readers"},
    **{"joint_lock all": "multi_lock", "joint_lock first": "any_lock", "key_table::key_lock lock": "keyed_mutex"},
    **{"fair_places lock": "fair_mutex", "permit_line permit": "semaphore"},
}


def class_of_line(line):
    found = class_of(line.address)
    if not found.startswith("latchkey::detail::"):
        raise Unreadable("destroyed, or corrupt")
    return found.replace("latchkey::detail::", "")


def line_as(line, kind):
    return read(line.address, "latchkey::detail::" + kind)


def kind_of(line):
    found = class_of_line(line)
    is_joint = found == "joint_lock"
    found += " " + (name(line_as(line, found)["goal_"]) if is_joint else text(line["line_"]["kind_"]["name"]))
    return KINDS.get(found, found)


def holds_of(line):
    holders = line["holders_"]
    if int(holders["present_"]):
        yield holders["first_"]
    others = unique(holders["others_"])
    if others is not None:
        table = others["by_who"]["_M_h"]
        first = table["_M_before_begin"]["_M_nxt"]
        yield from each_node(first, table["_M_element_count"], holders["first_"].kind, 16)


def fiber(number, threads):
    return f"fiber {number}" + (f" (thread {threads[number]})" if number in threads else "")


def holder(hold, threads):
    by = int(hold["by"])
    if by & NOT_A_FIBER:
        return "a guard"
    return ("a guard of " if int(hold["guarded"]) else "") + fiber(by, threads)


def is_of_parent(core):
    forks = read(gdb.parse_and_eval("&'latchkey::detail::forks'"), "unsigned int")
    return int(present(core["monitor_"])["home_"]["made_"]) != int(forks)


def state_of(grant, clock):
    """In the words of `to_string(grant)`, and what is left of its lease."""
    if is_of_parent(present(grant["core_"])):
        return "lost: client closed", ""
    phase, (left, over) = name(grant["state_"]["_M_i"]), clock.lease(grant)
    if phase == "lost":
        return "lost: " + name(grant["why_"]["_M_i"]), ""
    if phase in ("held", "suspect") and over:
        return "lost: " + over, ""
    if phase == "releasing":
        return "being released", left
    return ("held (suspect)", left) if phase == "suspect" else (phase, left if phase == "held" else "")


def describe_line(line, clock=None, threads={}):
    kind = class_of_line(line)
    clock = clock or Clock(present(line["core_"]))
    parts, left = [text(line["path_"])], ""
    if kind == "joint_lock":
        members = len(each_of_vector(line_as(line, kind)["members_"]))
        parts[0] += f" and {members - 1} more" if members > 1 else ""
    holds = sorted(holds_of(line), key=lambda each: time_of(present(each["grant"])["since_"]))
    if holds:
        grant = present(holds[0]["grant"])
        state, left = state_of(grant, clock)
        who = (f"{len(holds)}, the first " if len(holds) > 1 else "") + holder(holds[0], threads)
        since = clock.since(grant["since_"])
        held = state.startswith("held")
        parts.append(f"{state} by {who} for {since}" if held else f"{state}; not unlocked by {who}, granted {since} ago")
    else:
        parts.append("not held here")
    if kind == "permit_line":
        permits = line_as(line, kind)
        parts.append(f"{int(permits['in_use_'])} of {int(permits['permits_'])} permits in use here")
    waiting = size(line["line_"]["line_"]["_M_impl"]["_M_node"]["_M_size"])
    if waiting:
        parts.append("1 waits" if waiting == 1 else f"{waiting} wait")
    return ", ".join(parts) + left


def lines_of(core):
    """Those of lock objects that are there and have had a call."""
    offset = member(gdb.lookup_type("latchkey::detail::lock_line"), "line_")[0]
    for each in each_of_vector(core["waiting_calls_"]["lines_"]):
        source = owned(each)
        if source is not None:
            yield read(source.address - offset, "latchkey::detail::lock_line")


def describe_client(core, clock=None):
    clock = clock or Clock(core)
    session, failed = core["session_"], core["failed_"]["_M_payload"]
    where, state = f"client of {text(core['hosts_'])}{text(core['chroot_'])}, ", "not connected"
    if is_of_parent(core):
        return where + "of the process that has forked this one"
    if int(failed["_M_engaged"]):
        why = Object(failed["_M_payload"].address, core["failed_"].kind.template_argument(0))
        return where + "unusable: " + text(why["what"])
    if int(session["connected_"]):
        info = session["info_"]
        state = f"connected, session {int(info['id']) & (1 << 64) - 1:#x}, T {int(info['timeout']['__r']) / 1e3:.1f} s"
    return where + state + clock.lease(core["keeper_"])[0]


# Printers


def of_lock(lock, kind):
    found = []
    for chain in LINES[kind].split():
        line = lock
        for each in chain.split("."):
            try:
                line = present(line[each])
            except NoDebugInformation as why:
                raise NoDebugInformation(f"{text(lock['path_'])}; {why}" if member(lock.kind, "path_") else why) from None
        found.append(describe_line(line))
    return found[0] if len(found) == 1 else f"writers: {found[0]}; readers: {found[1]}"


def of_grant(grant, _=None):
    state = owned(grant["state_"])
    if state is None:
        return "no grant"
    clock = Clock(present(state["core_"]))
    now, left = state_of(state, clock)
    since = f" for {clock.since(state['since_'])}" if now.startswith("held") else ""
    return f"{of_token(state['fence_'])} {now}, {text(state['path_'])}{since}{left}"


def of_token(token, _=None):
    return f"{int(token['czxid']) & (1 << 64) - 1:016x}{int(token['turn']):08x}"


def of_ticket(ticket, _):
    place = owned(ticket["place_"])
    if place is None:
        return "empty ticket"
    return text(present(place["line_"])["path_"]) + (", spent" if int(place["spent_"]["_M_base"]["_M_i"]) else ", in line")


PRINTERS = {
    **{kind: of_lock for kind in LINES},
    "keyed_mutex": lambda lock, _: text(unique(lock["tables_"])["keys_"]["root_"]) + ", a lock for each key",
    "client": lambda client, _: describe_client(present(client["core_"])),
    "grant": of_grant,
    "guard": lambda guard, _: "empty guard" if owned(guard["lock_"]) is None else of_grant(guard["grant_"]),
    "ticket": of_ticket,
    "fencing_token": of_token,
}


class Printer:
    def __init__(self, value, kind):
        self.value, self.kind = value, kind

    def to_string(self):
        return readable(self.print)

    def print(self):
        if self.value.address is None:
            raise Unreadable("not in memory")
        return PRINTERS[self.kind](Object(self.value.address, self.value.type), self.kind)


def find_printer(value):
    if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    found = re.fullmatch(r"latchkey::(\w+)", value.type.strip_typedefs().tag or "")
    return Printer(value, found[1]) if found and found[1] in PRINTERS else None


find_printer.name, find_printer.enabled = "latchkey", True
gdb.printing.register_pretty_printer(gdb.current_objfile(), find_printer, replace=True)

# The command


def threads_of_fibers():
    """The threads, as gdb numbers them, by the numbers of the fibers that they began with."""
    found, thread = {}, gdb.selected_thread()
    frame = gdb.selected_frame() if thread is not None else None
    for each in gdb.selected_inferior().threads():
        try:
            each.switch()
            number = gdb.parse_and_eval("(unsigned long)'latchkey::detail::(anonymous namespace)::number_here'")
            found[int(number)] = each.num
        except gdb.error:
            pass  # without thread-locals, as a thread that has just begun
    if thread is not None:
        thread.switch()
        frame.select()
    return found


def cores():
    try:
        one = read(gdb.parse_and_eval("&'latchkey::detail::connected_session::newest_'"))
        offset = member(gdb.lookup_type("latchkey::detail::client_core"), "connected_as_")[0]
    except (gdb.error, TypeError):
        raise NoDebugInformation from None
    seen = set()
    while int(one) != 0 and int(one) not in seen:
        seen.add(int(one))
        yield read(int(one) - offset, "latchkey::detail::client_core")
        one = read(int(one), "latchkey::detail::connected_session")["next_"]


class Locks(gdb.Command):
    """List the clients of latchkey in this process, and their locks.

For each lock object that has had a call: its kind and path, its holder, the calls that wait, and what is left of the
lease. Holders and calls of other processes are not known here."""

    def __init__(self):
        super().__init__("latchkey locks", gdb.COMMAND_DATA)

    def invoke(self, *_):
        print(readable(self.clients, threads_of_fibers()))

    def clients(self, threads):
        return "\n".join(readable(self.client, each, threads) for each in cores()) or "no clients"

    def client(self, core, threads):
        clock = Clock(core)
        found = [describe_client(core, clock)]
        if not clock.exact:
            found.append("  No clock tells the present time: times are up to the newest event that the client has noted.")
        if int(present(core["monitor_"])["holder_"]["_M_i"]["_M_thread"]) != 0:
            found.append("  A thread was about to change what follows.")
        found += [readable(self.line, each, clock, threads) for each in lines_of(core)]
        return "\n".join(found)

    def line(self, line, clock, threads):
        found = f"  {kind_of(line)} {describe_line(line, clock, threads)}"
        for each in itertools.islice(waiters_of(line), 16):
            found += f"\n    {fiber(int(each['fiber']), threads)} waits for {clock.since(each['since'])}"
        return found


gdb.execute("define-prefix latchkey")
Locks()
