# SPDX-License-Identifier: GPL-2.0
"""`anybinder bench stages` on the module.

The times mean nothing in an emulated machine, but the results must be consistent: every round trip
passes all stages in order, and the summary matches the rows.
"""
import json
import math
import os
import subprocess

import pytest

DEVICE = "/dev/binderfs/binder"
ROUNDS, CALLS = 2, 200
STAGES = ("C_SEND K_IOC K_WR_IN K_ENQ K_DEQ K_COPY S_RECV "
          "S_REPLY K_IOC K_WR_IN K_ENQ K_DEQ K_COPY C_RECV C_EXIT").split()
STEPS = [f"{a} to {b}" for a, b in zip(STAGES, STAGES[1:])]


def measure(program, directory):
    """Returns (the document, its rows)."""
    printed = json.loads(subprocess.run(
        [program("anybinder"), "bench", "stages", "--device", DEVICE, "--json",
         "-n", str(CALLS), "--rounds", str(ROUNDS), "--output", directory],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert printed["stages"] == STAGES, printed["stages"]
    with open(directory + "/stages.json", encoding="utf-8") as file:
        assert json.load(file) == printed, "stages.json is not what --json prints"
    return printed, [[number, *times] for number, times in printed["rows"]]


def same(figure, wanted):
    return math.isclose(figure, wanted, rel_tol=1e-6, abs_tol=1e-6)


def checks(document, rows):
    """Yields (name, whether it holds, why not)."""
    steps, times = document["steps"], [row[1:] for row in rows]
    wanted = ROUNDS * CALLS
    yield ("every_round_trip_is_whole", len(rows) == document["complete"] == wanted,
           f"{len(rows)} rows, {document['complete']} complete of {wanted}")
    yield ("every_round_has_rows", [row[0] for row in rows] ==
           [n for n in range(ROUNDS) for _ in range(CALLS)], "rows of other rounds")
    late = [row for row in times if row[0] != 0 or row != sorted(row)]
    yield "stages_are_passed_in_order", not late, f"{late[:1]}"
    yield ("all_steps_are_listed", [step["step"] for step in steps] == STEPS,
           f"{[step['step'] for step in steps]}")
    means = [sum(row[i + 1] - row[i] for row in times) / len(times) / 1000
             for i in range(len(STEPS))]
    yield ("averages_are_those_of_the_rows",
           all(same(step["avg_us"], mean) for step, mean in zip(steps, means)), f"{means}")
    whole = sum(row[-1] for row in times) / len(times) / 1000
    total = sum(step["avg_us"] for step in steps)
    yield "steps_add_up_to_the_round_trip", same(total, whole), f"{total} of {whole} us"
    shares = sum(step["share"] for step in steps)
    yield "shares_add_up", same(shares, 1), f"{shares}"
    cost = [document[key] for key in ("without_recording_us", "with_recording_us",
                                      "recording_ratio")]
    yield "measured_without_recording_too", all(each and each > 0 for each in cost), f"{cost}"


@pytest.mark.parametrize("kernel", [
    pytest.param(kernel, marks=[pytest.mark.turn("stages", kernel), pytest.mark.vm(
        kernel, driver="module", timeout=400,
        needs=["build/bin/anybinder", "build/bin/bench-ipc"])]) for kernel in ("6.12", "6.1")])
def test_stages(program, scratch, case, kernel):    # pylint: disable=unused-argument
    for name, good, why in checks(*measure(program, scratch)):
        case(name, good, why)
    left = os.listdir("/sys/kernel/tracing/instances")
    case("no_trace_is_left", not left, f"{left}")
