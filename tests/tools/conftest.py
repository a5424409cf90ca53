# SPDX-License-Identifier: GPL-2.0
"""What all tests of the tools need."""
import os
import shutil
import tempfile

import pytest
from anybinder.process import program as path_of
from building import built


@pytest.fixture(scope="session", autouse=True)
def programs(program):
    """The programs of the tools and the daemon are up to date."""
    for name in ("anybinder", "anybinderd", "client-tests"):
        program(name)


@pytest.fixture(scope="session")
def reachable(programs):    # pylint: disable=redefined-outer-name,unused-argument
    """The command in a directory where other users reach it, and what it starts."""
    if os.geteuid():
        pytest.skip("needs root, to become other users")
    directory = tempfile.mkdtemp(prefix="anybinder-programs-")
    os.chmod(directory, 0o755)
    for name in ("anybinder", "anybinderd"):
        shutil.copy(path_of(name), directory)
    yield f"{directory}/anybinder"
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def aidl_compiler():
    """The words that start Debian's .aidl compiler, which is fetched once."""
    return [built("build/aidl/aidl", "build/aidl/aidl")]


@pytest.fixture
def daemon_only(bus):
    """Skips what is of the daemon: its events, its service manager of HIDL. Those of a kernel are
    read in tests/tools/trace."""
    if bus.is_kernel:
        pytest.skip("it is about the daemon")
