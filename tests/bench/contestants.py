# SPDX-License-Identifier: Apache-2.0
"""The programs that take part, as children that answer each line with one line of JSON."""

import json
import pathlib
import select
import statistics
import subprocess
import tempfile
import time

patience = 180  # seconds; the longest run takes some 30


class Child:
    def __init__(self, command, log):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self):
        """@raises RuntimeError when it has ended, or does not answer; then it is killed"""
        if not select.select([self.process.stdout], [], [], patience)[0]:
            self.process.kill()
            raise RuntimeError("%s has not answered for %d s" % (self.process.args[0], patience))
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("%s has ended" % self.process.args[0])
        return json.loads(line)

    def ask(self, line):
        self.send(line)
        return self.receive()

    def done(self):
        """The answer to a line that was sent. @raises RuntimeError also when it says that it failed"""
        answer = self.receive()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def do(self, line):
        self.send(line)
        return self.done()

    def kill(self):
        """SIGKILL; returns when it is dead."""
        self.process.kill()
        self.process.wait()

    def close(self):
        """Closes its input, on which every contestant ends; kills what does not."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=15)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def arguments(routes):
    return ["%s=%s" % (name, ",".join(hosts)) for name, hosts in routes.items()]


def java(classpath):
    return ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", classpath]


def start(name, folder, classpath, routes, redis_port, here, log):
    if name == "curator":
        command = java(classpath) + ["CuratorContestant"]
    elif name == "kazoo":
        command = ["/usr/bin/python3", str(here / "kazoo_contestant.py")]
    elif name == "direct":
        command = [str(folder / "bench_latchkey"), "--direct"]
    else:
        command = [str(folder / ("bench_" + name))]
    if name == "redis":
        routes = {"direct": ["127.0.0.1:%d" % redis_port], "counted": ["127.0.0.1:%d" % redis_port]}
    return Child(command + arguments(routes), log)


class Processes:
    """20 processes of latchkey that wait for one lock, held by a process more. They live until the end."""

    count = 20

    def __init__(self, program, hosts, options, log):
        self.program, self.hosts, self.options, self.log = program, hosts, options, log
        self.children = []

    def close(self):
        for child in self.children:
            child.close()

    def hand_off(self, fibers, seconds):
        if not self.children:
            for i in range(self.count + 1):
                host = self.hosts[i % len(self.hosts)]
                self.children.append(Child([str(self.program), host, "/bench/latchkey/processes"] + self.options, self.log))
            self.one_pass(1)  # not counted
        end = time.monotonic() + seconds
        passes = [self.one_pass(fibers)]
        while time.monotonic() < end:
            passes.append(self.one_pass(fibers))
        return {"us_per_hand_off": statistics.median(passes), "passes": len(passes)}

    def one_pass(self, fibers):
        """Microseconds from one grant to the next, of 20 x `fibers` waiters. They queue one of each process after the other:
        the neighbour in the queue is always in another process."""
        holder, waiters = self.children[0], self.children[1:]
        holder.do("lock")  # granted when all of the pass before is gone
        for _ in range(fibers):
            for child in waiters:
                child.do("add 1")
        for child in waiters:
            child.send("drain")
        holder.do("unlock")
        answers = [child.done() for child in waiters]
        first, last = min(each["first"] for each in answers), max(each["last"] for each in answers)
        return (last - first) / 1000 / (self.count * fibers - 1)


class Crashes:
    """A process that holds a lock, is killed, and is started again at once, as a supervisor would; another waits for it.

    How long after the death is the other granted the lock? Latchkey's holder has a session file, of which Curator has no
    like: its lock is free when the session times out."""

    def __init__(self, name, folder, classpath, hosts, log):
        self.log = log
        self.files = tempfile.TemporaryDirectory()
        path = "/bench/%s/crashes" % name
        self.holds, self.waits = [
            java(classpath) + ["CuratorWaiter", host, path] if name == "curator" else [str(folder / "bench_waiter"), host, path]
            for host in (hosts * 2)[:2]]
        if name != "curator":
            self.holds += ["--session-file", str(pathlib.Path(self.files.name) / "sessions")]
        self.holder = self.waiter = None

    def close(self):
        for child in (self.holder, self.waiter):
            if child:
                child.close()
        self.files.cleanup()

    def measure(self, seconds):
        if not self.waiter:
            self.holder, self.waiter = Child(self.holds, self.log), Child(self.waits, self.log)
            self.waiter.do("lock")  # it is warm then
            self.waiter.do("unlock")
        end = time.monotonic() + seconds
        passes = [self.one_pass()]
        while time.monotonic() < end:
            passes.append(self.one_pass())
        return {"ms_to_next_grant": statistics.median(passes), "ms_at_most": max(passes), "passes": len(passes)}

    def one_pass(self):
        self.holder.do("lock")
        self.waiter.do("add 1")
        self.waiter.send("drain")
        death = time.monotonic()
        self.holder.kill()
        self.holder = Child(self.holds, self.log)
        self.waiter.done()
        return (time.monotonic() - death) * 1000
