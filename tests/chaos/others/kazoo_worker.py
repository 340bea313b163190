# SPDX-License-Identifier: Apache-2.0
"""kazoo's Lock. As its documentation says, a listener takes SUSPENDED and LOST for the loss of the lock."""
import logging

import worker
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout

logging.getLogger("kazoo").addHandler(logging.NullHandler())


class Service:
    def __init__(self, connect, session_seconds):
        retry = {"max_tries": -1, "delay": 0.1, "max_delay": 1}
        self.client = KazooClient(hosts=connect, timeout=session_seconds, connection_retry=retry, command_retry=retry)
        self.losses = 0
        self.client.add_listener(self.listen)
        self.client.start(timeout=60)

    def listen(self, state):
        if state != KazooState.CONNECTED:
            self.losses += 1

    def lock(self, path):
        return Lock(self, path)

    def close(self):
        self.client.stop()
        self.client.close()


class Lock:
    def __init__(self, service, path):
        self.service, self.lock = service, service.client.Lock(path)

    def acquire(self, timeout):
        try:
            if not self.lock.acquire(timeout=timeout):
                return False
        except LockTimeout:
            return False
        self.before = self.service.losses
        self.held = self.service.client.connected
        return True

    def believes(self):
        return self.held and self.service.losses == self.before

    def release(self):
        self.lock.release()


worker.main(Service)
