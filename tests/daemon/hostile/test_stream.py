# SPDX-License-Identifier: GPL-2.0
"""One write of a gibibyte of commands, by two processes: as many as there are workers."""
import ctypes
import os
import signal
import struct

import hostile
from anybinder.driver import BC_ENTER_LOOPER, WRITE_READ, Client, ioctl

FILE = 16 << 20
MANY = 1 << 30


def write(client, at, size):
    """One BINDER_WRITE_READ. Returns what was consumed."""
    arg = ctypes.create_string_buffer(struct.pack("<6Q", size, 0, at, 0, 0, 0))
    ioctl(client.fd, WRITE_READ, arg)
    return struct.unpack_from("<6Q", arg.raw)[1]


def stream(size):
    fd, at = hostile.many_times(FILE, size)
    os.pwrite(fd, struct.pack("<I", BC_ENTER_LOOPER) * (FILE // 4), 0)
    return at


def attack(ready, path):
    client = Client(path)
    at = stream(MANY)
    ready()
    write(client, at, MANY)


def test_others_are_served_meanwhile_and_killed_writers_end():
    hostile.attack(
        "1", "one write of a gibibyte of commands, by two processes",
        lambda path: hostile.users(*[(hostile.ATTACKER, attack, path)] * 2),
        lambda path: hostile.users(*[(hostile.HONEST, hostile.repeat, path, 64)] * 2)).check()


def test_a_signal_does_not_cut_a_stream():
    def interrupted(ready, path):
        client = Client(path)
        at = stream(FILE)
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        assert write(client, at, FILE) == FILE
        ready()

    with hostile.daemon() as path, hostile.user(hostile.ATTACKER, interrupted, path):
        pass
