# SPDX-License-Identifier: Apache-2.0
"""The programs that take part, as children that answer each line with one line of JSON."""

import json
import select
import statistics
import subprocess
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


def start(name, folder, classpath, routes, redis_port, here, log):
    if name == "curator":
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", classpath, "CuratorContestant"]
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
        self.ask(holder, "lock")  # granted when all of the pass before is gone
        for _ in range(fibers):
            for child in waiters:
                self.ask(child, "add 1")
        for child in waiters:
            child.send("drain")
        self.ask(holder, "unlock")
        answers = [self.checked(child.receive()) for child in waiters]
        first, last = min(each["first"] for each in answers), max(each["last"] for each in answers)
        return (last - first) / 1000 / (self.count * fibers - 1)

    def ask(self, child, line):
        return self.checked(child.ask(line))

    @staticmethod
    def checked(answer):
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer
