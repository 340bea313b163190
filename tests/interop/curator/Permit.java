// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** One permit of Curator's semaphore as a lock. For one thread, and for once. */
final class Permit implements InterProcessLock {
    private final CuratorFramework client;
    private final String path;
    private final int permits;
    private InterProcessSemaphoreV2 semaphore;
    private Lease lease;
    private Stat node;

    Permit(CuratorFramework client, String path, int permits) {
        this.client = client;
        this.path = path;
        this.permits = permits;
    }

    @Override
    public void acquire() throws Exception {
        if (!acquire(1, TimeUnit.DAYS)) {
            throw new IllegalStateException("no permit in a day");
        }
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws Exception {
        while (true) {
            semaphore = new InterProcessSemaphoreV2(client, path, permits);
            try {
                lease = semaphore.acquire(time, unit);
                break;
            } catch (KeeperException gone) { // with its session, or its connection: Curator leaves it to the caller
                Thread.sleep(10);
            }
        }
        if (lease != null) {
            node = client.checkExists().forPath(path + "/leases/" + lease.getNodeName());
        }
        return lease != null;
    }

    /** @return the session of its node, 0 when that was gone before we could look */
    long session() {
        return node == null ? 0 : node.getEphemeralOwner();
    }

    /** @return that of its node, 0 when that was gone before we could look */
    long czxid() {
        return node == null ? 0 : node.getCzxid();
    }

    @Override
    public void release() {
        semaphore.returnLease(lease);
        lease = null;
    }

    @Override
    public boolean isAcquiredInThisProcess() {
        return lease != null;
    }
}
