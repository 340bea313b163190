// SPDX-License-Identifier: Apache-2.0

import java.util.Collection;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** One candidacy with Curator as a lock: to acquire is to be elected, to release is to resign. For one thread, and for once. */
abstract class Election implements InterProcessLock {
    private final CuratorFramework client;
    private final String path;
    private final String id;
    private final AtomicLong endedAt = new AtomicLong();

    Election(CuratorFramework client, String path, String id) {
        this.client = client;
        this.path = path;
        this.id = id;
    }

    abstract Collection<Participant> all() throws Exception;

    /** Curator tells that it does not lead any more: with the connection it resigns. */
    final void ended() {
        endedAt.compareAndSet(0, System.nanoTime());
    }

    /** @return when it ceased to lead, at the latest now; as System.nanoTime() */
    final long end() {
        final long told = endedAt.get();
        return told != 0 ? told : System.nanoTime();
    }

    abstract Participant leader() throws Exception;

    /** @return the leader's id, then all ids in the order of the queue, separated by tabs */
    String participants() throws Exception {
        return leader().getId() + "\t" + all().stream().map(Participant::getId).collect(Collectors.joining("\t"));
    }

    /** @return that of the node with our id, 0 when there is none */
    long czxid() throws Exception {
        for (String child : client.getChildren().forPath(path)) {
            final Stat stat = new Stat();
            try {
                final byte[] data = client.getData().storingStatIn(stat).forPath(path + "/" + child);
                if (new String(data).equals(id)) {
                    return stat.getCzxid();
                }
            } catch (KeeperException.NoNodeException gone) {
                continue; // another candidate's, which went after the list
            }
        }
        return 0;
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    static final class OfLatch extends Election {
        private final LeaderLatch latch;

        OfLatch(CuratorFramework client, String path, String id) {
            super(client, path, id);
            latch = new LeaderLatch(client, path, id);
            latch.addListener(new LeaderLatchListener() {
                @Override
                public void isLeader() {}

                @Override
                public void notLeader() {
                    ended();
                }
            });
        }

        @Override
        Collection<Participant> all() throws Exception {
            return latch.getParticipants();
        }

        @Override
        Participant leader() throws Exception {
            return latch.getLeader();
        }

        @Override
        public void acquire() throws Exception {
            latch.start();
            latch.await();
        }

        @Override
        public void release() throws Exception {
            latch.close();
        }

        @Override
        public boolean isAcquiredInThisProcess() {
            return latch.hasLeadership();
        }
    }

    static final class OfSelector extends Election {
        private final CountDownLatch elected = new CountDownLatch(1);
        private final CountDownLatch resigned = new CountDownLatch(1);
        private final LeaderSelector selector;

        OfSelector(CuratorFramework client, String path, String id) {
            super(client, path, id);
            selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework unused) throws Exception {
                    elected.countDown();
                    try {
                        resigned.await();
                    } finally {
                        ended();
                    }
                }
            });
            selector.setId(id);
            selector.autoRequeue(); // a lost connection ends a candidacy, also one that waits
        }

        @Override
        Collection<Participant> all() throws Exception {
            return selector.getParticipants();
        }

        @Override
        Participant leader() throws Exception {
            return selector.getLeader();
        }

        @Override
        public void acquire() throws Exception {
            selector.start();
            elected.await();
        }

        @Override
        public void release() {
            resigned.countDown();
            selector.close();
        }

        @Override
        public boolean isAcquiredInThisProcess() {
            return selector.hasLeadership();
        }
    }
}
