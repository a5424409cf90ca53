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
# Lines that all pairs write, and how often in a round trip.
SHARED_LINES = {"transaction numbers": 2, "log position": 2}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=PUBLISHED_CORES, help="(%(default)s)")
    args = parser.parse_args()
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
