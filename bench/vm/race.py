# SPDX-License-Identifier: GPL-2.0
"""
Round trips per second of several drivers on two CPUs, each in a machine of its own, in turn.

Wall time under emulation on a shared host means little by itself, so three things are done for a
ratio. The drivers measure in slices within seconds of each other, and a ratio is of one round of
slices. A round begins when nothing else runs on the host. A cell is repeated until the confidence
interval of its median is narrow; one that stays wide has no figure.
"""
import contextlib
import itertools
import math
import statistics
import sys
import time

from machine import cell
from turns import Turns

PAIRS = (1, 2, 4, 8, 16)
SIZES = (0, 4096)
# With fewer than 6 rounds no interval of the median has 95 %.
MIN_ROUNDS, MAX_ROUNDS = 6, 40
# The upper end of an interval by its lower one.
NARROW = 1.10
CONFIDENCE = 0.95
# Of wall time, for the machines.
LIMIT_S = 7200
# A host is idle if so much of its processor time is, for so long; after the limit it is taken as
# it is.
IDLE_SHARE, IDLE_S, IDLE_LIMIT_S = 0.9, 0.3, 30


def key_of(pairs, size):
    """As keys are in a file."""
    return f"{pairs} {size}"


KEYS = {key_of(pairs, size): (pairs, size) for pairs in PAIRS for size in SIZES}


def processor_times():
    """(idle, all) of the host since it was started."""
    with open("/proc/stat", encoding="ascii") as file:
        times = [int(word) for word in file.readline().split()[1:9]]
    return times[3] + times[4], sum(times)


def wait_idle():
    """Sleeps until the host is idle, all machines being so. False if it never was."""
    end_s = time.monotonic() + IDLE_LIMIT_S
    while time.monotonic() < end_s:
        idle, total = processor_times()
        time.sleep(IDLE_S)
        later, later_total = processor_times()
        if later - idle >= IDLE_SHARE * (later_total - total):
            return True
    return False


def interval(values):
    """
    (median, lower end, upper end) of the median's confidence interval, which is between two of the
    sorted @values: outliers do not move it, and no distribution is assumed.
    """
    values, count = sorted(values), len(values)
    below = outside = 0
    for number in range(count // 2):
        outside += 2 * math.comb(count, number) / 2 ** count
        if outside > 1 - CONFIDENCE:
            break
        below = number
    return statistics.median(values), values[below], values[count - 1 - below]


def ratios(of, name, base):
    """Those of driver @name to @base within each round; @of: {driver: figure of each round}."""
    return [figure / other for figure, other in zip(of[name], of[base])]


def is_narrow(values):
    _, low, high = interval(values)
    return len(values) >= MIN_ROUNDS and high <= NARROW * low


def text_of(values):
    """The median of ratios with its interval, or that there is none."""
    middle, low, high = interval(values)
    if is_narrow(values):
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return f"not measured ({low:.2f} to {high:.2f})"


def is_done(of, base):
    """Whether a cell needs no further round."""
    rounds = len(of[base])
    return rounds >= MAX_ROUNDS or rounds >= MIN_ROUNDS and \
        all(is_narrow(ratios(of, name, base)) for name in of if name != base)


def run(kernel, drivers, program, duration_ms, speeds, keep=lambda: None):
    """
    Measures what is missing in @speeds, {key: {driver: figure of each round}}, in place.

    @drivers: name -> driver of vm/run; the first is what the others are compared with
    @duration_ms: of a slice
    @keep: called after each round
    """
    names = list(drivers)
    for key in KEYS:
        speeds.setdefault(key, {name: [] for name in names})
    with contextlib.ExitStack() as stack:
        machines = {name: stack.enter_context(Turns(f"race: {name}", kernel, driver, program,
                                                    LIMIT_S))
                    for name, driver in drivers.items()}
        for number in itertools.count():
            left = [key for key, of in speeds.items() if not is_done(of, names[0])]
            if not left:
                return
            print(f"race: round {number + 1}, {len(left)} of {len(KEYS)} cells",
                  file=sys.stderr, flush=True)
            busy = 0
            for key in left:
                busy += not wait_idle()
                found = {name: machines[name].measure(
                    cell("binder", "/dev/binder", *KEYS[key], duration_ms))["calls_per_s"]
                    for name in (names if number % 2 else names[::-1])}
                for name, figure in found.items():
                    speeds[key][name].append(figure)
            if busy:
                print(f"race: the host was busy at {busy} cells", file=sys.stderr, flush=True)
            keep()


def summary(speeds, name, base):
    """The geometric mean of the medians of the cells that have a figure; None if none has."""
    logs = [math.log(statistics.median(found)) for found in
            (ratios(of, name, base) for of in speeds.values()) if is_narrow(found)]
    return math.exp(statistics.mean(logs)) if logs else None



def self_test():
    """The ends of intervals are those of the tables of the sign test."""
    for count, below in ((3, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (40, 13)):
        assert interval(range(count))[1:] == (below, count - 1 - below), count
    assert text_of([1.3] * 5 + [1.39]) == "1.30 (1.30 to 1.39)"
    assert text_of([1.3] * 5) == "not measured (1.30 to 1.30)"
    assert text_of([1.3] * 5 + [1.5]) == "not measured (1.30 to 1.50)"
    # Two outliers of 15 do not matter.
    assert text_of([1.3] * 12 + [1.39, 3.0, 0.2]) == "1.30 (1.30 to 1.30)"
    steady, wide = {"C": [10] * 6, "module": [13] * 6}, {"C": [10] * 6, "module": [13] * 5 + [20]}
    assert is_done(steady, "C") and not is_done(wide, "C")
    assert round(summary({"1 0": steady, "2 0": wide}, "module", "C"), 6) == 1.3
    print("race: 1 passed, 0 failed")


if __name__ == "__main__":
    self_test()
