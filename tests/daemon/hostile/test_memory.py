# SPDX-License-Identifier: GPL-2.0
"""Much memory, much work in one call or one write, and long reports.

The attacker is the context manager of a device of its own, so that it decides what is kept: a node
whose owner was notified of a reference lives until the owner reads that the reference is gone.
"""
import contextlib
import ctypes
import errno
import mmap
import os
import select
import signal
import struct
import threading
import time

import hostile
from anybinder.driver import (
    BC_ENTER_LOOPER,
    BC_TRANSACTION,
    BINDER,
    BR_TRANSACTION,
    OBJECT,
    TF_ONE_WAY,
    TRANSACTION,
    WRITE_READ,
    Client,
    free_buffer,
    ioctl,
)

BR_FAILED_REPLY = 0x7211
GET_EXTENDED_ERROR = 0xC00C6211
MANY = 60000
OPENS = 11
MAP_SIZE = 4 << 20
STREAM, STREAM_FILE = 1 << 30, 16 << 20    # bytes of commands, those that repeat
# The limit that the daemon is given here, and what a user may cost beyond it: the daemon's fixed
# costs of an open, the allocator's arenas.
USER_MIB = 16
SLACK_MIB = 16


def device(path):
    return os.path.join(os.path.dirname(path), "hwbinder")


def one_way_call(first, count):
    """The commands of a one-way call with @count nodes, and what must live until it is sent."""
    data = b"".join(OBJECT.pack(BINDER, 0, first + i, 1) for i in range(count))
    offsets = struct.pack(f"<{count}Q", *range(0, count * OBJECT.size, OBJECT.size))
    keep = [ctypes.create_string_buffer(text, len(text)) for text in (data, offsets)]
    return keep, struct.pack("<I", BC_TRANSACTION) + TRANSACTION.pack(
        0, 0, 1, TF_ONE_WAY, 0, 0, len(data), len(offsets), *map(ctypes.addressof, keep))


class Open:
    """An open of the attacker's, with a mapping of the largest size."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.map = mmap.mmap(self.fd, MAP_SIZE, mmap.MAP_PRIVATE, mmap.PROT_READ)
        self.room = ctypes.create_string_buffer(MAP_SIZE)
        self.write_read(b"", 64)

    def write_read(self, commands, room):
        """Returns the bytes read."""
        out = ctypes.create_string_buffer(commands, len(commands) or 1)
        arg = ctypes.create_string_buffer(struct.pack(
            "<6Q", len(commands), 0, ctypes.addressof(out), room, 0, ctypes.addressof(self.room)))
        ioctl(self.fd, WRITE_READ, arg)
        return self.room.raw[:struct.unpack("<6Q", arg.raw[:48])[4]]

    def send(self, call):
        """False: there is no memory. Waits while the receiver has no space."""
        while struct.pack("<I", BR_FAILED_REPLY) in self.write_read(call[1], MAP_SIZE)[:12]:
            error = ctypes.create_string_buffer(12)
            ioctl(self.fd, GET_EXTENDED_ERROR, error)
            if struct.unpack("<IIi", error.raw)[2] != -errno.ENOSPC:
                return False
            time.sleep(0.01)
        # An owner that was notified of a node keeps it until it is notified of its release.
        while select.select([self.fd], [], [], 0)[0]:
            self.write_read(b"", MAP_SIZE)
        return True


def receive_for_ever(path, notify):
    """Context manager of the device: frees whatever it gets."""
    Manager(path).become_manager()
    manager = Manager.last
    notify()
    while True:
        returns = manager.write_read(b"", 256)
        while returns:
            code, returns = struct.unpack_from("<I", returns)[0], returns[4:]
            size = code >> 16 & 0x3FFF
            if code == BR_TRANSACTION:
                manager.write_read(free_buffer(returns[:size]), 0)
            returns = returns[size:]


class Manager(Open):
    become_manager, enter_looper = Client.become_manager, Client.enter_looper

    def __init__(self, path):
        super().__init__(path)
        Manager.last = self


@contextlib.contextmanager
def receiver(path):
    """receive_for_ever() in a process of its own: a call to the own process is refused."""
    ready, notify = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            receive_for_ever(path, lambda: os.write(notify, b"x"))
        finally:
            os._exit(1)
    os.close(notify)
    assert os.read(ready, 1) == b"x"
    os.close(ready)
    yield
    hostile.kill(pid)


def fill(path, call):
    """OPENS opens with MANY nodes each, or as many as the driver lets this user have."""
    opens = [Open(path) for _ in range(OPENS)]
    return opens, [each.send(call) for each in opens].count(True)


def flood(ready, path):
    """Nodes without end: as many as there may be, then all are given up, and again."""
    path = device(path)
    call = one_way_call(1 << 20, MANY)
    with receiver(path):
        while True:
            opens, _ = fill(path, call)
            ready()
            time.sleep(0.2)
            for each in opens:
                each.map.close()
                os.close(each.fd)


def call_for_ever(ready, path):
    """Calls with as many objects as fit, by two threads."""
    path = device(path)
    call = one_way_call(1 << 20, MANY)

    def work(mine):
        with contextlib.suppress(OSError):    # until the daemon ends
            while True:
                mine.write_read(call[1], MAP_SIZE)

    with receiver(path):
        for _ in range(2):
            threading.Thread(target=work, args=(Open(path),), daemon=True).start()
        ready()
        time.sleep(100)


def read_for_ever(ready, path):
    """As many nodes as there may be, and two threads that read what the driver says of them."""
    report = os.path.join(os.path.dirname(path), "binder_logs/state")
    path = device(path)

    def work():
        with contextlib.suppress(OSError):    # until the daemon ends
            while True:
                with open(report, "rb") as file:
                    while file.read(1 << 20):
                        pass

    with receiver(path):
        kept = fill(path, one_way_call(1 << 20, MANY))
        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        ready()
        time.sleep(100)
        del kept


def test_nodes_of_one_user_are_bounded():
    row = hostile.attack(
        "9a", f"{OPENS} opens with {MANY} nodes each, by one user",
        lambda path: hostile.users((hostile.ATTACKER, flood, path)),
        options=[f"--user-memory={USER_MIB}"])
    row.check()
    grown = (row.memory["peak"] - row.memory["before"]) / 1024
    assert grown < USER_MIB + SLACK_MIB, f"the daemon grew by {grown} MiB"


def test_a_call_with_many_objects_stops_no_worker():
    hostile.attack(
        "9b", f"calls with {MANY} objects, by two threads",
        lambda path: hostile.users((hostile.ATTACKER, call_for_ever, path)),
        options=["--user-memory=256"]).check()


def test_a_long_report_stops_no_worker():
    hostile.attack(
        "9c", f"reports about {OPENS * MANY} nodes, by two threads",
        lambda path: hostile.users((hostile.ATTACKER, read_for_ever, path)),
        options=["--user-memory=1024"]).check()


# ---- one write of a gibibyte of commands, by as many processes as there are workers --------------

def stream(size):
    fd, at = hostile.many_times(STREAM_FILE, size)
    os.pwrite(fd, struct.pack("<I", BC_ENTER_LOOPER) * (STREAM_FILE // 4), 0)
    return at


def write_stream(ready, path):
    client = Client(path)
    at = stream(STREAM)
    ready()
    client.write_at(at, STREAM)


def test_others_are_served_meanwhile_and_killed_writers_end():
    hostile.attack(
        "1", "one write of a gibibyte of commands, by two processes",
        lambda path: hostile.users(*[(hostile.ATTACKER, write_stream, path)] * 2),
        lambda path: hostile.users(*[(hostile.HONEST, hostile.repeat, path, 64)] * 2)).check()


def test_a_signal_does_not_cut_a_stream():
    def interrupted(ready, path):
        client = Client(path)
        at = stream(STREAM_FILE)
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        assert client.write_at(at, STREAM_FILE) == STREAM_FILE
        ready()

    with hostile.daemon() as path, hostile.user(hostile.ATTACKER, interrupted, path):
        pass
