# SPDX-License-Identifier: GPL-2.0
"""The conformance suite on each back end of run_backend.py."""
import os
import shutil
import sys

import pytest
import run_backend
from building import TOP, built

SCRIPT = os.path.join(TOP, "tests/drivers/conformance/run_backend.py")
LONG = [pytest.mark.long, pytest.mark.timeout(7200)]
# In fuse-replaced-calls a call ends with EINTR now and then if many threads want each processor
# (docs/SECURITY.md).
DAEMONS = [pytest.param("engine", marks=[pytest.mark.check, pytest.mark.computing]),
           pytest.param("fuse", marks=pytest.mark.check),
           "fuse-plain", "fuse-bound", "fuse-replaced",
           pytest.param("fuse-bound-plain", marks=LONG),
           pytest.param("fuse-replaced-calls", marks=LONG)]
# Of a group, each commit has another one in CI.
MACHINES = {
    "stock drivers": ["ref", "ref-newest", "stock"],
    "kernels": ["module-6.1", "module-6.12-rt", "module-newest"],
    "locking modes": ["module-global", "module-nopreempt"],
}


def run(suite, name, *options, timeout=3700):
    """Runs the suite there."""
    suite([sys.executable, SCRIPT, name, *options], timeout=timeout)


@pytest.mark.takes(25)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", DAEMONS)
def test_daemon(program, suite, backend):
    where = run_backend.BACKENDS.get(backend)
    for name in ("anybinder-conformance", "anybinderd") if where else ("conformance-engine",):
        program(name)
    run(suite, backend, timeout=7000 if where and "calls" in backend else 800)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_daemon_with_musl(program, suite):
    """With musl, another C library."""
    directory = os.path.dirname(built("build/musl/bin/anybinderd", "musl-daemon"))
    shutil.copy(program("anybinder-conformance"), directory)
    suite([sys.executable, SCRIPT, "fuse"], timeout=800, env={"ANYBINDER_BIN": directory})


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(1, 17))
def test_hand_over_before_each_step(program, suite, part):
    """In parts, on a daemon each: the steps are more than the servers that a mount can have."""
    program("anybinder-conformance")
    program("anybinderd")
    run(suite, "fuse-replaced-long", "--part", f"{part}/16")


@pytest.mark.vm
@pytest.mark.takes(200)
@pytest.mark.timeout(3800)
@pytest.mark.parametrize("backend", ["module", "module-restricted", *(
    pytest.param(name, marks=pytest.mark.turn(f"conformance, {group}"))
    for group, names in MACHINES.items() for name in names)])
def test_kernel(program, machine, suite, backend):
    program("anybinder-conformance")
    where = run_backend.backend(backend)
    machine(where.kernel, driver=where.driver)    # builds the module
    run(suite, backend)
