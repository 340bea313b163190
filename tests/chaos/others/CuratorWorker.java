// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A worker of chaos with Curator's InterProcessMutex: see worker.py, which does the same. As Curator's documentation says, it
 * listens to the state of the connection, and takes SUSPENDED and LOST for the loss of the lock.
 */
public final class CuratorWorker {
    private final String name;
    private final int sessionTimeout;
    private final long boottime;
    private final FileOutputStream events;
    private final CuratorFramework client;
    private final AtomicLong suspensions = new AtomicLong();
    private volatile boolean finish;

    private CuratorWorker(String[] arguments) throws Exception {
        name = arguments[0];
        sessionTimeout = Integer.parseInt(arguments[3]);
        boottime = Long.parseLong(arguments[7]);
        events = new FileOutputStream(arguments[1] + "/" + name + ".events", true);
        client = CuratorFrameworkFactory.builder()
                .connectString(arguments[2])
                .sessionTimeoutMs(sessionTimeout)
                .connectionTimeoutMs(sessionTimeout)
                .retryPolicy(new ExponentialBackoffRetry(100, 29, 1000))
                .build();
        client.getConnectionStateListenable().addListener((unused, state) -> {
            if (!state.isConnected()) {
                suspensions.incrementAndGet();
            }
        });
        client.start();
    }

    private long now() {
        return System.nanoTime() + boottime;
    }

    private void tell(long at, String who, String kind, int lock, String text) throws IOException {
        final String line = at + " " + who + " " + kind + " " + lock + " exclusive " + "0".repeat(24) + " 0 " + text + "\n";
        events.write(line.getBytes(StandardCharsets.US_ASCII));
    }

    private final class Caller implements Runnable {
        private final String who;
        private final Random random;
        private final List<InterProcessMutex> locks = new ArrayList<>();

        Caller(String who, long seed, int count) {
            this.who = who;
            random = new Random(seed);
            for (int i = 0; i < count; ++i) {
                locks.add(new InterProcessMutex(client, "/chaos/" + i + "/lock"));
            }
        }

        @Override
        public void run() {
            try {
                while (!finish) {
                    final boolean waits = random.nextInt(100) < 65;
                    call(random.nextBoolean() ? 0 : random.nextInt(locks.size()), waits ? -1 : random.nextInt(2000));
                    Thread.sleep(random.nextInt(20));
                }
                for (int lock = 0; lock < locks.size(); ++lock) {
                    while (!call(lock, -1)) {
                        Thread.sleep(100);
                    }
                }
            } catch (Exception broken) {
                throw new IllegalStateException(broken);
            }
        }

        /** @return whether the lock was taken */
        private boolean call(int lock, int timeout) throws Exception {
            tell(now(), who, "waits", lock, timeout < 0 ? "lock" : "for " + timeout);
            final InterProcessMutex mutex = locks.get(lock);
            try {
                if (timeout < 0) {
                    mutex.acquire();
                } else if (!mutex.acquire(timeout, TimeUnit.MILLISECONDS)) {
                    tell(now(), who, "refused", lock, "");
                    return false;
                }
            } catch (Exception failed) { // without a connection for as long as it retries
                tell(now(), who, "refused", lock, failed.toString().replace('\n', ' '));
                return false;
            }
            hold(lock, mutex);
            return true;
        }

        private void hold(int lock, InterProcessMutex mutex) throws Exception {
            final long before = suspensions.get();
            boolean held = client.getZookeeperClient().isConnected();
            final long end = now() + TimeUnit.MILLISECONDS.toNanos(holdTime(lock));
            for (String kind = "granted";; kind = "held") { // and once more at the end
                final boolean last = kind.equals("held") && (now() >= end || finish);
                final long at = now();
                held = held && suspensions.get() == before;
                if (!held) {
                    tell(at, who, kind.equals("granted") ? "missed" : "lost", lock, "connection suspended");
                    break;
                }
                tell(at, who, kind, lock, Long.toString(at)); // it knows no lease
                if (last) {
                    break;
                }
                Thread.sleep(random.nextInt(5));
            }
            tell(now(), who, "unlocks", lock, "");
            try {
                mutex.release();
            } catch (Exception gone) { // Curator goes on deleting in the background
                tell(now(), who, "note", lock, gone.toString().replace('\n', ' '));
            }
        }

        private int holdTime(int lock) {
            if (random.nextInt(10) == 0) {
                return 0;
            }
            if (random.nextInt(lock == 0 ? 50 : 5) == 0) {
                return random.nextInt(2 * sessionTimeout);
            }
            return random.nextInt(random.nextInt(5) == 0 ? 300 : 20);
        }
    }

    private void work(long seed, int locks, int threads) throws Exception {
        tell(now(), name, "opened", -1, "");
        final CountDownLatch working = new CountDownLatch(threads);
        for (int i = 0; i < threads; ++i) {
            final Caller caller = new Caller(name + "/" + i + "/0", seed + i, locks);
            new Thread(() -> {
                caller.run();
                working.countDown();
            }).start();
        }
        final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("finish")) {
                finish = true;
                working.await();
                System.out.println("finished");
            } else if (line.equals("close")) {
                client.close();
                tell(now(), name, "closed", -1, "");
                Runtime.getRuntime().halt(0);
            }
        }
        Runtime.getRuntime().halt(1); // whoever started us is gone
    }

    /** NAME FOLDER CONNECT SESSION_MS SEED LOCKS THREADS BOOTTIME_MINUS_MONOTONIC_NS */
    public static void main(String[] arguments) throws Exception {
        new CuratorWorker(arguments).work(Long.parseLong(arguments[4]), Integer.parseInt(arguments[5]), Integer.parseInt(arguments[6]));
    }
}
