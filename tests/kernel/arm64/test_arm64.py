# SPDX-License-Identifier: GPL-2.0
"""Everything on arm64: cross-built into build/arm64 (`make vm-test-arm64`), and run on Debian's
arm64 kernels in QEMU. The limits are those of hangs, not of a slow machine: with the processors
shared by ten others, a run takes ten times as long."""
import subprocess

import pytest
from building import BUILD, TOP, built

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(5400)]
KERNEL = "6.12-arm64"
BIN = f"{BUILD}/arm64/bin"
# On a daemon: the command of this architecture starts it, also the clients' service manager.
ON_DAEMON = """set -- "$0/anybinder" --mount /run/m --state-dir /run/s
"$@" up && "$0/client-tests" --timeout 900 --mount /run/m
status=$?
"$@" down
exit $status"""

FIRST_CALL = """in_c=$1
set -- "$0" --mount /run/m --state-dir /run/s
"$@" --timeout 300 up
"$@" demo-service &
"$@" --timeout 300 wait anybinder.demo.IAddInts/default
"$@" --timeout 300 call anybinder.demo.IAddInts/default 1 i32 1 i32 2
"$@" run -- "$in_c" alone by.hand &
"$@" run -- "$in_c" call by.hand
"$@" --timeout 300 down"""


@pytest.fixture(scope="module", autouse=True)
def programs():
    """All that runs there."""
    built("build/arm64/bin/anybinderd", "vm-fetch-arm64", "arm64-programs")


@pytest.fixture
def guest(machine):
    """guest(SECONDS, ...): the arguments that start a command there."""
    return lambda seconds, *words, **how: [
        *machine(KERNEL, timeout=seconds, env=f"ANYBINDER_BIN={BIN}", **how), *words]


@pytest.mark.parametrize("kernel", [KERNEL, "6.1-arm64"])
def test_module(kernel):
    """Built without a warning; conformance; loading and unloading."""
    done = subprocess.run([f"{TOP}/tests/kernel/vm/kernels.py", kernel], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert not done.returncode, done.stdout


@pytest.mark.parametrize("backend", ["fuse", "fuse-plain"])
def test_daemon(suite, guest, backend):
    suite(guest(3600, f"{TOP}/tests/drivers/conformance/run_backend.py", backend, "--timeout",
                "360"), timeout=4000)


def test_injector(suite, guest):
    """Its tests use the loopback interface."""
    suite(guest(1800, "sh", "-c", f"ip link set lo up && {BIN}/inject_test"), timeout=2000)


def test_both_widths(suite, guest):
    """Programs of 64 and of 32 bits, in thumb and arm state, call each other."""
    suite(guest(900, f"{TOP}/tests/drivers/compat/pairs.py", "daemon", "peer32", "peer32arm",
                "peer64"), timeout=1000)


def test_real_clients_on_the_daemon(suite, guest):
    suite(guest(3600, "sh", "-c", ON_DAEMON, BIN), timeout=4000)


def test_real_clients_on_the_module(suite, guest):
    suite(guest(3600, f"{BIN}/client-tests", "--timeout", "900", "--manager", f"{BIN}/rsb_hub",
                "--insecure-allow-all", driver="module"), timeout=4000)


def test_archive(guest):
    """Its programs, which need nothing of the root, serve a call; and a service and a client in C
    use its library."""
    program = built("build/arm64/bin/static/anybinder", "archive-arm64")
    static, in_c = f"{BIN}/static", f"{BIN}/ndk-by-hand"
    subprocess.run(["aarch64-linux-gnu-gcc", "-std=gnu11", "-o", in_c, "-pthread",
                    f"-I{TOP}/tools/ndk/include", f"{TOP}/tests/tools/ndk/by_hand.c",
                    f"{static}/libbinder_ndk.so.1", f"-Wl,-rpath,{static}"], check=True)
    words = guest(1500, "sh", "-ec", FIRST_CALL, program, in_c)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    assert not done.returncode and "00000003" in done.stdout, done.stdout
    assert "as it should be" in done.stdout, done.stdout
