# SPDX-License-Identifier: Apache-2.0
"""A worker of chaos with the locks of another service: threads that take locks, and write down what they believe.

What it does is what `contender` does in C++, as far as each service can: it waits for a lock, or tries for some time, looks again
and again whether it still holds it, and unlocks it. A service is a class with

    Service(connect, session_seconds)    connects
    lock(path) -> a lock for one thread: acquire(timeout or None) -> bool, believes() -> bool, release()
    close()

`believes()` is what the manual of the service says a careful user looks at.
"""
import os
import random
import sys
import threading
import time

NO_TOKEN = "0" * 24


class Worker:
    def __init__(self, make_service, arguments):
        self.name, folder, connect, session_ms, seed, locks, threads = arguments[:7]
        self.session_ms = int(session_ms)
        self.seed, self.locks, self.threads = int(seed), int(locks), int(threads)
        self.events = os.open(f"{folder}/{self.name}.events", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.finish = False
        self.service = make_service(connect, self.session_ms / 1000)

    def tell(self, who, kind, lock=-1, text="", at=None):
        line = f"{at or now()} {who} {kind} {lock} exclusive {NO_TOKEN} 0 {text}\n"
        os.write(self.events, line.encode())

    def work(self):
        self.tell(self.name, "opened")
        callers = [Caller(self, i) for i in range(self.threads)]
        for each in callers:
            each.start()
        for line in sys.stdin:
            if line == "finish\n":
                self.finish = True
                for each in callers:
                    each.join()
                print("finished", flush=True)
            elif line == "close\n":
                self.service.close()
                self.tell(self.name, "closed")
                os._exit(0)
        os._exit(1)  # whoever started us is gone


class Caller(threading.Thread):
    def __init__(self, worker, number):
        super().__init__(daemon=True)
        self.worker, self.who = worker, f"{worker.name}/{number}/0"
        self.random = random.Random(worker.seed + number)
        self.objects = [worker.service.lock(f"/chaos/{i}/lock") for i in range(worker.locks)]

    def run(self):
        while not self.worker.finish:
            lock = 0 if self.random.random() < 0.5 else self.random.randrange(len(self.objects))
            self.call(lock, None if self.random.random() < 0.65 else self.random.uniform(0, 2))
            time.sleep(self.random.uniform(0, 0.02))
        for lock in range(len(self.objects)):
            while not self.call(lock, None):
                time.sleep(0.1)

    def call(self, lock, timeout):
        tell = self.worker.tell
        tell(self.who, "waits", lock, "lock" if timeout is None else f"for {round(timeout * 1000)}")
        try:
            taken = self.objects[lock].acquire(timeout)
        except Exception as failure:  # without a connection for as long as it retries
            tell(self.who, "refused", lock, repr(failure).replace("\n", " "))
            return False
        if not taken:
            tell(self.who, "refused", lock)
            return False
        self.hold(lock)
        return True

    def hold(self, lock):
        tell, mine = self.worker.tell, self.objects[lock]
        end = now() + round(self.hold_time(lock) * 1e9)
        kind = "granted"
        while True:  # and once more at the end
            last = kind == "held" and (now() >= end or self.worker.finish)
            at = now()
            if not mine.believes():
                tell(self.who, "missed" if kind == "granted" else "lost", lock, "its service says so")
                break
            tell(self.who, kind, lock, at, at)  # it knows no lease
            if last:
                break
            kind = "held"
            time.sleep(self.random.uniform(0, 0.005))
        tell(self.who, "unlocks", lock)
        try:
            mine.release()
        except Exception as gone:
            tell(self.who, "note", lock, repr(gone).replace("\n", " "))

    def hold_time(self, lock):
        if self.random.random() < 0.1:
            return 0
        if self.random.random() < (0.02 if lock == 0 else 0.2):
            return self.random.uniform(0, 2 * self.worker.session_ms / 1000)
        return self.random.uniform(0, 0.3 if self.random.random() < 0.2 else 0.02)


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def main(make_service, **questions):
    """PROGRAM worker NAME FOLDER CONNECT SESSION_MS SEED LOCKS THREADS; and what other_servers.hpp asks, of services that are not
    ZooKeeper's: `questions` are functions that raise OSError or return False for no."""
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "worker":
        Worker(make_service, arguments).work()
    try:
        sys.exit(0 if questions[what](*arguments) else 1)
    except OSError:
        sys.exit(1)
