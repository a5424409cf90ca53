# SPDX-License-Identifier: Apache-2.0
"""A bus with a service, on each driver."""
import functools
import tempfile

import pytest
from anybinder.kit import Binder

from peers import AIDL, PeerBus

# One processor: `top` traces (see tests/tools/trace/conftest.py).
VM = functools.partial(pytest.mark.vm, "6.12", smp=1, timeout=1500)


@pytest.fixture(scope="module", params=[
    "daemon", pytest.param("stock", marks=[VM(driver="ref"), pytest.mark.long]),
    pytest.param("module", marks=[VM(driver="module"), pytest.mark.long])])
def served_bus(request, programs):    # pylint: disable=unused-argument
    """A bus with the service that most tests call."""
    how = {"managers": "binder,hwbinder"}
    if request.param != "daemon":
        how = {"managers": "binder", "driver": "/dev/binderfs"}
    with PeerBus(**how) as bus:
        bus.serve()
        yield bus
        bus.stop(*bus.running)


@pytest.fixture
def bus(served_bus):
    """The same; what a test starts on it ends with the test."""
    before = list(served_bus.running)
    with tempfile.TemporaryDirectory(prefix="anybinder-client-") as served_bus.scratch:
        yield served_bus
        served_bus.stop(*[one for one in served_bus.running if one not in before])


@pytest.fixture
def binder(bus):    # pylint: disable=redefined-outer-name
    """Fakes and clients on it."""
    with Binder(AIDL, bus) as made:
        yield made
