# SPDX-License-Identifier: GPL-2.0
"""A bus for the module, and a kit on it for each test."""
import pytest
from anybinder.bus import Bus
from anybinder.kit import Binder

from faked import AIDL


@pytest.fixture(scope="module")
def module_bus(request, programs):    # pylint: disable=unused-argument
    """A bus with a service manager of AIDL, on the daemon where a test names no driver."""
    with Bus(managers="binder", driver=getattr(request, "param", "daemon")) as bus:
        yield bus


@pytest.fixture
def binder(module_bus):    # pylint: disable=redefined-outer-name
    """See Binder."""
    with Binder(AIDL, module_bus) as made:
        yield made
