# SPDX-License-Identifier: Apache-2.0
"""`anybinder fuzz`: random calls find what kills a service, and say which call it is."""
import pathlib
import shlex
import subprocess
import sys

import pytest

import fragile
from peers import AIDL, PEER, TOP, contains

NAME = "fragile"


@pytest.fixture(name="fuzz")
def make_fuzz(bus):
    """Runs the command on a service that breaks in some way; returns its exit status and output."""
    pathlib.Path(bus.scratch, "test").mkdir()
    pathlib.Path(bus.scratch, "test/IFragile.aidl").write_text(fragile.AIDL, encoding="utf-8")

    def run(how, *words):
        command = [sys.executable, fragile.__file__, bus.path(), NAME, how]
        done = bus.execute(bus.program, "fuzz", NAME, "--aidl", bus.scratch, *words, "--", *command,
                           environment={"PYTHONPATH": str(TOP / "python")})
        return done.returncode, done.stdout + done.stderr
    return run


def test_a_call_that_kills_is_named(bus, fuzz):
    status, output = fuzz("kill", "--seed", "3")
    assert status == 1, output
    contains(output, "death")
    line = next(one for one in output.splitlines() if one.startswith("anybinder call"))
    words = shlex.split(line)[1:]
    # As short as it can be: no texts, if it is of its types.
    assert NAME in words and ("[]" in words or "u32" in words), line
    command = [sys.executable, fragile.__file__, bus.path(), NAME, "kill"]
    path = {"PYTHONPATH": str(TOP / "python")}
    with subprocess.Popen(command, env={**bus.environment, **path}) as it:
        bus.wait_for(NAME)
        assert bus.execute(bus.program, *words).returncode == 7
        assert it.wait(30) == 1
    again = fuzz("kill", "--seed", "3")[1]
    assert line in again


@pytest.mark.parametrize("how, found", [("block", "hang"), ("grow", "growth"), ("stay", None)])
def test_what_else_is_found(fuzz, how, found):
    status, output = fuzz(how, "--patience", "1", "--calls", "400")
    assert (status, f": {found}, by" in output) == ((1, True) if found else (0, False)), output
    if not found:
        contains(output, "400 calls of 3 methods: no death, no hang, no growth")


def test_what_cannot_be_fuzzed(bus):
    contains(bus.run("fuzz", PEER, status=2), "give --aidl DIR")
    contains(bus.run("fuzz", "no.such", "--aidl", AIDL, status=6), "No service")
    contains(bus.run("fuzz", PEER, "--aidl", bus.scratch, status=1), "there is no .aidl file")
