# SPDX-License-Identifier: GPL-2.0
"""
Round trips per second of several drivers on two CPUs, each in a machine of its own, in turn.

Wall time under emulation on a shared host means little by itself, so three things are done for a
ratio. The drivers measure in slices within seconds of each other, and a ratio is of one round of
slices. A round begins when nothing else runs on the host. A cell is repeated until its mean is
known to within 10 %; one that stays worse has no figure.
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
MIN_ROUNDS, MAX_ROUNDS = 6, 80
# How far the ends of the interval may be from the mean.
WITHIN = 1.10
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
    """(geometric mean, lower end, upper end) of the mean's 95 % confidence interval."""
    logs = [math.log(value) for value in values]
    mean, error = statistics.mean(logs), 0.0
    if len(logs) > 1:
        error = statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(mean + by * error) for by in (0, -2, 2))


def ratios(of, name, base):
    """Those of driver @name to @base within each round; @of: {driver: figure of each round}."""
    return [figure / other for figure, other in zip(of[name], of[base])]


def is_known(values):
    middle, _, high = interval(values)
    return len(values) >= MIN_ROUNDS and high <= WITHIN * middle


def text_of(values):
    """The mean of ratios with its interval, or that there is none."""
    middle, low, high = interval(values)
    if is_known(values):
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return f"not measured ({low:.2f} to {high:.2f})"


def is_done(of, base):
    """Whether a cell needs no further round."""
    rounds = len(of[base])
    return rounds >= MAX_ROUNDS or rounds >= MIN_ROUNDS and \
        all(is_known(ratios(of, name, base)) for name in of if name != base)


def run(kernel, drivers, duration_ms, speeds, keep=lambda: None, sizes=SIZES):
    """
    Measures what is missing in @speeds, {key: {driver: figure of each round}}, in place.

    @drivers: name -> options of vm/run; the first is what the others are compared with
    @duration_ms: of a slice
    @keep: called after each round
    """
    names = list(drivers)
    for key, (_, size) in KEYS.items():
        if size in sizes:
            speeds.setdefault(key, {name: [] for name in names})
    with contextlib.ExitStack() as stack:
        machines = {name: stack.enter_context(Turns(name, kernel, options, LIMIT_S))
                    for name, options in drivers.items()}
        for number in itertools.count():
            left = [key for key, of in speeds.items() if not is_done(of, names[0])]
            if not left:
                return
            print(f"race: round {number + 1}, {len(left)} of {len(speeds)} cells",
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
    """The geometric mean of the cells that have a figure; None if none has."""
    found = [ratios(of, name, base) for of in speeds.values()]
    means = [interval(one)[0] for one in found if is_known(one)]
    return statistics.geometric_mean(means) if means else None


def self_test():
    # The logarithms have the standard deviation ln(1.2); their mean, of nine, a third of it.
    even = [1.0, 1.44] * 4 + [1.2]
    assert [round(one, 3) for one in interval(even)] == [1.2, 1.063, 1.355]
    assert text_of(even) == "not measured (1.06 to 1.36)"
    assert text_of([1.3] * 6) == "1.30 (1.30 to 1.30)"
    assert text_of([1.3] * 5) == "not measured (1.30 to 1.30)"
    steady, wide = {"C": [10] * 6, "module": [13] * 6}, {"C": [10] * 6, "module": [13] * 5 + [26]}
    assert is_done(steady, "C") and not is_done(wide, "C")
    assert round(summary({"1 0": steady, "2 0": wide}, "module", "C"), 6) == 1.3
    print("race: 1 passed, 0 failed")


if __name__ == "__main__":
    self_test()
