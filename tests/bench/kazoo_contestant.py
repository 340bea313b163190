# SPDX-License-Identifier: Apache-2.0
"""The workloads on kazoo. Obeys `run <workload> <route> <seconds>`, as every contestant: see contestant.hpp."""

import json
import logging
import sys
import threading
import time

from kazoo.client import KazooClient

logging.disable(logging.CRITICAL)
routes = {}
sessions = {}


def session(route, index):
    """A session of that route, kept for the next run; session i goes to server i of it."""
    known = sessions.setdefault(route, [])
    while len(known) <= index:
        hosts = routes[route]
        client = KazooClient(hosts=hosts[len(known) % len(hosts)], timeout=10.0)
        client.start()
        known.append(client)
    return known[index]


def rate_of(count, seconds, beyond=0):
    return {"count": count, "cycles": count + beyond, "seconds": seconds, "rate": count / seconds}


def cycle(lock, end):
    count = 0
    while True:
        lock.acquire()
        over = time.monotonic() >= end
        lock.release()
        if over:
            return count
        count += 1


def in_threads(locks, seconds):
    """A thread for each lock object; all of them until the same end."""
    counts = [0] * len(locks)
    failures = []

    def run(index):
        try:
            counts[index] = cycle(locks[index], end)
        except BaseException as failure:  # told to whoever asked, on its own thread
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(locks))]
    end = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return rate_of(sum(counts), seconds, len(locks))


def uncontended(route, seconds):
    lock = session(route, 0).Lock("/bench/kazoo/uncontended")
    return rate_of(cycle(lock, time.monotonic() + seconds), seconds, 1)


def eight_sessions(route, seconds):
    return in_threads([session(route, i).Lock("/bench/kazoo/eight_sessions") for i in range(8)], seconds)


def one_lock_64(route, seconds):
    return in_threads([session(route, 0).Lock("/bench/kazoo/one_lock_64") for _ in range(64)], seconds)


def own_locks_256(route, seconds):
    locks = [session(route, 0).Lock("/bench/kazoo/own_locks_256/%03d" % i) for i in range(256)]
    return in_threads(locks, seconds)


def readers_32(route, seconds):
    return in_threads([session(route, 0).ReadLock("/bench/kazoo/readers_32") for _ in range(32)], seconds)


def try_held(route, seconds):
    holder = session(route, 1).Lock("/bench/kazoo/try_held")
    holder.acquire()
    lock = session(route, 0).Lock("/bench/kazoo/try_held")
    count = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if lock.acquire(blocking=False):
            raise RuntimeError("kazoo took a held lock")
        count += 1
    holder.release()
    return rate_of(count, seconds)


workloads = {each.__name__: each for each in (uncontended, eight_sessions, one_lock_64, own_locks_256, readers_32, try_held)}

for argument in sys.argv[1:]:
    name, hosts = argument.split("=", 1)
    routes[name] = hosts.split(",")
for line in sys.stdin:
    try:
        command, name, way, length = line.split()
        answer = workloads[name](way, float(length))
    except Exception as failure:
        answer = {"error": repr(failure)}
    print(json.dumps(answer), flush=True)
for known in sessions.values():
    for client in known:
        client.stop()
