// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/**
 * Contenders for locks of Curator, driven by lines: "NAME COMMAND ARGUMENTS" is answered with "NAME ANSWER". A name that is new is
 * a new contender. Ends with its input.
 */
public final class CuratorPeer {
    private CuratorPeer() {}

    static synchronized void say(String line) {
        System.out.println(line);
    }

    public static void main(String[] arguments) throws Exception {
        final Map<String, Contender> contenders = new HashMap<>();
        final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            final int space = line.indexOf(' ');
            contenders.computeIfAbsent(line.substring(0, space), CuratorPeer::start).tell(line.substring(space + 1));
        }
        Runtime.getRuntime().halt(0); // sessions end by their timeouts: nothing that still waits may hold us up
    }

    private static Contender start(String name) {
        final Contender contender = new Contender(name);
        final Thread thread = new Thread(contender, name);
        thread.setDaemon(true);
        thread.start();
        return contender;
    }
}
