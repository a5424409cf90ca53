# SPDX-License-Identifier: GPL-2.0
"""What the tests of the service manager share: a bus, and a process for each test."""
import functools
import pathlib
import tempfile

import pytest
from anybinder.bus import Bus
from anybinder.process import run_child

VM = functools.partial(pytest.mark.vm, "6.12", append="security=selinux", timeout=2400)
# `ref` is the driver that the expectations come from.
DRIVERS = ("daemon", pytest.param("ref", marks=[VM(driver="ref"), pytest.mark.long]),
           pytest.param("module", marks=[VM(driver="module"), pytest.mark.long]))


@pytest.fixture(scope="module", params=DRIVERS)
def new_bus(request):
    """new_bus(OPTIONS...): another bus on the same driver, as a context."""
    return functools.partial(Bus, driver="daemon" if request.param == "daemon" else "kernel")


@pytest.fixture(scope="module")
def manager(new_bus):
    """A bus with a service manager for each device, which has to outlive the tests."""
    with new_bus(managers="binder,hwbinder,vndbinder") as bus:
        pid = bus.manager_pid()
        yield bus
        assert bus.manager_pid() == pid, bus.log()


@pytest.fixture
def rules_of():
    """rules_of(TEXT): the path of a file with these rules, which every user may read."""
    with tempfile.TemporaryDirectory(prefix="anybinder-test-rules.", dir="/run") as directory:
        rules = pathlib.Path(directory, "rules.toml")
        # Users of the rules have to get there.
        rules.parent.chmod(0o755)

        def write(text):
            rules.write_text(text, encoding="ascii")
            rules.chmod(0o644)
            return rules

        yield write


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test is a process of its own: the service manager remembers what level a process has."""
    if "new_bus" not in pyfuncitem.fixturenames:
        return None
    # pylint: disable=protected-access
    run_child(pyfuncitem.obj, *[pyfuncitem.funcargs[name]
                                for name in pyfuncitem._fixtureinfo.argnames])
    return True
