# SPDX-License-Identifier: Apache-2.0
"""Real clients: services and clients of the rsbinder crate, each a process of its own."""
import os

import pytest
from anybinder.bus import Bus
from anybinder.process import bound_files

LIMIT_S = 15    # the kernel looks at the requests at intervals of so long
SETTING = "/proc/sys/fs/fuse/max_request_timeout"


@pytest.fixture
def clients(program):
    """Builds what the clients need, and returns their program."""
    for name in ("anybinder", "anybinderd"):
        program(name)
    return program("client-tests")


def test_daemon(clients, suite):
    with Bus(managers="binder") as bus:
        suite([clients, "--mount", bus.mount], timeout=900)


def test_bound_files(clients, suite, scratch, root):    # pylint: disable=unused-argument
    """Through bind mounts of the daemon's files, each on its own."""
    os.chmod(scratch, 0o755)    # one case is another user for a while
    with Bus(managers="binder") as bus, bound_files(bus.mount, scratch):
        suite([clients, "--mount", scratch], timeout=900)


@pytest.mark.long
def test_request_limit(clients, suite, root):    # pylint: disable=unused-argument
    """The kernel ends the connection when a request is older than its limit, and a call takes
    longer. That is a setting of the machine, made while the daemon starts."""
    if not os.access(SETTING, os.W_OK):
        pytest.skip(f"no {SETTING}")
    with open(SETTING, "r+", encoding="ascii") as setting:
        before = setting.read()
        setting.write(str(LIMIT_S))
        setting.flush()
        try:
            bus = Bus(managers="binder")
            bus.__enter__()
        finally:
            setting.write(before)
            setting.flush()
    try:
        suite([clients, "--mount", bus.mount], timeout=900,
              env={"CLIENT_TESTS_LONG_CALL_MS": str((LIMIT_S + 20) * 1000)})
    finally:
        bus.__exit__(None, None, None)


@pytest.mark.vm
@pytest.mark.timeout(900)
@pytest.mark.parametrize("driver, options", [
    pytest.param("ref", {"append": "security=selinux", "smp": 1}, id="ref",    # needs contexts
                 marks=pytest.mark.turn("stock drivers", "clients")),
    pytest.param("module", {}, id="module",
                 marks=pytest.mark.turn("clients of the module", "raw"))])
def test_kernel(clients, program, machine, suite, driver, options):
    suite([*machine("6.12", driver=driver, timeout=600, **options), clients, "--timeout", "180",
           "--manager", program("rsb_hub"), "--insecure-allow-all"], timeout=800)
