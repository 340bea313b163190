// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/** One contender: a session and a thread of its own, which does one command after the other. */
final class Contender implements Runnable {
    private final String name;
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    private final CompletableFuture<Long> lost = new CompletableFuture<>();
    private final CountDownLatch asked = new CountDownLatch(1);
    private CuratorFramework client;
    private Locks locks;
    private InterProcessLock held;
    private String path;
    private volatile boolean stopped;

    Contender(String name) {
        this.name = name;
    }

    void tell(String command) {
        if (command.equals("stop")) {
            stopped = true;
        } else {
            commands.add(command);
        }
    }

    @Override
    public void run() {
        while (true) {
            String answer;
            try {
                answer = obey(commands.take().split(" "));
            } catch (Exception failure) {
                answer = "failed " + failure;
            }
            CuratorPeer.say(name + " " + answer);
        }
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "open": // CONNECT SESSION_MS
                return open(words[1], Integer.parseInt(words[2]));
            case "take": // KIND PATH
                path = words[2];
                held = locks.of(words[1], path);
                held.acquire();
                return "held " + locks.czxid(held);
            case "take_revocable": // KIND PATH
                path = words[2];
                final InterProcessMutex mutex = locks.mutex(words[1], path);
                mutex.makeRevocable(unused -> asked.countDown());
                mutex.acquire();
                held = mutex;
                return "held " + locks.czxid(held);
            case "try": // KIND PATH MS
                path = words[2];
                held = locks.of(words[1], path);
                return held.acquire(Long.parseLong(words[3]), TimeUnit.MILLISECONDS) ? "held " + locks.czxid(held) : "busy";
            case "rounds_together": // PATH+PATH... COUNT HISTORY+HISTORY... HOLD_US TIMEOUT_MS
                return roundsTogether(words[1].split("\\+"), Integer.parseInt(words[2]), words[3].split("\\+"),
                        Long.parseLong(words[4]), Long.parseLong(words[5]));
            case "downgrade":
                downgrade();
                return "held " + locks.czxid(held);
            case "release":
                held.release();
                return "released";
            case "believes": // what the lock object says
                return held.isAcquiredInThisProcess() ? "held" : "not held";
            case "asked": // waits until somebody asks for the release
                asked.await();
                return "asked";
            case "revoke": // NODE
                Revoker.attemptRevoke(client, words[1]);
                return "revoked";
            case "lost": // waits for the end of the session
                return "lost " + lost.get();
            case "participants": // KIND PATH
                return "participants\t" + locks.election(words[1], words[2]).participants();
            case "queue": // KIND PATH
                return queue(words[1], words[2]);
            case "rounds": // PATH COUNT HISTORY HOLD_US KIND,KIND...
                return rounds(words[1], Integer.parseInt(words[2]), words[3], Long.parseLong(words[4]), words[5].split(","));
            case "close":
                client.close();
                return "closed";
            default:
                return "failed: no command " + words[0];
        }
    }

    private String open(String connect, int sessionTimeout) throws Exception {
        client = CuratorFrameworkFactory.builder()
                .connectString(connect)
                .sessionTimeoutMs(sessionTimeout)
                .connectionTimeoutMs(sessionTimeout)
                .retryPolicy(new RetryNTimes(600, 100))
                .build();
        client.getConnectionStateListenable().addListener((unused, state) -> {
            if (state == ConnectionState.LOST) {
                lost.complete(System.nanoTime());
            }
        });
        client.start();
        client.blockUntilConnected();
        locks = new Locks(client, name);
        return "open " + session();
    }

    private long session() throws Exception {
        return client.getZookeeperClient().getZooKeeper().getSessionId();
    }

    private void downgrade() throws Exception {
        final InterProcessLock writing = held;
        held = locks.mutex("read", path);
        held.acquire();
        writing.release();
    }

    private String queue(String kind, String ofPath) throws Exception {
        final StringBuilder answer = new StringBuilder("queue");
        for (String node : locks.mutex(kind, ofPath).getParticipantNodes()) {
            answer.append('\t').append(node).append('=').append(new String(client.getData().forPath(node)));
        }
        return answer.toString();
    }

    private String rounds(String ofPath, int count, String file, long holdMicroseconds, String[] kinds) throws Exception {
        path = ofPath;
        int done = 0;
        try (History history = new History(file)) {
            for (; done < count && !stopped; ++done) {
                final String kind = kinds[done % kinds.length];
                round(history, kind, holdMicroseconds);
            }
        }
        return "done " + done;
    }

    /** Takes locks one after another in this order, as InterProcessMultiLock does; when it takes too long, from the beginning. */
    private String roundsTogether(String[] paths, int count, String[] files, long holdMicroseconds, long timeout) throws Exception {
        final List<InterProcessLock> mutexes = new ArrayList<>();
        final List<History> histories = new ArrayList<>();
        for (int i = 0; i < paths.length; ++i) {
            mutexes.add(locks.mutex("mutex", paths[i]));
            histories.add(new History(files[i]));
        }
        final InterProcessMultiLock together = new InterProcessMultiLock(mutexes);
        int done = 0;
        for (; done < count && !stopped; ++done) {
            while (!together.acquire(timeout, TimeUnit.MILLISECONDS)) {
                continue;
            }
            final long granted = System.nanoTime();
            for (History each : histories) {
                each.add("granted", name, "mutex", granted, session(), 0);
            }
            if (holdMicroseconds > 0) {
                TimeUnit.MICROSECONDS.sleep(holdMicroseconds);
            }
            for (int i = 0; i < paths.length; ++i) {
                histories.get(i).add("released", name, "mutex", System.nanoTime(), session(), locks.czxid(mutexes.get(i)));
            }
            together.release();
        }
        for (History each : histories) {
            each.close();
        }
        return "done " + done;
    }

    private void round(History history, String kind, long holdMicroseconds) throws Exception {
        held = locks.of(kind.equals("downgrade") ? "write" : kind, path);
        held.acquire();
        hold(history, kind.equals("downgrade") ? "write" : kind, holdMicroseconds);
        if (kind.equals("downgrade")) {
            downgrade();
            hold(history, "downgraded", holdMicroseconds);
        }
        try {
            held.release();
        } catch (Exception gone) { // with its session
            history.add("failed", name, kind, System.nanoTime(), 0, 0);
        }
    }

    private void hold(History history, String kind, long microseconds) throws Exception {
        final String as = held instanceof Election || held instanceof Permit ? "mutex" : kind;
        final long granted = System.nanoTime();
        final long session = held instanceof Permit
                ? ((Permit) held).session()
                : held.isAcquiredInThisProcess() ? session() : 0;
        history.add("granted", name, as, granted, session, 0);
        final long czxid = locks.czxid(held);
        if (microseconds > 0) {
            TimeUnit.MICROSECONDS.sleep(microseconds);
        }
        final long released = held instanceof Election ? Math.max(granted, ((Election) held).end()) : System.nanoTime();
        history.add("released", name, as, released, session, czxid);
    }
}
