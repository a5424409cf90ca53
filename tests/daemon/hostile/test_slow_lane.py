# SPDX-License-Identifier: GPL-2.0
"""A user whose memory takes so long that its calls have a thread of their own wakes another user's
thread by a call that then waits for such memory.

The daemon's watcher, which would find the waiting thread after a while, is stopped meanwhile: so
nothing but that thread itself can have left the other user's call to others."""
import contextlib
import ctypes
import os
import select
import struct
import threading
import time

import hostile
from anybinder.driver import (
    BC_ENTER_LOOPER,
    BC_REPLY,
    BC_TRANSACTION,
    BR_TRANSACTION,
    LIBC,
    TRANSACTION,
    WRITE_READ,
    Client,
    free_buffer,
    ioctl,
)
from test_slow_memory import MADV_DONTNEED, PAGE, serve_faults, watched_memory

BC_ACQUIRE, TF_ONE_WAY = 0x40046305, 1
NODE = struct.pack("<IIQQ", 0x73622A85, 0x100, 0x1000, 0)
SLOW_S, DEADLINE_S = 1, 30
SYS_EPOLL_WAIT = b"232"    # x86-64
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_CONT, PTRACE_DETACH = 0x4206, 0x4207, 7, 17
WALL = 0x40000000


def call_of(command, target, flags=0, size=0, at=0):
    return struct.pack("<I", command) + TRANSACTION.pack(target, 0, 1, flags, 0, 0, size, 0, at, 0)


def next_call(client):
    while True:
        for code, argument in client.write_read(b"", 256):
            if code == BR_TRANSACTION:
                return argument


def take_node(manager):
    """Serves a call that has an object. Returns its handle."""
    argument = next_call(manager)
    handle, = struct.unpack_from("<I", manager.data_of(argument), 8)
    manager.write_read(struct.pack("<2I", BC_ACQUIRE, handle) + free_buffer(argument)
                       + call_of(BC_REPLY, 0), 0)
    return handle


def begin_to_wait(path):
    """A thread that has given its object to the context manager."""
    client = Client(path)
    client.call(NODE, (0,))
    client.write_read(struct.pack("<I", BC_ENTER_LOOPER), 0)
    return client


def wait_for_a_call(ready, path, told):
    client = begin_to_wait(path)
    ready()
    next_call(client)
    os.write(told, b"x")
    time.sleep(100)


def use_slow_memory(client, uffd, address, until):
    """Until a byte comes from @until."""
    stop = threading.Event()
    faults = threading.Thread(target=serve_faults, args=(uffd, stop))
    faults.start()
    while not select.select([until], [], [], 0)[0]:
        arg = ctypes.create_string_buffer(struct.pack("<6Q", 64, 0, address, 0, 0, 0))
        with contextlib.suppress(OSError):
            ioctl(client.fd, WRITE_READ, arg)
        LIBC.madvise(address, PAGE, MADV_DONTNEED)
    stop.set()
    faults.join()


def become_attacker():
    os.setgid(hostile.ATTACKER)
    os.setuid(hostile.ATTACKER)


def wait_with_absent_memory(ready, path):
    """For a call, which the daemon cannot write where it is to be."""
    _uffd, _memory, address = watched_memory(1)
    become_attacker()
    client = begin_to_wait(path)
    ready()
    client.write_read(b"", 256, read_at=address)


def attack(ready, path, go, way):
    uffd, _memory, address = watched_memory(2)
    become_attacker()
    client = Client(path)
    client.become_manager()
    ready()
    receiver, victim = take_node(client), take_node(client)
    use_slow_memory(client, uffd, address, go)
    if way == "data":
        calls = ((victim, 0), (victim, 64))
    else:
        calls = ((receiver, 0), (victim, 0))
    client.write_read(b"".join(call_of(BC_TRANSACTION, target, TF_ONE_WAY, size, address + PAGE)
                               for target, size in calls), 0)


def threads_in_epoll(pid):
    for process in hostile.family(pid):
        for task in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{task}/syscall",
                                                    "rb") as file:
                if file.read().split()[0] == SYS_EPOLL_WAIT:
                    yield int(task)


def trace(request, tid):
    if LIBC.ptrace(request, tid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")


@contextlib.contextmanager
def stopped_watcher(pid):
    """Stops the threads that wait for events, where they hold no lock."""
    tids = list(threads_in_epoll(pid))
    assert tids, "no watcher"
    for tid in tids:
        trace(PTRACE_SEIZE, tid)
        trace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
        while tid not in threads_in_epoll(pid):
            trace(PTRACE_CONT, tid)
            time.sleep(0.001)
            trace(PTRACE_INTERRUPT, tid)
            os.waitpid(tid, WALL)
    try:
        yield
    finally:
        for tid in tids:
            trace(PTRACE_DETACH, tid)


def wake_another_user(way):
    told, tell = os.pipe()
    begin, go = os.pipe()
    with hostile.Daemon() as server:
        path = os.path.join(server.mnt, "hwbinder")
        with hostile.user(0, attack, path, begin, way), \
                hostile.user(0, wait_with_absent_memory, path), \
                hostile.user(hostile.VICTIM, wait_for_a_call, path, tell):
            time.sleep(SLOW_S)
            with stopped_watcher(server.process.pid):
                os.write(go, b"x")
                assert select.select([told], [], [], DEADLINE_S)[0], \
                    "the woken thread waits for another user's memory"


def test_what_a_call_has_woken_does_not_wait_for_its_data():
    wake_another_user("data")


def test_what_a_call_has_woken_does_not_wait_for_another_receiver():
    wake_another_user("receiver")
