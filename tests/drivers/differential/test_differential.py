# SPDX-License-Identifier: GPL-2.0
"""The same random scripts on several drivers; the transcripts must agree (run.py)."""
import os
import subprocess
import sys

import pytest
from building import TOP, built

RUN = [sys.executable, os.path.join(TOP, "tests/drivers/differential/compare.py")]
LONG = [pytest.mark.long, pytest.mark.timeout(36000)]


@pytest.fixture
def compare(program, suite, scratch):
    """compare(PAIR, ..., seeds=N): plays scripts on each pair of sides (sides.py)."""
    def run(*pairs, seeds, more=(), env=()):
        for name in ("anybinder-differential", "anybinderd", *(
                ["anybinder-differential32"] if "32" in str(pairs) else [])):
            program(name)
        words = [f"--pair={pair}" for pair in pairs]
        suite([*RUN, *words, "--seeds", str(seeds), "--out", scratch, *more], timeout=36000,
              env=env)
    return run


@pytest.mark.takes(40)
def test_daemon_that_hands_over(compare):
    compare("fuse-replaced", seeds=6, more=["--steps", "150"],
            env={"DIFFERENTIAL_REPLACE_STEPS": "4"})


@pytest.mark.parametrize("pairs, seeds", [
    pytest.param(["fuse-replaced"], 12, id="replaced", marks=LONG),
    pytest.param(["fuse-fuse32"], 100, id="32-bit", marks=LONG)])
def test_daemon_for_long(compare, pairs, seeds):
    compare(*pairs, seeds=seeds)


@pytest.mark.vm
@pytest.mark.takes(400)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("pairs", [
    pytest.param(["ref-fuse", "ref-module"], id="64-bit"),
    pytest.param(["ref32-module32", "ref32-fuse32"], id="32-bit", marks=LONG)])
def test_drivers(compare, module, pairs):
    module("newest")
    compare(*pairs, seeds=100)


@pytest.mark.long
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("pair", ["usermode612-fuse", "usermode612-usermodule612"])
def test_usermode_linux(compare, pair):
    """The C driver, and the module, in a user-mode Linux: several times as fast as QEMU."""
    subprocess.run([os.path.join(TOP, "vm/usermode/build.sh"), "6.12"], check=True)
    if "module" in pair:
        built("build/module/usermode/6.12/anybinder.ko", "module", "KVER=usermode/6.12")
    compare(pair, seeds=1000)
