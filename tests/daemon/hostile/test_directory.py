# SPDX-License-Identifier: GPL-2.0
"""Processes that have the kernel lock the directory of the devices without a pause. The daemon
cannot help: the kernel takes the lock before it asks. What can be done is that others need no such
lock, or that only some may reach the directory."""
import errno
import os
import struct
import time

import hostile
from test_bound import bound

MANY = 400 if hostile.TABLE else 40
OPENS = 100 if hostile.TABLE else 10
# The daemon has ended, or this user may not search the directory.
OVER = errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT
REFUSED = errno.EEXIST, errno.EPERM, errno.EACCES


def lock_the_directory(ready, path):
    """All of these are refused."""
    ways = [lambda: os.rename(path, path + "2"), lambda: os.unlink(path), lambda: os.mkdir(path),
            lambda: os.close(os.open(path + "3", os.O_RDWR | os.O_CREAT))]
    for number in range(MANY):
        if not os.fork():
            with hostile.exit_at_end():
                while True:
                    try:
                        ways[number % len(ways)]()
                    except OSError as error:
                        if error.errno in OVER:
                            break
                        assert error.errno in REFUSED, error
    ready()
    time.sleep(1000)


def open_often(ready, path, result):
    took = []
    for _ in range(OPENS):
        begin = time.monotonic()
        os.close(os.open(path, os.O_RDWR))
        took.append(time.monotonic() - begin)
    took.sort()
    os.write(result, struct.pack("<dd", took[OPENS // 2], took[-1]))
    ready()


def be_refused(ready, path):
    try:
        os.open(path, os.O_RDWR)
    except PermissionError:
        ready()


def open_beside(title, server, path):
    """The victim's opens succeed; how long they take is printed."""
    output, result = os.pipe()
    with hostile.user(hostile.ATTACKER, lock_the_directory, server.path), \
            hostile.user(hostile.VICTIM, open_often, path, result):
        pass
    half, worst = struct.unpack("<dd", os.read(output, 16))
    print(f"{MANY} processes lock the directory; opens {title}: p50 {1000 * half:.1f}, worst "
          f"{1000 * worst:.1f} ms", flush=True)


def test_opens_in_the_directory_succeed():
    with hostile.Daemon() as server:
        open_beside("in it", server, server.path)


class Mount:
    """A daemon for bound()."""

    def __init__(self, server):
        self.path = lambda name: os.path.join(server.mnt, name)


def test_a_bound_file_needs_no_directory():
    with hostile.Daemon() as server, bound(Mount(server), server.directory) as path:
        open_beside("of a bind mount of the file", server, path)


def test_a_directory_of_a_group_is_not_reached():
    with hostile.Daemon() as server:
        os.chown(server.mnt, 0, hostile.VICTIM)
        os.chmod(server.mnt, 0o750)
        open_beside("by the group that alone may search it", server, server.path)
        with hostile.user(hostile.ATTACKER, be_refused, server.path):
            pass
