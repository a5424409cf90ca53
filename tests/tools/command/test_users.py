# SPDX-License-Identifier: Apache-2.0
"""An ordinary user: a mount in namespaces of its own, or the system's mount if there is no
other."""
import os

import pytest

from checked import USER


@pytest.fixture
def private(system, user_namespaces):    # pylint: disable=unused-argument
    """A user who can make a mount of its own."""
    return system.user


def test_a_user_has_a_mount_of_its_own(private):
    private(0, "up at", "up")
    private(0, "manager", "list")
    private(0, "served by", "status")
    private(0, "/dev/binderfs/binder", "run", "--", "ls", "/dev/binderfs/binder")
    private(0, "works here, tried on binder, hwbinder, vndbinder", "doctor")
    private(0, "down at", "down")


def test_a_users_mount_below_a_directory_of_roots(private, scratch):
    """It is below /tmp, whose sticky bit keeps others from replacing it; and from within the user's
    own namespace it is not seen to be root's."""
    os.chmod(scratch, 0o755)
    os.mkdir(f"{scratch}/user")
    os.chown(f"{scratch}/user", USER, USER)
    place = "--mount", f"{scratch}/user/mount", "--state-dir", f"{scratch}/user/state"
    private(0, "up at", *place, "up")
    private(0, "manager", *place, "list")
    private(0, "down at", *place, "down")
    assert os.listdir(f"{scratch}/user") == []


def test_doctor_of_a_user(private):
    private(0, "^the daemon works here: `anybinder up`", "doctor")


def test_a_user_finds_nothing(system):
    system.user(3, "Nothing is mounted", "list")


def test_a_user_finds_the_systems_mount(system):
    system(0, "up at", "up", "--mode", "666")
    system.user(0, "^/dev/binderfs: up", "status")
    system.user(0, "manager", "list")
    system.user(1, "You did not start the daemon.*user root", "down")
    system(0, "down at", "down")


def test_a_user_is_told_which_group_to_join(system):
    system(0, "up at", "up", "--mode", "660", "--gid", "54321")
    system.user(8, "you may not open binder, .*`adduser 12345 54321`", "doctor")
    system.user(8, "`adduser 12345 54321`; then log in", "list")
    system(0, "only root and the members of the group 54321", "container", "podman")
    system.user(0, "is not known. As root: `adduser 12345 54321`", "status")
    system(0, "down at", "down")


def test_a_user_is_denied(system):
    system(0, "up at", "up", "--mode", "600")
    system.user(8, "You have no permission to open", "list")
