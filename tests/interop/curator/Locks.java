// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** Curator's locks of one session: an object a path, as a service has them. */
final class Locks {
    private final CuratorFramework client;
    private final String name;
    private final Map<String, InterProcessMutex> mutexes = new HashMap<>();
    private final Map<String, InterProcessReadWriteLock> pairs = new HashMap<>();

    /** @param name the id of its candidates */
    Locks(CuratorFramework client, String name) {
        this.client = client;
        this.name = name;
    }

    InterProcessReadWriteLock pair(String path) {
        return pairs.computeIfAbsent(path, each -> new InterProcessReadWriteLock(client, each));
    }

    InterProcessMutex mutex(String kind, String path) {
        switch (kind) {
            case "mutex":
                return mutexes.computeIfAbsent(path, each -> new InterProcessMutex(client, each));
            case "read":
                return pair(path).readLock();
            case "write":
                return pair(path).writeLock();
            default:
                throw new IllegalArgumentException("no kind of lock: " + kind);
        }
    }

    InterProcessLock of(String kind, String path) {
        switch (kind) {
            case "semaphore_mutex":
                return new InterProcessSemaphoreMutex(client, path);
            case "latch":
            case "selector":
                return election(kind, path);
            default:
                if (kind.startsWith("semaphore")) {
                    return new Permit(client, path, Integer.parseInt(kind.substring("semaphore".length())));
                }
                return mutex(kind, path);
        }
    }

    Election election(String kind, String path) {
        return kind.equals("latch") ? new Election.OfLatch(client, path, name) : new Election.OfSelector(client, path, name);
    }

    /** @return the czxid of the node of the calling thread, 0 when it is gone */
    long czxid(InterProcessLock lock) throws Exception {
        if (lock instanceof Election) {
            return ((Election) lock).czxid();
        }
        if (lock instanceof Permit) {
            return ((Permit) lock).czxid();
        }
        if (!(lock instanceof InterProcessMutex)) {
            return 0;
        }
        final Method lockPath = InterProcessMutex.class.getDeclaredMethod("getLockPath"); // for subclasses, says Curator
        lockPath.setAccessible(true);
        final Object node = lockPath.invoke(lock);
        final var stat = node == null ? null : client.checkExists().forPath((String) node);
        return stat == null ? 0 : stat.getCzxid();
    }
}
