// SPDX-License-Identifier: Apache-2.0
// The workloads on Curator. Obeys `run <workload> <route> <seconds>`, as every contestant: see contestant.hpp.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorContestant {
  private static final Map<String, String[]> routes = new HashMap<>();
  private static final Map<String, List<CuratorFramework>> sessions = new HashMap<>();
  private static final ExecutorService threads =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
          });

  /** A session of that route, kept for the next run; session i goes to server i of it. */
  private static CuratorFramework session(String route, int index) throws Exception {
    List<CuratorFramework> known = sessions.computeIfAbsent(route, key -> new ArrayList<>());
    while (known.size() <= index) {
      String[] hosts = routes.get(route);
      CuratorFramework client =
          CuratorFrameworkFactory.newClient(
              hosts[known.size() % hosts.length], 10000, 10000, new ExponentialBackoffRetry(100, 3));
      client.start();
      client.blockUntilConnected();
      known.add(client);
    }
    return known.get(index);
  }

  /** How many cycles there were after the end of the time. */
  private static int beyond = 0;

  private static long cycle(InterProcessLock lock, long end, long holdMs) throws Exception {
    long count = 0;
    while (true) {
      lock.acquire();
      if (holdMs != 0) Thread.sleep(holdMs);
      boolean over = System.nanoTime() >= end;
      lock.release();
      if (over) return count;
      ++count;
    }
  }

  private static double inThreads(List<InterProcessLock> locks, double seconds) throws Exception {
    return inThreads(locks, seconds, 0);
  }

  /** A thread for each; all of them until the same end. */
  private static double inThreads(List<InterProcessLock> locks, double seconds, long holdMs) throws Exception {
    long end = after(seconds);
    beyond = locks.size();
    List<Future<Long>> counts = new ArrayList<>();
    for (InterProcessLock lock : locks) {
      Callable<Long> run = () -> cycle(lock, end, holdMs);
      counts.add(threads.submit(run));
    }
    double sum = 0;
    for (Future<Long> count : counts) sum += count.get();
    return sum;
  }

  private static long after(double seconds) {
    return System.nanoTime() + (long) (seconds * 1e9);
  }

  private static double inSessions(String route, String path, int count, double seconds, int hold) throws Exception {
    List<InterProcessLock> locks = new ArrayList<>();
    for (int i = 0; i < count; ++i) locks.add(new InterProcessMutex(session(route, i), path));
    return inThreads(locks, seconds, hold);
  }

  private static double run(String workload, String route, double seconds) throws Exception {
    String path = "/bench/curator/" + workload;
    CuratorFramework client = session(route, 0);
    List<InterProcessLock> locks = new ArrayList<>();
    switch (workload) {
      case "uncontended":
      case "robust":
        locks.add(new InterProcessMutex(client, path));
        return inThreads(locks, seconds);
      case "eight_sessions":
        return inSessions(route, path, 8, seconds, 0);
      case "sessions_3":
        return inSessions(route, path, 3, seconds, 0);
      case "sessions_20":
        return inSessions(route, path, 20, seconds, 0);
      case "eight_sessions_hold":
        return inSessions(route, path, 8, seconds, 1);
      case "elections_8":
        for (int i = 0; i < 8; ++i) locks.add(new Election(session(route, i), path));
        return inThreads(locks, seconds);
      case "one_lock_64":
        InterProcessMutex one = new InterProcessMutex(client, path);
        for (int i = 0; i < 64; ++i) locks.add(one);
        return inThreads(locks, seconds);
      case "own_locks_256":
        for (int i = 0; i < 256; ++i) locks.add(new InterProcessMutex(client, path + "/" + i));
        return inThreads(locks, seconds);
      case "keys_256":
        return keys(client, path, 256, 100000, false, seconds);
      case "random_keys_256":
        return keys(client, "/bench/curator/keys_256", 256, 100000, true, seconds);
      case "readers_32":
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
        for (int i = 0; i < 32; ++i) locks.add(both.readLock());
        return inThreads(locks, seconds);
      case "permit_free":
        return inThreads(List.of(new Permit(client, path)), seconds);
      case "permits_8":
        for (int i = 0; i < 8; ++i) locks.add(new Permit(session(route, i), path));
        return inThreads(locks, seconds);
      case "three_locks":
        locks.add(new InterProcessMultiLock(client, List.of(path + "/a", path + "/b", path + "/c")));
        return inThreads(locks, seconds);
      case "locked_write":
        return lockedWrite(client, path, seconds);
      case "try_held":
        return tryHeld(client, session(route, 1), path, seconds);
      default:
        throw new IllegalArgumentException("no such workload here: " + workload);
    }
  }

  /** To lead is to hold it. A latch serves once. */
  private static final class Election implements InterProcessLock {
    private final CuratorFramework client;
    private final String path;
    private LeaderLatch latch;

    Election(CuratorFramework client, String path) {
      this.client = client;
      this.path = path;
    }

    @Override
    public void acquire() throws Exception {
      latch = new LeaderLatch(client, path);
      latch.start();
      latch.await();
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) {
      throw new UnsupportedOperationException();
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

  private static double keys(
      CuratorFramework client, String path, int callers, int count, boolean randomEach, double seconds)
      throws Exception {
    if (client.checkExists().forPath(path) == null) {
      client.create().creatingParentsIfNeeded().forPath(path, new byte[0]);
      Semaphore underWay = new Semaphore(1000);
      for (int key = 0; key < count; ++key) {
        underWay.acquire();
        client.create().inBackground((done, event) -> underWay.release()).forPath(path + "/" + key, new byte[0]);
      }
      underWay.acquire(1000);
    }
    long end = after(seconds);
    beyond = callers;
    List<Future<Long>> counts = new ArrayList<>();
    for (int caller = 0; caller < callers; ++caller) {
      Random random = new Random(caller);
      Callable<Long> run =
          () -> {
            long cycles = 0;
            int key = random.nextInt(count);
            while (true) {
              InterProcessMutex lock = new InterProcessMutex(client, path + "/" + key);
              lock.acquire();
              boolean over = System.nanoTime() >= end;
              lock.release();
              if (over) return cycles;
              ++cycles;
              if (randomEach) key = random.nextInt(count);
            }
          };
      counts.add(threads.submit(run));
    }
    double sum = 0;
    for (Future<Long> each : counts) sum += each.get();
    return sum;
  }

  /** One of two permits as a lock. */
  private static final class Permit implements InterProcessLock {
    private final InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    Permit(CuratorFramework client, String path) {
      semaphore = new InterProcessSemaphoreV2(client, path, 2);
    }

    @Override
    public void acquire() throws Exception {
      lease = semaphore.acquire();
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws Exception {
      lease = semaphore.acquire(time, unit);
      return lease != null;
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

  private static double lockedWrite(CuratorFramework client, String path, double seconds) throws Exception {
    InterProcessMutex lock = new InterProcessMutex(client, path);
    String data = "/bench/curator/data";
    byte[] written = new byte[100];
    if (client.checkExists().forPath(data) == null) client.create().creatingParentsIfNeeded().forPath(data, written);
    long count = 0;
    long end = after(seconds);
    while (System.nanoTime() < end) {
      lock.acquire();
      client.setData().forPath(data, written);
      lock.release();
      ++count;
    }
    return count;
  }

  private static double tryHeld(CuratorFramework client, CuratorFramework other, String path, double seconds)
      throws Exception {
    InterProcessMutex holder = new InterProcessMutex(other, path);
    holder.acquire();
    InterProcessMutex lock = new InterProcessMutex(client, path);
    long count = 0;
    long end = after(seconds);
    while (System.nanoTime() < end) {
      if (lock.acquire(0, TimeUnit.MILLISECONDS)) throw new IllegalStateException("Curator took a held lock");
      ++count;
    }
    holder.release();
    return count;
  }

  private static String answer(String line) {
    try {
      String[] words = line.trim().split(" +");
      double seconds = Double.parseDouble(words[3]);
      beyond = 0;
      double count = run(words[1], words[2], seconds);
      return String.format(
          Locale.ROOT,
          "{\"count\": %f, \"cycles\": %f, \"seconds\": %f, \"rate\": %f}",
          count,
          count + beyond,
          seconds,
          count / seconds);
    } catch (Throwable failure) {
      return "{\"error\": \"" + failure.toString().replace('"', '\'').replace('\n', ' ').replace('\\', '/') + "\"}";
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      routes.put(argument.substring(0, equals), argument.substring(equals + 1).split(","));
    }
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = input.readLine()) != null; ) {
      System.out.println(answer(line));
      System.out.flush();
    }
    for (List<CuratorFramework> known : sessions.values()) for (CuratorFramework client : known) client.close();
  }
}
