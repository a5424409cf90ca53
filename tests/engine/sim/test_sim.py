# SPDX-License-Identifier: GPL-2.0
"""The simulator: the engine on the test host, whole worlds of simulated processes, one a seed. And
whether it finds bugs: one at a time is planted in a copy of one file of the engine, and seeds are
run until one of them fails; the search of all schedules finds what the first does not show."""
import os
import re
import subprocess

import anchors
import mutants
import pytest
from building import TOP, variable

pytestmark = pytest.mark.computing

SEEDS = 60000
# name of the bug: the world that shows it
SHOWN = {
    "a node is found and pinned without the lock": "object gone and sent",
    "a frozen process is called": "freeze and call",
    "a reply to a thread that has ended": "killed caller",
    "a call outlives its failure": "killed server",
}


@pytest.mark.takes(60)
@pytest.mark.parametrize("which, options", [
    pytest.param("", ["--seeds", "300", "--hand-over"], id="few", marks=pytest.mark.check),
    pytest.param("", ["--seeds", "10000", "--cover"], id="plain"),
    pytest.param("-asan", ["--seeds", "1000"], id="asan"),
    pytest.param("", ["--seeds", "10000", "--hand-over"], id="handed"),
    pytest.param("-asan", ["--seeds", "300", "--hand-over"], id="handed-asan"),
    pytest.param("", ["--seeds", "100000", "--hand-over"], id="handed-long",
                 marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
])
def test_sim(program, suite, which, options):
    """Every cover point must be reached; a hand-over must not be noticed."""
    suite([program(f"anybinder-sim{which}"), *options], timeout=3600)


@pytest.mark.takes(60)
def test_fields(program, suite):
    """The loss of each field of the state in a hand-over, in turn, must be found."""
    suite([program("anybinder-sim"), "--fields"], timeout=600)


@pytest.mark.takes(60)
@pytest.mark.parametrize("options", [
    pytest.param([], id="short"),
    pytest.param(["--long"], id="long", marks=[pytest.mark.long, pytest.mark.timeout(36000)])])
def test_exhaustive(program, suite, options):
    """Small worlds, each in every schedule."""
    suite([program("anybinder-sim-exhaustive"), *options], timeout=36000)


# ---- bugs that are planted -----------------------------------------------------------------------

def build(directory, name, compiler, objects, flags=()):
    """A program of @objects in @directory, one of them compiled anew with the bug @name in it."""
    try:
        source, text = mutants.plant(anchors.engine_functions(), *mutants.MUTANTS[name])
    except anchors.Missing as missing:
        pytest.fail(f"{missing}; correct it in tests/engine/sim/mutants.py", pytrace=False)
    planted, binary = directory / os.path.basename(source), directory / "mutant"
    planted.write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8")
    subprocess.run([*compiler, "-I", os.path.dirname(source), "-w", "-o", f"{planted}.o",
                    str(planted)], check=True, cwd=TOP)
    others = [path for path in objects if not path.endswith("/" + source[:-1] + "o")]
    assert len(others) == len(objects) - 1
    subprocess.run(["gcc", "-pthread", *flags, "-o", str(binary), f"{planted}.o", *others],
                   check=True, cwd=TOP)
    return str(binary)


def run(*argv):
    """The exit status and the output of a mutant."""
    done = subprocess.run(["nice", "-n19", *argv], check=False, text=True, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


@pytest.mark.takes(20)
@pytest.mark.parametrize("name", mutants.MUTANTS)
def test_seeds_find(program, tmp_path, name):
    program("anybinder-sim")
    binary = build(tmp_path, name, variable("SIM_COMPILE"), variable("SIM_OBJS"))
    status, output = run(binary, "--seeds", str(SEEDS), "--failures", "1")
    assert status and re.search(r"^not ok \d+ - seed \d+", output, re.M), "no seed fails"


@pytest.mark.takes(20)
@pytest.mark.parametrize("name", SHOWN)
def test_schedules_find(program, tmp_path, name):
    """Not in the very first schedule."""
    program("anybinder-sim-exhaustive")
    binary = build(tmp_path, name, variable("EXHAUSTIVE_COMPILE"), variable("EXHAUSTIVE_OBJS"),
                   ["-Wl,--wrap=calloc,--wrap=free"])
    status, output = run(binary, "--world", SHOWN[name])
    failing = re.search(r"--show (\d+)", output)
    assert status and failing and failing[1] != "0", output[-2000:]
