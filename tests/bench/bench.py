# SPDX-License-Identifier: Apache-2.0
"""Runs the rows: for each, round after round, the contestants one after the other. Writes what was measured as JSON."""

import argparse
import json
import os
import pathlib
import platform
import socket
import subprocess
import sys
import time

import contestants
import report
from rows import rows

here = pathlib.Path(__file__).resolve().parent


def parse():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--redis", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--commit", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--warm-up", type=float, default=60.0)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    return parser.parse_args()


def machine(commit):
    model = "unknown"
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as lines:
        memory = int(lines.readline().split()[1]) // (1024 * 1024)
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": memory,
        "kernel": platform.release(),
        "commit": commit,
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
        "load_before": os.getloadavg()[0],
    }


class Redis:
    """A server of our own: loopback, nothing on disk, ended by its process."""

    def __init__(self, program, log):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [program, "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no", "--daemonize", "no"],
            stdout=log, stderr=log)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.01)
        self.close()
        raise RuntimeError("redis-server does not start")

    def close(self):
        self.process.terminate()
        self.process.wait()


class Bench:
    def __init__(self, how, log):
        self.how, self.log = how, log
        self.children = {}
        self.redis = None
        self.servers = contestants.Child([str(how.programs / "bench_servers")], log)
        self.routes = self.servers.receive()
        self.processes = {}  # by workload, contestant and route

    def child(self, name):
        if name not in self.children:
            self.children[name] = self.start(name)
        return self.children[name]

    def start(self, name):
        if name == "redis" and self.redis is None:
            self.redis = Redis(self.how.redis, self.log)
        port = self.redis.port if self.redis else 0
        return contestants.start(name, self.how.programs, self.how.classpath, self.routes, port, here, self.log)

    def in_processes(self, workload, name, route):
        key = workload, name, route
        if key not in self.processes:
            self.processes[key] = self.start_processes(*key)
        return self.processes[key]

    def start_processes(self, workload, name, route):
        hosts = self.routes[route]
        if workload == "crash":
            return contestants.Crashes(name, self.how.programs, self.how.classpath, hosts, self.log)
        options = ["--direct"] if name == "direct" else []
        return contestants.Processes(self.how.programs / "bench_waiter", hosts, options, self.log)

    def alone(self, name, command):
        """In a process that does nothing else and has done nothing before."""
        child = self.start(name)
        try:
            return child.ask(command)
        finally:
            child.close()

    def close(self):
        for child in self.children.values():
            child.close()
        for each in self.processes.values():
            each.close()
        self.servers.close()
        if self.redis:
            self.redis.close()

    def run(self, row, name, route, seconds):
        """The figures of one run; what went wrong is a figure too, "error"."""
        try:
            if row.processes:
                workload, _, fibers = row.workload.partition(":")
                those = self.in_processes(workload, name, route)
                return those.hand_off(int(fibers), seconds) if fibers else those.measure(seconds)
            command = "run %s %s %g" % (row.workload, route, seconds)
            return self.alone(name, command) if row.alone else self.child(name).ask(command)
        except (RuntimeError, OSError) as failure:
            if name in self.children and not row.alone:
                self.children.pop(name).close()  # the next run has a new one
            return {"error": str(failure)}

    def warm_up(self, seconds):
        """Until the servers have compiled what they will run: before that they take several times as long for a request,
        and whoever comes last is the fastest."""
        names = [name for name in ("latchkey", "curator") if name not in self.how.without]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for workload in ("uncontended", "eight_sessions", "own_locks_256"):
                for name in names:
                    self.child(name).ask("run %s direct 1" % workload)

    def measure(self, row):
        names = [name for name in row.contestants if name not in self.how.without]
        rounds = {name: [] for name in names}
        seconds = self.how.seconds * row.length
        for name in names:  # not counted: compilers get warm, sessions are opened
            if not row.alone and not row.processes:
                self.run(row, name, row.route, max(1.0, seconds) if name == "curator" else seconds / 2)
        for _ in range(min(self.how.rounds, row.most_rounds)):
            for name in names:
                rounds[name].append(self.run(row, name, row.route, seconds))
        result = {"rounds": rounds}
        if row.counted:
            result["requests"] = {name: self.count(row, name, min(seconds, 1.0)) for name in names if name != "redis"}
        return result

    def count(self, row, name, seconds):
        """A run through the proxy that counts. Its numbers are by operation; the servers' own hold pings and our questions
        as well, and check them."""
        self.run(row, name, "counted", 0.1)  # opens the sessions
        before = self.servers.ask("count")
        figures = self.run(row, name, "counted", seconds)
        after = self.servers.ask("count")
        operations = {}
        for operation, count in after["requests"].items():
            difference = count - before["requests"].get(operation, 0)
            if difference:
                operations[operation] = difference
        return {"figures": figures, "requests": operations, "packets_of_servers": after["packets"] - before["packets"]}


def main():
    how = parse()
    unknown = set(how.only) - {row.name for row in rows}
    if unknown:
        sys.exit("no workload %s; there are: %s" % (", ".join(sorted(unknown)), ", ".join(row.name for row in rows)))
    chosen = [row for row in rows if not how.only or row.name in how.only]
    how.output.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine(how.commit), "rounds": how.rounds, "seconds": how.seconds, "rows": {}}
    with open(how.output / "bench.log", "w") as log:
        bench = Bench(how, log)
        try:
            print("warming up", file=sys.stderr, flush=True)
            bench.warm_up(how.warm_up)
            for row in chosen:
                print("measuring %s" % row.name, file=sys.stderr, flush=True)
                results["rows"][row.name] = bench.measure(row)
        finally:
            bench.close()
    path = how.output / "results.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    report.write(results, how.output)


main()
