# SPDX-License-Identifier: Apache-2.0
"""Contenders for locks of kazoo, driven by lines: "NAME COMMAND ARGUMENTS" is answered with "NAME ANSWER".

A name that is new is a new contender: a session and a thread of its own. Ends with its input.
"""
import logging
import os
import queue
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, LockTimeout

from curator_locks import CuratorLock, CuratorReadLock, CuratorWriteLock

logging.getLogger("kazoo").addHandler(logging.NullHandler())  # it reports each connection that a test drops
say_lock = threading.Lock()

# kind -> class, extra_lock_patterns
KINDS = {
    "default": ("Lock", ()),
    "default_read": ("ReadLock", ()),
    "default_write": ("WriteLock", ()),
    "lock": ("Lock", ("-lock-",)),
    "lock_read": ("ReadLock", ("__WRIT__",)),
    "lock_write": ("WriteLock", ("__WRIT__", "__READ__")),
    "mutex": (CuratorLock, ()),
    "read": (CuratorReadLock, ()),
    "write": (CuratorWriteLock, ()),
}


def say(line):
    with say_lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class History:
    """What all contenders append to: one record is one line, and one write with O_APPEND."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, event, who, kind, when, session, czxid):
        os.write(self.file, f"{event} {who} {kind} {when} {session} {czxid}\n".encode())


class Contender:
    def __init__(self, name):
        self.name = name
        self.commands = queue.Queue()
        self.lost_at = queue.Queue()
        self.locks = {}
        self.held = None
        self.stopped = False
        threading.Thread(target=self.run, daemon=True).start()

    def tell(self, command):
        if command == "stop":
            self.stopped = True
        else:
            self.commands.put(command)

    def run(self):
        while True:
            words = self.commands.get().split(" ")
            try:
                answer = getattr(self, "on_" + words[0])(*words[1:])
            except Exception as failure:  # is the answer
                answer = f"failed {failure!r}"
            say(f"{self.name} {answer}")

    def lock(self, kind, path):
        """An object a path, as a service has them."""
        if (kind, path) not in self.locks:
            made, patterns = KINDS[kind]
            if isinstance(made, str):
                made = getattr(self.client, made)
                self.locks[kind, path] = made(path, self.name, extra_lock_patterns=patterns)
            else:
                self.locks[kind, path] = made(self.client, path, self.name)
        return self.locks[kind, path]

    def session(self):
        return self.client.client_id[0] if self.client.client_id else 0

    def czxid(self):
        stat = self.client.retry(self.client.exists, self.held.path + "/" + self.held.node)  # its session may end here
        return stat.czxid if stat else 0

    def on_open(self, connect, session_ms):
        self.client = KazooClient(
            hosts=connect,
            timeout=int(session_ms) / 1000,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5},
            command_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5},
        )
        self.client.add_listener(self.listen)
        self.client.start()
        return f"open {self.session()}"

    def listen(self, state):
        if state == KazooState.LOST:
            self.lost_at.put(time.monotonic_ns())

    def on_take(self, kind, path):
        self.held = self.lock(kind, path)
        self.held.acquire()
        return f"held {self.czxid()}"

    def on_try(self, kind, path, milliseconds):
        self.held = self.lock(kind, path)
        try:
            taken = self.held.acquire(timeout=int(milliseconds) / 1000)
        except LockTimeout:
            taken = False
        return f"held {self.czxid()}" if taken else "busy"

    def on_release(self):
        self.held.release()
        return "released"

    def on_believes(self):
        return "held" if self.held.is_acquired else "not held"

    def on_lost(self):
        return f"lost {self.lost_at.get()}"

    def on_queue(self, kind, path):
        return "\t".join(["queue", *self.lock(kind, path).contenders()])

    def on_rounds(self, path, count, file, hold_us, kinds):
        history = History(file)
        kinds = kinds.split(",")
        done = 0
        while done < int(count) and not self.stopped:
            self.round(history, kinds[done % len(kinds)], path, int(hold_us) / 1e6)
            done += 1
        return f"done {done}"

    def round(self, history, kind, path, hold):
        self.held = self.lock(kind, path)
        self.held.acquire()
        granted, session = time.monotonic_ns(), self.session()
        label = {"lock": "mutex", "lock_read": "read", "lock_write": "write"}.get(kind, kind)
        history.add("granted", self.name, label, granted, session, 0)
        czxid = self.czxid()
        if hold:
            time.sleep(hold)
        history.add("released", self.name, label, time.monotonic_ns(), session, czxid)
        try:
            self.held.release()
        except KazooException:
            history.add("failed", self.name, label, time.monotonic_ns(), 0, 0)

    def on_close(self):
        self.client.stop()
        return "closed"


def main():
    contenders = {}
    for line in sys.stdin:
        name, command = line.rstrip("\n").split(" ", 1)
        if name not in contenders:
            contenders[name] = Contender(name)
        contenders[name].tell(command)
    os._exit(0)  # sessions end by their timeouts: nothing that still waits may hold us up


main()
