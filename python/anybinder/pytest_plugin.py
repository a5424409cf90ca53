# SPDX-License-Identifier: Apache-2.0
"""The fixture `binder` of pytest: a bus of the session, and a test's own services on it.

In pytest.ini, `binder_aidl` names directories with .aidl files, from where that file is. With
`binder_driver = kernel` the bus is an instance of the kernel's binderfs. A test may have the
fixture `binder_bus` parametrized with drivers, indirectly.
"""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from .bus import Bus
from .kit import Binder


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of a pytest.ini."""
    parser.addini("binder_aidl", "directories with .aidl files", type="paths", default=[])
    parser.addini("binder_driver", "daemon (the default) or kernel", default="daemon")


@pytest.fixture(scope="session")
def binder_bus(request: pytest.FixtureRequest) -> Iterator[Bus]:
    """The bus of the session."""
    driver = getattr(request, "param", request.config.getini("binder_driver"))
    with Bus(managers="binder", driver=driver) as bus:
        yield bus


@pytest.fixture
def binder(binder_bus: Bus, pytestconfig: pytest.Config    # pylint: disable=redefined-outer-name
           ) -> Iterator[Binder]:
    """See Binder; its services and clients end with the test."""
    with Binder(pytestconfig.getini("binder_aidl"), binder_bus) as made:
        yield made
