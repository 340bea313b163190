// SPDX-License-Identifier: Apache-2.0
// One process that holds a lock of Curator, or waits for it: CuratorWaiter HOST:PORT PATH. Obeys `lock`, `unlock`, `add 1`
// and `drain`, as bench_waiter: see waiter.cpp. Its answers have no times.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorWaiter {
  private final InterProcessMutex lock;
  private Thread waiter;
  private volatile Exception failure;

  private CuratorWaiter(CuratorFramework client, String path) {
    lock = new InterProcessMutex(client, path);
  }

  private void obey(String line) throws Exception {
    switch (line) {
      case "lock":
        lock.acquire();
        break;
      case "unlock":
        lock.release();
        break;
      case "add 1":
        waiter = new Thread(this::passOn);
        waiter.start();
        while (lock.getParticipantNodes().size() < 2) Thread.sleep(1); // the holder, and the place of this one
        break;
      case "drain":
        waiter.join();
        if (failure != null) throw failure;
        break;
      default:
        throw new IllegalArgumentException("unknown command: " + line);
    }
  }

  private void passOn() {
    try {
      lock.acquire();
      lock.release();
    } catch (Exception caught) {
      failure = caught;
    }
  }

  public static void main(String[] arguments) throws Exception {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(arguments[0], 10000, 10000, new ExponentialBackoffRetry(100, 3));
    client.start();
    client.blockUntilConnected();
    CuratorWaiter self = new CuratorWaiter(client, arguments[1]);
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = input.readLine()) != null; ) {
      try {
        self.obey(line);
        System.out.println("{}");
      } catch (Exception failure) {
        System.out.println("{\"error\": \"" + failure.toString().replace('"', '\'').replace('\n', ' ') + "\"}");
      }
      System.out.flush();
    }
    client.close();
  }
}
