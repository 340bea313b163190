# SPDX-License-Identifier: Apache-2.0
"""The table of the benchmark as data: what is run, by whom, and what is wanted of it.

A figure is named by whose it is and its key: "latchkey.rate". A target compares one figure of ours with a number, or with
a factor times a figure of somebody else, of the same round."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    text: str
    figure: str  # the key of our figure
    relation: str  # "<=" or ">="
    factor: float
    rival: str = ""  # whose figure of the same key; "" when the factor is the limit itself
    row: str = ""  # of another row
    own: bool = False  # that row's figure is latchkey's own
    whose: str = "latchkey"  # the figure is, or of "direct": latchkey whose releases are told by datagram
    rows: tuple = ()  # the largest median of these rows by the smallest

    def met(self, value):
        return value <= self.factor if self.relation == "<=" else value >= self.factor


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    workload: str
    key: str  # of the figure that the table shows
    unit: str
    contestants: tuple
    route: str = "direct"
    targets: tuple = ()
    length: float = 1.0  # times the seconds of a run
    most_rounds: int = 99
    counted: bool = False  # requests are counted, in a run of their own
    alone: bool = False  # each run in a process of its own
    processes: bool = False  # the workload is played by several processes, see contestants.py
    also: tuple = ()  # keys to be shown beneath


beside_hand_offs = ("us_cpu_per_hand_off", "us_cpu_of_the_first_nine", "preemptions", "us_per_deletion")
hand_offs = ("hand_off_10", "hand_off_100", "hand_off_1000", "hand_off_10000")
four = ("floor", "latchkey", "curator", "kazoo")
five = four + ("redis",)
direct = ("latchkey", "direct", "curator")

rows = (
    Row("uncontended", "uncontended lock + unlock", "uncontended", "rate", "cycles/s", five, counted=True, targets=(
        Target("at most 1.10 x the floor's cycle", "rate", ">=", 1 / 1.10, "floor"),
        Target("at least 1.8 x Curator", "rate", ">=", 1.8, "curator"))),
    Row("uncontended_delayed", "the same, 1 ms of delay each way", "uncontended", "rate", "cycles/s", four, route="delayed", targets=(
        Target("at most 0.5 x Curator's cycle", "rate", ">=", 2.0, "curator"),)),
    Row("eight_sessions", "8 sessions, one fair_mutex", "eight_sessions", "rate", "hand-offs/s", four + ("direct",), counted=True, targets=(
        Target("at least 1.1 x Curator", "rate", ">=", 1.1, "curator"),
        Target("ahead of kazoo", "rate", ">=", 1.0, "kazoo"),
        Target("at most 1.15 x the floor's hand-off", "rate", ">=", 1 / 1.15, "floor"),
        Target("direct: at least 3 x Curator", "rate", ">=", 3, "curator", whose="direct"),
        Target("direct: no more requests", "requests_per_cycle", "<=", 1.0, "latchkey", whose="direct"))),
    Row("eight_sessions_delayed", "the same, 1 ms of delay each way", "eight_sessions", "rate", "hand-offs/s", ("floor",) + direct, route="delayed", targets=(
        Target("at least 1.5 x Curator", "rate", ">=", 1.5, "curator"),
        Target("at least 1.5 x the floor", "rate", ">=", 1.5, "floor"),
        Target("direct: at least 5 x Curator", "rate", ">=", 5, "curator", whose="direct"),)),
    Row("eight_sessions_hold", "8 sessions, one fair_mutex, held for 1 ms", "eight_sessions_hold", "rate", "hand-offs/s", direct, targets=(
        Target("at least 1.08 x Curator", "rate", ">=", 1.08, "curator"),)),
    Row("eight_sessions_hold_delayed", "the same, 1 ms of delay each way", "eight_sessions_hold", "rate", "hand-offs/s", direct, route="delayed", targets=(
        Target("at least 1.45 x Curator", "rate", ">=", 1.45, "curator"),)),
    Row("sessions_3_delayed", "3 sessions, one fair_mutex, 1 ms of delay each way", "sessions_3", "rate", "hand-offs/s", ("floor", "latchkey", "curator"), route="delayed"),
    Row("sessions_20_delayed", "20 sessions, one fair_mutex, 1 ms of delay each way", "sessions_20", "rate", "hand-offs/s", ("floor", "latchkey", "curator"), route="delayed", targets=(
        Target("at least 1.5 x Curator", "rate", ">=", 1.5, "curator"),)),
    Row("eight_sessions_uneven", "8 sessions, one fair_mutex, held for 1 ms, at times for 50 ms", "eight_sessions_uneven", "rate", "hand-offs/s", ("latchkey",)),
    Row("eight_sessions_leaving", "8 sessions, one fair_mutex, half of them give up after 1 to 20 ms", "eight_sessions_leaving", "rate", "hand-offs/s", ("latchkey",), route="delayed"),
    Row("elections_8", "8 sessions, one election", "elections_8", "rate", "hand-overs/s", ("latchkey", "curator"), counted=True, targets=(
        Target("as a mutex's: at least 0.9 x the rate of 8 sessions with one fair_mutex", "rate", ">=", 0.9, row="eight_sessions", own=True),
        Target("at least 1.0 x Curator's LeaderLatch", "rate", ">=", 1.0, "curator"))),
    Row("one_lock_64", "64 fibers of one session, one fair_mutex", "one_lock_64", "rate", "hand-offs/s", four, counted=True, targets=(
        Target("at least 20 x Curator", "rate", ">=", 20, "curator"),
        Target("ahead of the floor, which has no local neighbours", "rate", ">=", 1.0, "floor"))),
    Row("three_locks", "three free locks together, lock + unlock", "three_locks", "rate", "cycles/s", ("latchkey", "curator"), counted=True, targets=(
        Target("at most 0.45 x the time of Curator's InterProcessMultiLock", "rate", ">=", 1 / 0.45, "curator"),
        Target("two transactions and three lists", "requests_per_cycle", "<=", 5.05))),
    Row("convoy_1", "8 sessions, each takes 1 of 16 locks at random", "convoy_1", "rate", "groups/s", ("latchkey",), also=("locks_per_second",)),
    Row("convoy_2", "the same, 2 of 16 together", "convoy_2", "rate", "groups/s", ("latchkey",), also=("locks_per_second",)),
    Row("convoy_4", "the same, 4 of 16", "convoy_4", "rate", "groups/s", ("latchkey",), also=("locks_per_second",)),
    Row("convoy_8", "the same, 8 of 16", "convoy_8", "rate", "groups/s", ("latchkey",), also=("locks_per_second",)),
    Row("turns_64", "64 fibers of one session, one mutex, nobody outside", "turns_64", "rate", "turns/s", ("latchkey",), counted=True, targets=(
        Target("at least 300 000 turns/s", "rate", ">=", 300_000),)),
    Row("turns_64_outside", "the same with 8 contenders outside: the longest wait", "turns_64_outside", "longest_wait_in_turns", "turns", ("latchkey",),
        also=("rate", "grants_outside"), targets=(
        Target("nobody outside waits for more than 16 turns", "longest_wait_in_turns", "<=", 16),)),
    Row("coroutine_turns_64", "64 coroutines of one io_context, one mutex", "coroutine_turns_64", "rate", "turns/s", ("latchkey",), targets=(
        Target("at least 500 000 turns/s", "rate", ">=", 500_000),)),
    Row("pool_turns_64", "the same with calls that block 64 threads of a pool", "pool_turns_64", "rate", "turns/s", ("latchkey",)),
    Row("coroutines_10000", "10 000 waiting coroutines: memory of one, without its frame", "coroutines_10000", "bytes_per_waiter", "bytes", ("latchkey",), most_rounds=3, targets=(
        Target("at most 1 KiB a coroutine", "bytes_per_waiter", "<=", 1024),)),
    Row("own_locks_256", "256 fibers of one session, a lock each", "own_locks_256", "rate", "cycles/s", five, counted=True, targets=(
        Target("at least 0.95 x the floor", "rate", ">=", 0.95, "floor"),
        Target("at least 1.25 x Curator", "rate", ">=", 1.25, "curator"))),
    Row("keys_256", "256 fibers of one session, a random key of 100 000 each", "keys_256", "rate", "cycles/s", ("latchkey", "curator"), counted=True, targets=(
        Target("at least 0.9 x a lock each", "rate", ">=", 0.9, row="own_locks_256", own=True),)),
    Row("random_keys_256", "the same, another random key in every cycle", "random_keys_256", "rate", "cycles/s", ("latchkey", "curator"), counted=True),
    Row("try_held", "try on a held lock", "try_held", "rate", "tries/s", five, counted=True, targets=(
        Target("one read", "requests_per_cycle", "<=", 1.01),
        Target("at least 4 x Curator", "rate", ">=", 4, "curator"))),
    Row("readers_32", "32 readers of one shared_mutex", "readers_32", "rate", "cycles/s", ("latchkey", "curator", "kazoo"), counted=True, targets=(
        Target("at least 1000 x Curator", "rate", ">=", 1000, "curator"),)),
    Row("relock", "lock + unlock again, linger on, nobody waiting", "relock", "median_ns", "ns", ("latchkey", "redis"), counted=True, targets=(
        Target("median at most 1 us", "median_ns", "<=", 1000),
        Target("no request", "requests_but_proofs", "<=", 0),
        Target("ahead of Redis by 20 x", "median_ns", "<=", 1 / 20, "redis"))),
    Row("locked_write", "lock, write to ZooKeeper, release", "locked_write", "rate", "cycles/s", ("floor", "latchkey", "curator"), counted=True, targets=(
        Target("at most 0.75 x the time of three calls of the C client", "rate", ">=", 1 / 0.75, "floor"),
        Target("at most 0.75 x the time of three calls of Curator", "rate", ">=", 1 / 0.75, "curator"),
        Target("two writes and one read", "requests_per_cycle", "<=", 3.05))),
    Row("locked_write_delayed", "the same, 1 ms of delay each way", "locked_write", "rate", "cycles/s", ("floor", "latchkey", "curator"), route="delayed", targets=(
        Target("at most 0.75 x the time of three calls of the C client", "rate", ">=", 1 / 0.75, "floor"),)),
    Row("permit_free", "a free permit of a semaphore, taken and given back", "permit_free", "rate", "cycles/s", ("latchkey", "curator"), counted=True, targets=(
        Target("at most 0.45 x Curator's time", "rate", ">=", 1 / 0.45, "curator"),)),
    Row("permits_8", "8 sessions, one semaphore of 2 permits", "permits_8", "rate", "hand-offs/s", ("latchkey", "curator"), counted=True, targets=(
        Target("at least 3 x Curator", "rate", ">=", 3, "curator"),)),
    Row("permit_turns", "64 fibers of one session, one semaphore of 2 permits, nobody outside", "permit_turns", "rate", "turns/s", ("latchkey",), counted=True, targets=(
        Target("at least 300 000 turns/s", "rate", ">=", 300_000),)),
    Row("hand_off_10", "hand-off, 10 waiters of one process", "hand_off_10", "us_per_hand_off", "us", ("floor", "latchkey"), also=beside_hand_offs),
    Row("hand_off_100", "hand-off, 100 waiters", "hand_off_100", "us_per_hand_off", "us", ("floor", "latchkey"), also=beside_hand_offs),
    Row("hand_off_1000", "hand-off, 1000 waiters", "hand_off_1000", "us_per_hand_off", "us", ("floor", "latchkey"), also=beside_hand_offs),
    Row("hand_off_10000", "hand-off, 10 000 waiters", "hand_off_10000", "us_per_hand_off", "us", ("latchkey",), also=beside_hand_offs, targets=(
        Target("of 10, 100, 1000, 10 000 waiters: within 20 % of each other", "us_per_hand_off", "<=", 1.2, rows=hand_offs),)),
    Row("processes_20", "hand-off, 20 waiters in 20 processes", "processes:1", "us_per_hand_off", "us", ("latchkey", "direct"), processes=True),
    Row("processes_20_delayed", "the same, 1 ms of delay each way", "processes:1", "us_per_hand_off", "us", ("latchkey", "direct"), route="delayed", processes=True),
    Row("processes_1000", "hand-off, 1000 waiters in 20 processes", "processes:50", "us_per_hand_off", "us", ("latchkey",), processes=True, targets=(
        Target("at most 1.5 x that of 20 waiters", "us_per_hand_off", "<=", 1.5, row="processes_20", own=True),)),
    Row("robust", "a robust_mutex, lock + unlock, beside Curator's plain mutex", "robust", "rate", "cycles/s", ("latchkey", "curator"), counted=True, targets=(
        Target("at least 1.2 x Curator", "rate", ">=", 1.2, "curator"),
        Target("two transactions, but for calls that come too late", "requests_per_cycle", "<=", 2.5))),
    Row("robust_delayed", "the same, 1 ms of delay each way", "robust", "rate", "cycles/s", ("latchkey", "curator"), route="delayed", targets=(
        Target("at least 1.2 x Curator", "rate", ">=", 1.2, "curator"),)),
    Row("crash", "a holder is killed and started again, T = 10 s: until the next grant", "crash", "ms_to_next_grant", "ms", ("latchkey", "curator"), length=10,
        most_rounds=3, processes=True, also=("ms_at_most", "passes"), targets=(
        Target("less than 100 ms", "ms_to_next_grant", "<=", 100),
        Target("each time less than 500 ms", "ms_at_most", "<=", 500),
        Target("at most 0.02 x Curator, whose lock is free after T", "ms_to_next_grant", "<=", 0.02, "curator"))),
    Row("idle_10000", "10 000 idle waiters: memory of one, without its stack", "idle_10000", "bytes_per_waiter", "bytes", ("latchkey",), length=6, most_rounds=3, alone=True,
        also=("threads_per_client", "threads_for_the_waiters", "cpu_us_per_second", "cpu_us_median_slice", "slices_without_cpu"), targets=(
        Target("at most 1 KiB a waiter", "bytes_per_waiter", "<=", 1024),
        Target("at most 4 threads a client", "threads_per_client", "<=", 4),
        Target("no thread for a waiter", "threads_for_the_waiters", "<=", 0),
        Target("no CPU between proofs: less than 50 us in the median slice of 100 ms", "cpu_us_median_slice", "<=", 50))),
)
