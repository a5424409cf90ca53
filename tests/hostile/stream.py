#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One write of a gibibyte of commands, by two processes: as many as there are workers."""
import contextlib
import ctypes
import os
import signal
import struct
import time

import hostile
from binder_client import BC_ENTER_LOOPER, Client, WRITE_READ, ioctl

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


def others_are_served_meanwhile_and_killed_writers_end():
    with hostile.daemon() as path, hostile.user(hostile.SERVER, hostile.serve, path):
        print("alone:   ", hostile.measure(path, 1))
        with contextlib.ExitStack() as load:
            for _ in range(2):
                load.enter_context(hostile.user(hostile.HONEST, hostile.repeat, path, 64))
            honest = hostile.measure(path, 2)
            print("honest:  ", honest)
        with hostile.Victim(path) as attacked, contextlib.ExitStack() as load:
            pids = [load.enter_context(hostile.user(hostile.ATTACKER, attack, path))
                    for _ in range(2)]
            time.sleep(3)
            assert all(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in pids), "no attack any more"
            for pid in pids:
                hostile.kill(pid, 2)
        after = hostile.measure(path, 1)
        print("attacked:", attacked.seen)
        print("after:   ", after)
        assert attacked.seen.worst < honest.worst + 1000, "the victim waited for the stream"
        assert after.worst < honest.worst + 1000, "a dead client's stream goes on"


def a_signal_does_not_cut_a_stream():
    def interrupted(ready, path):
        client = Client(path)
        at = stream(FILE)
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        assert write(client, at, FILE) == FILE
        ready()

    with hostile.daemon() as path, hostile.user(hostile.ATTACKER, interrupted, path):
        pass


hostile.run("hostile-stream", others_are_served_meanwhile_and_killed_writers_end,
            a_signal_does_not_cut_a_stream)
