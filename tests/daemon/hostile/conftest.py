# SPDX-License-Identifier: GPL-2.0
"""The attacks: each starts programs in C beside the daemon."""
import pytest


@pytest.hookimpl(tryfirst=True)    # before that of tests/lib/schedule.py
def pytest_collection_modifyitems(items):
    """What victims see is bounded: no two attacks at a time."""
    for item in items:
        if item.path.parent.name == "hostile" and item.path.parent.parent.name == "daemon":
            item.add_marker(pytest.mark.alone)


@pytest.fixture(autouse=True)
def attackers(program):
    """The programs that attack, and the command, which the service manager is part of."""
    for name in ("hostile-flood", "hostile-uring", "hostile-early.so", "bench-ipc", "anybinder"):
        program(name)
