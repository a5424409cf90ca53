# SPDX-License-Identifier: GPL-2.0
"""A private bus for a test."""
import pytest
from anybinder.daemon import Daemon


@pytest.fixture(params=["anybinderd", "anybinderd-asan"], ids=["plain", "asan"])
def daemon_program(request, program):
    """The daemon, and the same with address checking and the engine's lock checker."""
    return program(request.param)


@pytest.fixture
def bus(program, scratch, root):    # pylint: disable=unused-argument
    """bus(*options, program=PATH): an anybinder.daemon.Daemon in the test's own directory, to be
    entered; anybinderd-asan unless another program is given."""
    def make(*options, program=program("anybinderd-asan"), **how):
        return Daemon(scratch, *options, program=program, **how)
    return make
