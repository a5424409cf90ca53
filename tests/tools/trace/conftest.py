# SPDX-License-Identifier: GPL-2.0
"""A traced bus for the tests of a file, on each driver that the file names in DRIVERS."""
import pytest

from tracing import TracedBus


def pytest_generate_tests(metafunc):
    if "driver" in metafunc.fixturenames:
        metafunc.parametrize("driver", getattr(metafunc.module, "DRIVERS", ["daemon"]),
                             scope="module")


@pytest.fixture(scope="module")
def traced_bus(driver, programs):    # pylint: disable=unused-argument
    with TracedBus(driver) as bus:
        yield bus


@pytest.fixture
def bus(traced_bus, root):    # pylint: disable=unused-argument,redefined-outer-name
    return traced_bus
