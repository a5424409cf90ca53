# SPDX-License-Identifier: GPL-2.0
"""Rounds of `anybinder bench alloc` on one machine; bench/vm/alloc says what is measured."""
import json
import os
import sys

import machine as vm

ANYBINDER = os.path.join(vm.TOP, "build", "bin", "anybinder")
URGENT = "fifo:99"
# The load is much more urgent than the least urgent client, so that a client preempted while it
# holds a lock waits long for the processor.
LOAD_NICE = -10
CALM_MS = 500
# The clock jumps to the next timer whenever the guest is idle, also while it waits for a file of
# the host: on a busy host minutes pass for it while a program is loaded. Something that never
# sleeps, of the lowest priority there is, makes its time a number of instructions.
NEVER_IDLE = "(while :; do :; done) & chrt --idle --pid 0 $! && "
# Of guest time: a part of a round that takes longer hangs, however busy the host is.
PART_LIMIT_S = 60
# Of wall time, in which a busy host executes that many instructions.
ROUND_LIMIT_S = 1800


def round_of(label, number, duration_ms):
    """A shell command: clients undisturbed, then under reclaim; prints a document for each."""
    common = (f"timeout --verbose -k 5 {PART_LIMIT_S} {ANYBINDER} --json bench alloc "
              f"--device '{label}=/dev/binder' --server-sched fifo:98")
    return (f"read -r up _ </proc/uptime && echo '{label}: round {number} begins at guest second' "
            f"$up >&2 && {common} --no-reclaim --load 0 --duration-ms {CALM_MS} && "
            f"{common} --load-nice {LOAD_NICE} --duration-ms {duration_ms}")


def documents(text):
    """The run in each of several JSON documents in a row."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        while at < len(text) and text[at].isspace():
            at += 1
        yield document["runs"][0]


def measure(name, kernel, driver, rounds, duration_ms):
    """Boots once; returns the runs of @rounds rounds: (undisturbed, under reclaim)."""
    label = f"{driver} {kernel}"
    print(f"{label} ...", file=sys.stderr, flush=True)
    script = NEVER_IDLE + " && ".join(
        round_of(label, number + 1, duration_ms) for number in range(rounds))
    text = vm.boot(
        f"{name}: {label}", kernel,
        ["--driver", driver, "--icount", *vm.PREEMPTIBLE,
         "--timeout", str(rounds * ROUND_LIMIT_S)], ["/bin/sh", "-c", script])
    runs = list(documents(text))
    return runs[::2], runs[1::2]


def sum_of(classes):
    """The figures of one class over all rounds."""
    calls = sum(one["calls"] for one in classes)
    counts = {}
    for one in classes:
        for value, count in one["histogram_ns"]:
            counts[value] = counts.get(value, 0) + count
    return {
        "class": classes[0]["class"],
        "calls": calls,
        "min_us": min(one["min_us"] for one in classes),
        "avg_us": sum(one["avg_us"] * one["calls"] for one in classes) / calls,
        "max_us": max(one["max_us"] for one in classes),
        "histogram_ns": sorted(counts.items()),
    }


def save(path, runs):
    """Writes the figures of one machine over all rounds as one run."""
    run = dict(runs[0], reclaims=sum(one["reclaims"] for one in runs),
               duration_ms=sum(one["duration_ms"] for one in runs))
    run["classes"] = [sum_of(classes) for classes in zip(*(one["classes"] for one in runs))]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"bench": "alloc", "runs": [run]}, file)


def of_urgent(runs, what):
    return [next(one[what] for one in run["classes"] if one["class"] == URGENT) for run in runs]
