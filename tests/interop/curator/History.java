// SPDX-License-Identifier: Apache-2.0

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** The history that all contenders append to: one record is one line, and one write with O_APPEND. */
final class History implements AutoCloseable {
    private final FileOutputStream file;

    History(String path) throws IOException {
        file = new FileOutputStream(path, true);
    }

    /** @param time of CLOCK_MONOTONIC, which is what System.nanoTime() reads on Linux */
    void add(String event, String who, String kind, long time, long session, long czxid) throws IOException {
        final String line = event + " " + who + " " + kind + " " + time + " " + session + " " + czxid + "\n";
        file.write(line.getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
