# SPDX-License-Identifier: GPL-2.0
"""What the module does beyond conformance, in a virtual machine of each kernel: life.sh, and the
kernel's own binderfs_test, whose results must be those of the reference driver."""
import re
import shutil
import subprocess

import pytest
from building import BUILD, TOP, kernels

REFERENCE_KERNEL = "newest"
SELFTESTS = f"{BUILD}/vm/ref/{REFERENCE_KERNEL}/src/tools/testing/selftests"
SELFTEST_SRC = "filesystems/binderfs/binderfs_test.c"
SELFTEST_TIMEOUT_S = 120
# Each object of kmalloc() records its allocating code, so that what is left after an unload shows.
HOW = {"timeout": 1800, "append": "slub_debug=U,kmalloc-*"}
# The result line of each test of binderfs_test.
SELFTEST_RESULT = re.compile(r"(?:binderfs_test: )?(ok|not ok) \d+ (\S+)(.*)$")
IN_CI = ("newest", "6.1", "6.12")
# The measuring build is compiled once in CI; other tests need that of this kernel.
MEASURED_IN_CI = "6.12"


def programs(kernel):
    """The directory of the programs for a kernel."""
    return f"{BUILD}/{'arm64/' if kernel.endswith('-arm64') else ''}bin"


def build_selftest(kernel, out):
    """From Debian's source package, which vm/reference-driver.sh unpacked; static, because it may
    run anywhere.

    Its own time limit of 30 s is too short for an emulated machine.
    """
    shutil.copytree(SELFTESTS, out, dirs_exist_ok=True)
    limit = f"s/^#define TEST_TIMEOUT_DEFAULT .*/#define TEST_TIMEOUT_DEFAULT {SELFTEST_TIMEOUT_S}/"
    subprocess.run(["sed", "-i", limit, out + "/kselftest_harness.h"], check=True)
    compiler = "aarch64-linux-gnu-gcc" if kernel.endswith("-arm64") else "gcc"
    program = f"{programs(kernel)}/binderfs_test"
    subprocess.run([compiler, "-O2", "-static", "-pthread", "-I" + out, "-o", program,
                    f"{out}/{SELFTEST_SRC}"], check=True)
    return program


def build_squatter(kernel):
    """A module that takes the netlink family before ours; returns where it is."""
    where = f"{BUILD}/squatter/{kernel}"
    shutil.copytree(TOP + "/tests/kernel/module/squatter", where, dirs_exist_ok=True)
    subprocess.run([TOP + "/vm/kbuild.sh", kernel, where, "-s"], check=True)
    return where + "/squatter.ko"


def output_of(argv):
    """The lines that a command prints, whatever its exit status."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          errors="replace", check=False)
    return done.stdout.splitlines()


def selftest_results(lines):
    """Returns {name: "ok" or "not ok", with what follows (a SKIP)} of binderfs_test's output."""
    matches = filter(None, map(SELFTEST_RESULT.match, lines))
    return {match[2]: match[1] + match[3] for match in matches}


@pytest.mark.vm
@pytest.mark.takes(300)
@pytest.mark.timeout(4000)
@pytest.mark.parametrize("kernel", [
    *(pytest.param(kernel, marks=pytest.mark.turn("life of the module")) for kernel in IN_CI),
    *(pytest.param(kernel, marks=pytest.mark.long) for kernel in kernels() if kernel not in IN_CI)])
def test_life(kernel, program, machine, module, suite, case, scratch, request):
    program("anybinder-conformance")
    is_measured = kernel == MEASURED_IN_CI or request.config.getoption("--long")
    measuring = [module(kernel, locking=True)] if is_measured else []
    env = f"ANYBINDER_BIN={programs(kernel)}"
    reference = selftest_results(output_of(
        [*machine(REFERENCE_KERNEL, driver="ref", **HOW), build_selftest("", scratch)]))
    assert reference, "binderfs_test says nothing on the reference driver"
    output = suite([*machine(kernel, env=env, **HOW), f"{TOP}/tests/kernel/module/life.sh",
                    module(kernel), build_selftest(kernel, scratch), build_squatter(kernel),
                    *measuring],
                   timeout=2000)
    found = selftest_results(line for line in output.splitlines() if "binderfs_test: " in line)
    for name, wanted in reference.items():
        got = found.get(name, "not run")
        case(name, got == wanted, f"{got}; the reference driver says {wanted}")
