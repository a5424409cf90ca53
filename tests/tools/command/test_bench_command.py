# SPDX-License-Identifier: Apache-2.0
"""`anybinder bench`: small measurements, as short as possible, and wrong uses."""
import json
import os
import signal

import pytest
from anybinder.process import until

FEW = "--pairs 1,2 --sizes 0,4k/0 --calls 50 --rounds 2"


@pytest.mark.parametrize("status, pattern, words", [
    (0, "^. binder *. *[0-9.]* . *[0-9.]*", f"throughput --peers binder,unix,pipe {FEW}"),
    (0, "NOTE: 64 pairs are more than the [0-9]* cores",
     "throughput --peers pipe --pairs 64 --sizes 0 --calls 2 --rounds 1"),
    (0, "NOTE: as few as 50 calls in a line: its p99 and",
     "throughput --peers pipe --pairs 1 --sizes 0 --calls 50 --rounds 1"),
    (0, "^. pipe", "throughput --peers pipe --pairs 2 --sizes 0 --measured 1 --rounds 2"),
    (2, "needs more than 2 pairs", "throughput --pairs 2,4 --measured 2"),
    (1, "There is no peer x", "throughput --peers x"),
    (2, "64q is not a size", "throughput --sizes 64q"),
    (2, "not in 1..=64", "throughput --pairs 65"),
    (2, "write it like LABEL=PATH", "throughput --device /dev/binder"),
    (1, "/nonexistent cannot be opened", "throughput --device x=/nonexistent"),
    (2, "not in 2..=10000", "memory --counts 1"),
    (2, "invalid value", "vm count --drivers x"),
    (2, "is not a policy", "alloc --classes other:20"),
    (2, "not in 1..=4000", "stages -n 5000"),
    (1, "No such file", "stages --device /nonexistent")],
    ids=lambda one: one if isinstance(one, str) else "")
def test_bench(absent, status, pattern, words):
    absent(status, pattern, "bench", *words.split())


def test_bench_of_a_heap_that_is_not_there(absent):
    if os.path.isdir("/sys/module/anybinder_heap"):
        pytest.skip("the module is loaded")
    absent(1, "and the module anybinder_heap", "bench", "heap", "--rounds", "1")


def test_bench_as_json(absent):
    text = json.dumps(absent.command.json("bench", "throughput", "--peers", "unix", *FEW.split()))
    assert '"request_bytes": 4096' in text


@pytest.fixture
def output(absent, scratch):
    """output(PATTERN, WORDS): runs a measurement, and returns what it writes, by file name."""
    def run(pattern, words):
        figures = os.path.join(scratch, "figures")
        absent(0, pattern, "bench", *words.split(), "--output", figures)
        found = {}
        for name in os.listdir(figures):
            with open(os.path.join(figures, name), encoding="utf-8") as file:
                found[name] = file.read()
            if name.endswith(".json"):
                json.loads(found[name])
        return found

    return run


def contains(text, *parts):
    for part in parts:
        assert part in text


def test_files_of_throughput(output):
    found = output("2 pairs, 4 KiB / 0 B", f"throughput --peers pipe {FEW}")
    contains(found["throughput.svg"], "duration of a call", "Note: as few as", "cores, Linux ")
    contains(found["throughput.json"], '"as few as', '"p99_9_us"')


def test_files_of_targets(output):
    found = output("targets met, 0 measurements failed", "targets --quick --peers pipe,binder "
                   "--rounds 1 --duration-ms 50")
    contains(found["targets.json"], '"comparisons"')
    contains(found["targets.svg"], "duration of a call")


def test_files_of_paths(output):
    found = output("^. bound file +[|] +[0-9.]+", "paths --rounds 1 --duration-ms 20")
    contains(found["paths.json"], '"ordinary user"', '"a file in it"', '"unpinned"')


def test_files_of_memory(output):
    found = output("^. buffer with a handle +[|] +[0-9]+", "memory --counts 20")
    contains(found["memory.json"], '"waiting call"', '"idle"')


def test_files_of_alloc(output):
    found = output("^. anybinderd other:19 ", "alloc --no-reclaim --duration-ms 50 "
                   "--rounds 1 --classes other:0,other:19 --clients 1")
    contains(found["alloc.svg"], "undisturbed")


def test_files_of_stages(output):
    found = output("^20 of 20 round trips.*1 KiB each way",
                   "stages -n 10 --rounds 2 --size 1k")
    contains(found["stages.json"], '"recording_ratio"', "K_ENQ to K_DEQ")
    assert len(json.loads(found["stages.json"])["rows"]) == 20


def test_an_interrupt_leaves_nothing(absent, scratch):
    directory = os.path.join(scratch, "tmp")
    os.mkdir(directory)
    with absent.command.started("bench", "throughput", "--peers", "binder,pipe", "--duration-ms",
                                "60000", env={**absent.command.environment, "TMPDIR": directory}
                                ) as bench:
        until(lambda: os.listdir(directory))
        bench.send_signal(signal.SIGTERM)
        said = bench.communicate()[0]
    assert bench.returncode == 130 and "Interrupted" in said, said
    assert not os.listdir(directory)
