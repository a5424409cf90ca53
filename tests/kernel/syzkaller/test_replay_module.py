# SPDX-License-Identifier: GPL-2.0
"""The kept programs of syzkaller on the module, with slab checks; and new ones, on request: with
SYZKALLER=CHECKOUT, also SYZKALLER_SECONDS, SYZKALLER_SEED, SYZKALLER_PLANT (a bug of
tests/engine/sim/mutants.py that is planted in the module), SYZKALLER_OPTIONS (of fuzz.go)."""
import os
import subprocess

import pytest
from building import BUILD, TOP, built

HERE = f"{TOP}/tests/kernel/syzkaller"
KERNELS = ("6.12", "newest", "6.1")
FUZZ = ("SECONDS", "600"), ("PLANT", ""), ("SEED", "1"), ("OPTIONS", "")


def replay(suite, machine, kernel, *modules):
    """Plays them on the last module; returns what was printed."""
    for name in ("peer", "play"):
        built(f"build/syzkaller/{name}", f"build/syzkaller/{name}")
    return suite([*machine(kernel, append="slub_debug=FZP", timeout=600), f"{HERE}/inside.sh",
                  "/tmp/stats", *modules, "--", f"{BUILD}/syzkaller/play", f"{HERE}/corpus", "/dev",
                  "--mount"], timeout=700)


@pytest.mark.vm
@pytest.mark.takes(60)
@pytest.mark.parametrize("kernel", [pytest.param(kernel, marks=pytest.mark.turn(
    "programs of syzkaller")) for kernel in KERNELS])
def test_module(suite, machine, module, kernel):
    replay(suite, machine, kernel, module(kernel))


@pytest.mark.vm
@pytest.mark.long
def test_coverage(suite, machine):
    """On the module that counts basic blocks."""
    where = f"{BUILD}/syzkaller/covered"
    subprocess.run([f"{HERE}/covered.sh", where], check=True)
    output = replay(suite, machine, "6.12", f"{BUILD}/syzkaller/kcov/anybinder_kcov.ko",
                    f"{where}/anybinder.ko")
    print(next(line for line in output.splitlines() if "basic blocks covered" in line))


@pytest.mark.vm
@pytest.mark.long
@pytest.mark.timeout(0)
def test_new_programs(suite):
    checkout = os.environ.get("SYZKALLER")
    if not checkout:
        pytest.skip("SYZKALLER names no checkout of syzkaller")
    built("build/syzkaller/peer", "build/syzkaller/peer")
    seconds, plant, seed, options = (os.environ.get(f"SYZKALLER_{name}", usual)
                                     for name, usual in FUZZ)
    suite([f"{HERE}/run.sh", checkout, seconds, plant, "-seed", seed, *options.split()],
          timeout=int(seconds) + 3600)
