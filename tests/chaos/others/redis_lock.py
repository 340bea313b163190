# SPDX-License-Identifier: Apache-2.0
"""A lock on one Redis server, by the pattern of Redis' documentation: SET with NX and PX, a random value, a script that deletes
only what is one's own. As Redisson does, a thread prolongs it each third of its time. A holder counts as such until the time it
has asked for is over, less the drift that the documentation allows for. The server writes each change to its disk before it
answers, as the documentation demands of a server that may crash.

    redis_lock.py worker ...                      see worker.py
    redis_lock.py serve | healthy | leads ...     see other_servers.hpp

REDIS is the program of the server; default: redis-server.
"""
import os
import random
import threading
import time
import uuid

import redis
import worker

DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
PROLONG = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"


class Service:
    def __init__(self, connect, session_seconds):
        port = int(connect.split(",")[0].rpartition(":")[2])
        self.milliseconds = round(session_seconds * 1000)
        self.server = redis.Redis(port=port, socket_timeout=2, socket_connect_timeout=2)

    def lock(self, path):
        return Lock(self, path)

    def close(self):
        self.server.close()


class Lock:
    def __init__(self, service, path):
        self.server, self.path, self.milliseconds = service.server, path, service.milliseconds
        self.validity = self.milliseconds / 1000 * 0.99 - 0.002

    def acquire(self, timeout):
        end = time.monotonic() + (3600 if timeout is None else timeout)
        while True:
            asked, value = time.monotonic(), uuid.uuid4().hex
            try:
                taken = self.server.set(self.path, value, nx=True, px=self.milliseconds)
            except redis.RedisError:  # perhaps it is taken
                taken = False
                self.delete(value)
            if taken:
                self.value, self.valid_until, self.over = value, asked + self.validity, threading.Event()
                threading.Thread(target=self.prolong, args=(value, self.over), daemon=True).start()
                return True
            if time.monotonic() > end:
                return False
            time.sleep(random.uniform(0.005, 0.05))

    def prolong(self, value, over):
        while not over.wait(self.milliseconds / 3000):
            asked = time.monotonic()
            try:
                if not self.server.eval(PROLONG, 1, self.path, value, self.milliseconds):
                    over.set()
                elif value == self.value:
                    self.valid_until = asked + self.validity
            except redis.RedisError:
                pass  # until it is too late

    def believes(self):
        return not self.over.is_set() and time.monotonic() < self.valid_until

    def delete(self, value):
        try:
            self.server.eval(DELETE, 1, self.path, value)
        except redis.RedisError:
            pass  # it ends by itself

    def release(self):
        self.over.set()
        self.delete(self.value)


def serve(number, folder, port, _):
    program = os.environ.get("REDIS", "redis-server")
    os.makedirs(f"{folder}/r{number}", exist_ok=True)
    os.execvp(program, [
        "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", f"{folder}/r{number}", "--save", "",
        "--appendonly", "yes", "--appendfsync", "always",
    ])


def healthy(port):
    try:
        return redis.Redis(port=int(port), socket_timeout=3).ping()
    except redis.RedisError:
        return False


worker.main(Service, serve=serve, healthy=healthy, leads=healthy)  # the only server leads
