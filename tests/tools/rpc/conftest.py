# SPDX-License-Identifier: GPL-2.0
"""Two machines for the tests of links."""
import pytest

from machines import World


@pytest.fixture(scope="session")
def machines(programs):    # pylint: disable=unused-argument
    """Two machines, for all tests that this process runs."""
    with World() as both:
        yield both


@pytest.fixture
def world(machines):    # pylint: disable=redefined-outer-name
    """The two machines; what a test starts on them ends with it."""
    yield machines
    machines.end_jobs()
