# SPDX-License-Identifier: GPL-2.0
"""BINDER_FREEZE with the number of another user's process, from its device and from another one."""
import os
import struct

import hostile
from anybinder.driver import Client, ioctl

FREEZE = 0x400C620E


def freeze(client, pid, enable):
    """Returns the errno, 0 for none."""
    try:
        ioctl(client.fd, FREEZE, struct.pack("<3I", pid, enable, 0))
    except OSError as error:
        return error.errno
    return 0


def try_to_freeze(ready, path, pid, expected):
    """Freezes and thaws; exits, so that ready() is not called, if that ends otherwise."""
    client = Client(path)
    for enable in (1, 0):
        error = freeze(client, pid, enable)
        assert error == expected, f"user {os.getuid()}: {os.strerror(error)}"
    ready()


def attempt(uid, path, pid, expected):
    with hostile.user(uid, try_to_freeze, path, pid, expected):
        pass


def test_other_users_may_not_freeze():
    with hostile.daemon() as path, hostile.user(hostile.SERVER, hostile.serve, path) as server:
        other = os.path.join(os.path.dirname(path), "hwbinder")
        with hostile.Victim(path) as victim:
            for device in (path, other):
                attempt(hostile.ATTACKER, device, server, 1)
        print("attacked:", victim.seen)
        attempt(hostile.SERVER, path, server, 0)
        attempt(hostile.SERVER, other, server, 0)
        attempt(0, other, server, 0)


def test_the_manager_may_freeze_clients_of_its_device():
    def manage(ready, path, own, foreign):
        manager = Client(path)
        manager.become_manager()
        assert freeze(manager, own, 1) == freeze(manager, own, 0) == 0
        assert freeze(manager, foreign, 1) == 1
        ready()

    def wait(ready, path):
        client = Client(path)
        ready()
        client.write_read(b"", 64)

    with hostile.daemon() as path:
        other = os.path.join(os.path.dirname(path), "hwbinder")
        with hostile.user(hostile.VICTIM, wait, path) as own, \
                hostile.user(hostile.VICTIM, wait, other) as foreign, \
                hostile.user(hostile.SERVER, manage, path, own, foreign):
            pass
