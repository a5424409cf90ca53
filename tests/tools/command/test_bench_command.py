# SPDX-License-Identifier: Apache-2.0
"""`anybinder bench`: small measurements, as short as possible, and wrong uses."""
import json
import os
import signal

import pytest
from anybinder.process import until

FEW = "--pairs 1,2 --sizes 0,4k/0 --calls 50 --rounds 2"


@pytest.mark.parametrize("status, pattern, words", [
    (0, "^  binder  *[0-9.]* *[0-9.]*", f"throughput --peers binder,unix,pipe {FEW}"),
    (0, "^. pipe . ", f"throughput --peers pipe {FEW} --markdown"),
    (0, "NOTE: 64 pairs are more than the [0-9]* cores",
     "throughput --peers pipe --pairs 64 --sizes 0 --calls 2 --rounds 1"),
    (0, "NOTE: as few as 50 calls in a line: its p99 and",
     "throughput --peers pipe --pairs 1 --sizes 0 --calls 50 --rounds 1"),
    (0, "^  pipe", "throughput --peers pipe --pairs 2 --sizes 0 --measured 1 --rounds 2"),
    (2, "needs more than 2 pairs", "throughput --pairs 2,4 --measured 2"),
    (0, "^  pipe",
     "throughput --peers pipe --pairs 1 --sizes 0 --calls 9 --client-sched other:9"),
    (0, "^  binder-global",
     "throughput --peers binder,binder-global --pairs 1 --sizes 0 --calls 9"),
    (1, "There is no peer x", "throughput --peers x"),
    (2, "64q is not a size", "throughput --sizes 64q"),
    (2, "not in 1..=64", "throughput --pairs 65"),
    (2, "is not a list of CPUs", "throughput --cpu 1-0"),
    (1, "No process can run on CPU 1023", "throughput --peers pipe --cpu 1023"),
    (2, "is not a policy", "throughput --client-sched rr:3"),
    (2, "write it like LABEL=PATH", "throughput --device /dev/binder"),
    (1, "/nonexistent cannot be opened", "throughput --device x=/nonexistent"),
    (2, "is not a load", "handover --loads 5"),
    (2, "invalid value", "vm count --drivers x"),
    (0, "framework's share", "addints -n 50 -d 10 --rounds 2 --server-cpu 0"),
    (3, "Nothing is mounted", "addints -n 50 --here"),
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
        words = words.replace("FIGURES", figures)
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
    contains(found["throughput.svg"], "calls per second", "Note: as few as", "cores, Linux ",
             "logarithmic")
    contains(found["throughput.json"], '"as few as', '"p99_9_us"')


def test_files_of_targets(output):
    found = output("^  idle daemon, memory .* met", "targets --quick --peers pipe,binder "
                   "--rounds 1 --duration-ms 5 --clients 20")
    contains(found["targets.json"], '"behind"', '"memory"')
    contains(found["targets.svg"], "calls per second")


def test_files_of_hand_overs(output):
    found = output("worst pause", "handover --hand-overs 1 --loads 5:1:5")
    contains(found["handover.json"], '"pause_ms"', '"seen_ms"')


def test_files_of_addints(output):
    contains(output("^  framework ", "addints -n 50 --rounds 1")["addints.json"],
             '"framework_share"')


def test_files_of_alloc(output):
    found = output("^  anybinderd *other:19 ", "alloc --no-reclaim --duration-ms 50 "
                   "--classes other:0,other:19 --clients 1")
    contains(found["alloc.svg"], "anybinderd: duration of a call")


def test_files_of_stages(output):
    found = output("^20 of 20 round trips.*1 KiB each way",
                   "stages -n 10 --rounds 2 --size 1k --rows FIGURES.rows")
    contains(found["stages.json"], '"recording_ratio"')
    contains(found["stages.svg"], "K_ENQ to K_DEQ")


def test_rows_of_stages(absent, scratch):
    rows = os.path.join(scratch, "rows")
    absent(0, "^20 of 20", "bench", "stages", "-n", "10", "--rounds", "2", "--rows", rows)
    with open(rows, encoding="ascii") as file:
        lines = file.read().splitlines()
    assert lines[0].endswith("K_COPY\tC_RECV\tC_EXIT") and len(lines) == 21


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
