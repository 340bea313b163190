# SPDX-License-Identifier: Apache-2.0
"""etcd's lock, by the JSON gateway of its v3 API (v3lock). As etcd's own clients do, a thread keeps the lease alive each third of
its time, and the lock counts as lost when no answer has said otherwise for as long as the lease.

    etcd.py worker ...                        see worker.py
    etcd.py serve | healthy | leads ...       see other_servers.hpp

ETCD is the program of the server; default: etcd.
"""
import base64
import json
import os
import threading
import time
import urllib.request

import worker


def post(port, path, body, timeout):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.loads(answer.readline())


class Service:
    def __init__(self, connect, session_seconds):
        self.ports = [each.rpartition(":")[2] for each in connect.split(",")]
        self.seconds = round(session_seconds)
        self.first = 0

    def ask(self, path, body, timeout=2):
        """Of one server, and when that does not answer of the next."""
        for attempt in range(len(self.ports)):
            port = self.ports[self.first % len(self.ports)]
            try:
                return post(port, path, body, timeout)
            except OSError:
                self.first += 1
                if attempt + 1 == len(self.ports):
                    raise

    def lock(self, path):
        return Lock(self, path)

    def close(self):
        pass


class Lock:
    """A lease for each time that it is held: those of one lease do not exclude one another."""

    def __init__(self, service, path):
        self.service, self.name = service, base64.b64encode(path.encode()).decode()
        self.lease = None

    def acquire(self, timeout):
        seconds = self.service.seconds
        asked = time.monotonic()
        self.lease = self.service.ask("/v3/lease/grant", {"TTL": seconds})["ID"]
        self.valid_until = asked + seconds
        self.over = threading.Event()
        threading.Thread(target=self.keep_alive, args=(self.lease, self.over), daemon=True).start()
        try:
            port = self.service.ports[self.service.first % len(self.service.ports)]
            patience = 3600 if timeout is None else max(timeout, 0.001)
            answer = post(port, "/v3/lock/lock", {"name": self.name, "lease": self.lease}, patience)
            self.key = answer["key"]
            return True
        except (OSError, KeyError) as failure:  # too late, or this server has gone
            self.service.first += not isinstance(failure, TimeoutError)
            self.give_up()
            if timeout is None:
                raise
            return False

    def keep_alive(self, lease, over):
        while not over.wait(self.service.seconds / 3):
            try:
                answer = self.service.ask("/v3/lease/keepalive", {"ID": lease}, self.service.seconds / 3)
                if int(answer["result"].get("TTL", 0)) <= 0:
                    over.set()
                elif lease == self.lease:
                    self.valid_until = time.monotonic() + self.service.seconds
            except OSError:
                pass  # until it is too late

    def believes(self):
        return not self.over.is_set() and time.monotonic() < self.valid_until

    def give_up(self):
        self.over.set()
        self.service.ask("/v3/lease/revoke", {"ID": self.lease})

    def release(self):
        try:
            self.service.ask("/v3/lock/unlock", {"key": self.key})
        finally:
            self.give_up()


def serve(number, folder, *ports):
    number = int(number)
    peers = [f"http://127.0.0.1:{each}" for each in ports[len(ports) // 2:]]
    mine = f"http://127.0.0.1:{ports[number]}"
    program = os.environ.get("ETCD", "etcd")
    os.execvp(program, [
        program, "--name", f"e{number}", "--data-dir", f"{folder}/e{number}",
        "--listen-client-urls", mine, "--advertise-client-urls", mine,
        "--listen-peer-urls", peers[number], "--initial-advertise-peer-urls", peers[number],
        "--initial-cluster", ",".join(f"e{i}={each}" for i, each in enumerate(peers)),
    ])


def healthy(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=3) as answer:
        return json.load(answer)["health"] == "true"


def leads(port):
    status = post(port, "/v3/maintenance/status", {}, 2)
    return status["leader"] == status["header"]["member_id"]


worker.main(Service, serve=serve, healthy=healthy, leads=leads)
