# SPDX-License-Identifier: Apache-2.0
"""`anybinder fuzz`: random calls find what kills a service, and say which call it is."""
import pathlib
import shlex
import sys

import pytest

from peers import AIDL, PEER, TOP, contains

NAME = "test.IFragile"
FRAGILE = """package test;
interface IFragile {
    int fine(int a, String text);
    int sharp(int a, in String[] texts);
    oneway void soon(boolean flag);
}
"""
# A service whose method `sharp` makes it grow.
GROWING = f"""
from anybinder.parcel import Parcel
from anybinder.service import Server
kept, result = [], Parcel().i32(0).i32(7)
server = Server(sys.argv[1], "{NAME}", {{
    1: result, 2: lambda call: kept.append(b"x" * (1 << 20)) or result, 3: b""}})
assert server.add("{NAME}") == 0
server.serve_until_killed()
"""


@pytest.fixture(name="fake")
def make_fake(bus):
    """The words of a service, which answers so."""
    pathlib.Path(bus.scratch, "test").mkdir()
    pathlib.Path(bus.scratch, "test/IFragile.aidl").write_text(FRAGILE, encoding="utf-8")
    return lambda *answers: [bus.program, "fake", "--aidl", bus.scratch, NAME, "fine=7", *answers]


def fuzz(bus, service, *words):
    """Runs the command on a service; returns its exit status and output."""
    done = bus.execute(bus.program, "fuzz", NAME, "--aidl", bus.scratch, *words, "--", *service)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("answers, shortest", [
    (["sharp=!dead"], "2"),
    (["sharp=7", "sharp(-2147483648, [])=!dead"], "sharp -- -2147483648 []")])
def test_a_call_that_kills_is_named(bus, fake, answers, shortest):
    """As short as it can be."""
    service = fake(*answers)
    status, output = fuzz(bus, service, "--seed", "3")
    assert status == 1, output
    contains(output, ": death, by")
    line = next(one for one in output.splitlines() if one.startswith("anybinder call"))
    words = shlex.split(line)[1:]
    assert words[-len(shortest.split()) - 1:] == [NAME, *shortest.split()], line
    process = bus.start(*service)
    bus.wait_for(NAME)
    assert bus.execute(bus.program, *words).returncode == 7
    assert process.wait(30) == 0
    assert line in fuzz(bus, service, "--seed", "3")[1]


@pytest.mark.parametrize("answer, found", [
    ("sharp(2147483647, [])=!after(1000s) 7", "hang"), (None, "growth"), ("sharp=7", None)])
def test_what_else_is_found(bus, fake, answer, found):
    setting = f"import sys; sys.path.append('{TOP}/python')"
    growing = [sys.executable, "-c", setting + GROWING, bus.path()]
    service = fake("sharp=7", answer) if answer else growing
    status, output = fuzz(bus, service, "--patience", "1", "--calls", "400")
    assert (status, f": {found}, by" in output) == ((1, True) if found else (0, False)), output
    if not found:
        contains(output, "400 calls of 3 methods: no death, no hang, no growth")


def test_what_cannot_be_fuzzed(bus):
    contains(bus.run("fuzz", PEER, status=2), "give --aidl DIR")
    contains(bus.run("fuzz", "no.such", "--aidl", AIDL, status=6), "No service")
    contains(bus.run("fuzz", PEER, "--aidl", bus.scratch, status=1), "there is no .aidl file")
