# SPDX-License-Identifier: GPL-2.0
"""The kept programs of syzkaller on the module, with slab checks; and new ones, on request: with
SYZKALLER=CHECKOUT, also SYZKALLER_SECONDS, SYZKALLER_SEED, SYZKALLER_PLANT (a bug of
tests/engine/sim/mutants.py that is planted in the module), SYZKALLER_OPTIONS (of fuzz.go)."""
import os
import shutil
import subprocess

import pytest
from building import BUILD, TOP, built

HERE, OUT = f"{TOP}/tests/kernel/syzkaller", f"{BUILD}/syzkaller"
KERNELS = ("6.12", "newest", "6.1")
FUZZ = ("SECONDS", "600"), ("PLANT", ""), ("SEED", "1"), ("OPTIONS", "")
# What booting and checking may take on a machine with other work.
SPARE_S = 1800


def run(*words):
    subprocess.run(words, cwd=TOP, check=True)


def covered(bug=""):
    """Builds, for Debian's 6.12, the module that basic blocks are reported to, and the one that
    reports each of its own, with @bug in it."""
    kcov, where = f"{OUT}/kcov", f"{OUT}/covered{'-planted' if bug else ''}"
    shutil.copytree(f"{HERE}/kcov", kcov, dirs_exist_ok=True)
    run("vm/kbuild.sh", "6.12", kcov, "W=1")
    if bug:
        shutil.rmtree(where, ignore_errors=True)
    run("host/linux/link-sources.sh", where)
    if bug:
        run("tests/engine/sim/mutants.py", "--plant", bug, where)
    run("vm/kbuild.sh", "6.12", where, f"KBUILD_EXTRA_SYMBOLS={kcov}/Module.symvers",
        f"KCFLAGS=-fsanitize-coverage=trace-pc {'-w' if bug else ''}")
    module = f"{where}/anybinder.ko"
    run("strip", "-g", module)    # twelve megabytes that the guest would read
    code = subprocess.run(["objdump", "-dr", module], stdout=subprocess.PIPE, text=True, check=True)
    print("basic blocks:", code.stdout.count("__sanitizer_cov_trace_pc"))
    return f"{kcov}/anybinder_kcov.ko", module


def replay(suite, machine, kernel, *modules):
    """Plays them on the last module; returns what was printed."""
    built("build/syzkaller/peer", "build/syzkaller/peer")
    return suite([*machine(kernel, append="slub_debug=FZP", timeout=600), f"{HERE}/inside.sh",
                  "/tmp/stats", *modules, "--", f"{HERE}/replay.py", f"{HERE}/corpus", "/dev",
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
    output = replay(suite, machine, "6.12", *covered())
    print(next(line for line in output.splitlines() if "basic blocks covered" in line))


@pytest.mark.vm
@pytest.mark.long
@pytest.mark.timeout(0)
def test_new_programs(suite, machine):
    """Leaves in build/syzkaller/result: programs (all, each before it ran), console, kept (those
    that reached something new), corpus (for replay.py, those that reach the most in little space),
    stats."""
    checkout = os.environ.get("SYZKALLER")
    if not checkout:
        pytest.skip("SYZKALLER names no checkout of syzkaller")
    built("build/syzkaller/peer", "build/syzkaller/peer")
    run(f"{HERE}/build.sh", checkout)
    seconds, plant, seed, options = (os.environ.get(f"SYZKALLER_{name}", usual)
                                     for name, usual in FUZZ)
    result, limit_s = f"{OUT}/result", int(seconds) + SPARE_S
    shutil.rmtree(result, ignore_errors=True)
    os.makedirs(f"{result}/kept")
    suite([*machine("6.12", append="slub_debug=FZP", memory=2048, share=result, timeout=limit_s,
                    log=f"{result}/console"), f"{HERE}/inside.sh", f"{result}/stats",
           *covered(plant), "--", f"{OUT}/fuzz", "-executor", f"{OUT}/syz-executor",
           "-seeds", f"{HERE}/seeds", "-kept", f"{result}/kept", "-corpus", f"{result}/corpus",
           "-log", f"{result}/programs", "-seconds", seconds, "-seed", seed, *options.split()],
          timeout=limit_s + 600)
