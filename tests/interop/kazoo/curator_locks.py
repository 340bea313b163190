# SPDX-License-Identifier: Apache-2.0
"""kazoo's locks under the names that Curator and latchkey know: a queue which all three can share.

Curator waits for nobody whose node has another name than its own, so that `extra_lock_patterns` is not enough where Java takes
part. Written for kazoo 2.8.
"""
from kazoo.recipe.lock import Lock
from kazoo.retry import ForceRetryError


class CuratorLock(Lock):
    """As Curator's InterProcessMutex and latchkey's mutex."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


class CuratorWriteLock(Lock):
    """As the write lock of Curator's InterProcessReadWriteLock, and latchkey's shared_mutex."""

    _NODE_NAME = "-__WRIT__"
    _EXCLUDE_NAMES = ["__WRIT__", "__READ__"]


class CuratorReadLock(Lock):
    """As the read lock of Curator's InterProcessReadWriteLock, and latchkey's shared_mutex."""

    _NODE_NAME = "-__READ__"
    _EXCLUDE_NAMES = ["__WRIT__"]

    def _get_predecessor(self, node):
        # ReadLock of kazoo 2.8 waits for the last writer of all, also behind itself: both then wait for ever (kazoo #649).
        children = self.client.get_children(self.path)
        if node not in children:
            raise ForceRetryError()
        ahead = [each for each in children if self._contenders_re.search(each) and each[-10:] < node[-10:]]
        return max(ahead, key=lambda each: each[-10:], default=None)
