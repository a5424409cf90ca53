# SPDX-License-Identifier: GPL-2.0
"""Calls that last longer than the kernel lets a request of a file system wait.

The limits are settings of the whole machine, and other file systems that start at the same time get
them too. So this runs only in the long form; the settings last for as long as the daemon starts.
"""
import contextlib
import os
import pathlib
import signal
import struct
import sys
import threading
import time

import hostile
import pytest
from anybinder.driver import BC_ENTER_LOOPER, Client, Trap
from test_memory import STREAM, stream

SETTINGS = "/proc/sys/fs/fuse/{}_request_timeout"
LEAST_S = 15    # the kernel takes no shorter limit, and ends a connection up to 15 s after it
WAIT_S = 2 * LEAST_S + 6
pytestmark = [pytest.mark.long, pytest.mark.skipif(
    not os.path.exists(SETTINGS.format("max")), reason="the kernel does not limit requests")]


@contextlib.contextmanager
def setting(name, value):
    """A limit on requests, for file systems that are mounted in the block."""
    path = SETTINGS.format(name)
    before = pathlib.Path(path).read_text(encoding="ascii")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        pathlib.Path(path).write_text(str(value), encoding="ascii")
        yield
    finally:
        pathlib.Path(path).write_text(before, encoding="ascii")


@contextlib.contextmanager
def daemon_with(name, value):
    server = hostile.Daemon()
    try:
        with setting(name, value):
            server.__enter__()
        yield server
    finally:
        server.__exit__()


def attack(ready, path):
    """A read that waits, commands in memory that never comes, and a long stream."""
    trap = Trap()
    os.setuid(hostile.ATTACKER)
    client = Client(path)

    def write(address, size):
        while True:
            with contextlib.suppress(OSError):
                client.write_at(address, size)
            time.sleep(0.1)

    for args in ((trap.address, 64), (stream(STREAM), STREAM)):
        threading.Thread(target=write, args=args, daemon=True).start()
    ready()
    client.write_read(struct.pack("<I", BC_ENTER_LOOPER), 0)
    while True:
        client.write_read(b"", 256)


def lives_beside_waiting_calls(server):
    with hostile.user(hostile.SERVER, hostile.serve, server.path()), \
            hostile.users(*[(0, attack, server.path())] * 2):
        time.sleep(WAIT_S)
        assert server.process.poll() is None, "the kernel has ended the connection"
        print("after", WAIT_S, "s:", hostile.measure(server.path(), 1))


def test_waiting_calls_return_before_the_maximum():
    with daemon_with("max", LEAST_S) as server:
        returned = []

        def read():
            client = Client(server.path())
            with contextlib.suppress(ConnectionAbortedError):
                while True:
                    begin = time.monotonic()
                    client.write_read(b"", 64)
                    returned.append(time.monotonic() - begin)

        threading.Thread(target=read, daemon=True).start()
        lives_beside_waiting_calls(server)
        assert returned and max(returned) < LEAST_S, returned


def test_waiting_calls_do_not_end_at_the_default():
    with daemon_with("default", LEAST_S) as server:
        lives_beside_waiting_calls(server)
