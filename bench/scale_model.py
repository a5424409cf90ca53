#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Throughput of each locking mode with more cores: a model, not a measurement.

A round trip is work for one core at a time: client and server of a pair alternate. A share of that
work is inside the driver, under the lock that the locking mode has. Pairs share cores, the mutex
of the mode, and some cache lines; each of these serves one pair at a time, so throughput is the
least of their asymptotic bounds. The assumptions are the constants below; see
docs/PERFORMANCE.md. Iterations are scaled so that one pair with fine-grained locking has the
figure that was published for it in 2017.
"""
import argparse

PUBLISHED_CORES = 4
PUBLISHED = {  # pairs: iterations/s of (global mutex, global without preemption, fine-grained)
    1: (4267, 69688, 52313), 2: (5608, 111346, 117039), 4: (12839, 118049, 189805),
    8: (12991, 111780, 203607), 16: (14467, 106763, 202942),
}
LOCKING_MODES = ("global", "global-nopreempt", "fine")

# Of a round trip's instructions (bench-vm --profile): inside the driver, copies included.
DRIVER_SHARE = 0.40
# The cost of sleeping on a contended mutex and being woken, in units of a round trip, and the
# number of entries into the driver in a round trip.
SLEEP_COST = 0.25
ENTRIES = 5
# The cost of a cache line that another core wrote last, in units of a round trip (60 ns of 19 us).
LINE_COST = 0.003
# The daemon, in units of its round trip on one core (bench cores: 45 us). A wake-up to a core that
# is idle, and one to a core that is busy, each with what it delays there.
IDLE_WAKE_COST = 0.22
BUSY_WAKE_COST = 0.22
# Wake-ups of a call that leave the core, measured: by pairs that have idle cores, and else.
IDLE_WAKES, BUSY_WAKES = 3.0, 0.17
# 60 ns of 45 us.
DAEMON_LINE_COST = 0.0013
# Lines of the one FUSE connection, and how often a call of three requests writes them.
DAEMON_LINES = {"queue of requests": 9, "lists of read requests": 6, "count of the connection": 6,
                "use of its file": 12, "transaction numbers": 2 / 32, "log position": 2 / 16}

# Lines that pairs share, and how often each is written in a round trip: numbers are taken in blocks
# of 32, and the log has 16 rings.
SHARED_LINES = {"transaction numbers": 2 / 32, "log position": 2 / 16}


def throughput(locking, pairs, cores):
    """Round trips in the time of one undisturbed round trip."""
    running = min(pairs, cores)
    elsewhere = 1 - 1 / running  # the probability that another core wrote a line last
    lines = {name: writes * LINE_COST * elsewhere for name, writes in SHARED_LINES.items()}
    work = 1 + sum(lines.values())
    held = DRIVER_SHARE + sum(lines.values())
    bounds = [running / work] + [1 / cost for cost in lines.values() if cost]
    if locking == "global":
        busy = min(1, (running - 1) * held / work)
        sleeps = ENTRIES * SLEEP_COST * busy
        bounds += [1 / (held + sleeps), running / (work + sleeps)]
    elif locking == "global-nopreempt":
        bounds.append(1 / held)
    return min(bounds)


def daemon_throughput(pairs, cores):
    """Calls in the time of one call on one core, and what bounds them."""
    running = min(pairs, cores)
    elsewhere = 1 - 1 / running
    lines = {name: writes * DAEMON_LINE_COST * elsewhere for name, writes in DAEMON_LINES.items()}
    is_idle = pairs < cores
    wakes = IDLE_WAKES * IDLE_WAKE_COST if is_idle else BUSY_WAKES * BUSY_WAKE_COST * elsewhere
    bounds = {"pairs" if is_idle else "cores": running / (1 + wakes + sum(lines.values()))}
    bounds.update({name: 1 / cost for name, cost in lines.items() if cost})
    bound = min(bounds, key=bounds.get)
    return bounds[bound], bound


def print_daemon(cores):
    print(f"{cores} cores: calls/s of the daemon by those of one pair on one core, and the bound")
    for pairs in sorted({1, 2, 4, cores // 2, cores, 2 * cores}):
        times, bound = daemon_throughput(pairs, cores)
        print(f"{pairs:>5} {times:>7.2f}  {bound}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=PUBLISHED_CORES, help="(%(default)s)")
    parser.add_argument("--daemon", action="store_true", help="the daemon, not the module")
    args = parser.parse_args()
    if args.daemon:
        print_daemon(args.cores)
        return
    scale = PUBLISHED[1][2]
    print(f"{args.cores} cores, iterations/s: the model "
          f"(published for {PUBLISHED_CORES} cores)")
    print(f"{'pairs':>5}" + "".join(f"{mode:>28}" for mode in LOCKING_MODES))
    for pairs, published in PUBLISHED.items():
        cells = (f"{scale * throughput(mode, pairs, args.cores):.0f} ({was})"
                 for mode, was in zip(LOCKING_MODES, published))
        print(f"{pairs:>5}" + "".join(f"{cell:>28}" for cell in cells))


if __name__ == "__main__":
    main()
