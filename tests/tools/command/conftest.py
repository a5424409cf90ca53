# SPDX-License-Identifier: Apache-2.0
"""The anybinder command as a program: buses, and a system of its own."""
import os

import pytest
from anybinder.bus import Bus
from anybinder.call import Command
from anybinder.process import as_user, own_mounts

from checked import SYSTEM, USER, Checked

@pytest.fixture
def absent(scratch, programs):    # pylint: disable=unused-argument
    """Nothing is up at the mount of this command."""
    command = Command(f"{scratch}/mount", f"{scratch}/state")
    yield Checked(command)
    command.outcome("down")


@pytest.fixture(scope="module")
def shared_bus(programs):    # pylint: disable=unused-argument
    """A daemon with the service managers that `anybinder up` starts."""
    with Bus(managers="binder,hwbinder") as bus:
        yield bus


@pytest.fixture
def present(shared_bus):    # pylint: disable=redefined-outer-name
    """Something is up, for tests that change nothing."""
    return Checked(shared_bus)


@pytest.fixture
def own_bus(programs):    # pylint: disable=unused-argument
    """A bus of the test."""
    with Bus(managers="binder,hwbinder") as bus:
        yield bus


@pytest.fixture
def system(reachable):
    """Root on a system of its own, without the package, and (as_user) a user of it."""
    with own_mounts(SYSTEM) as before:
        root = Checked(Command("/dev/binderfs", "/run/anybinder", before, reachable))
        user = Checked(Command("/dev/binderfs", "/run/user", [*before, *as_user(USER)], reachable))
        for name in ("ANYBINDER_MOUNT", "ANYBINDER_STATE_DIR"):
            root.command.environment.pop(name)
            user.command.environment.pop(name)
        user.command.environment.update(XDG_RUNTIME_DIR="/run/user", HOME="/nonexistent")
        root.user = user
        yield root
        user.command.outcome("down")
        root.command.outcome("down")


@pytest.fixture(scope="session")
def user_namespaces():
    """Users can make them; in a plain chroot the kernel lets nobody."""
    if os.system("unshare --map-root-user true 2>/dev/null"):
        pytest.skip("no user namespaces here, as in a plain chroot")
