# SPDX-License-Identifier: GPL-2.0
"""64 threads whose command streams lie in memory that takes 15 ms a page, less than a worker may be
stuck, so that no worker is ever replaced."""
import contextlib
import ctypes
import json
import mmap
import os
import select
import struct
import subprocess
import threading
import time

import hostile
from anybinder.driver import (
    ACCEPTS_FDS,
    BC_ENTER_LOOPER,
    BC_REPLY,
    BC_TRANSACTION,
    BINDER,
    BR_TRANSACTION,
    LIBC,
    OBJECT,
    TF_ONE_WAY,
    TRANSACTION,
    Client,
    Trap,
    acquire,
    free_buffer,
    ioctl,
)
from anybinder.process import become, program
from message_trace import PTRACE_CONT, PTRACE_INTERRUPT, PTRACE_SEIZE, WALL, ptrace

UFFDIO_COPY = 0xC028AA03
MADV_DONTNEED = 4
DELAY_S = 0.015
PAGE = mmap.PAGESIZE


def serve_faults(uffd, stop):
    """Answers each page fault DELAY_S after it came."""
    page = ctypes.create_string_buffer(struct.pack("<I", BC_ENTER_LOOPER) * (PAGE // 4), PAGE)
    due = []
    while not stop.is_set():
        wait = max(0, due[0][0] - time.monotonic()) if due else 0.1
        if select.select([uffd], [], [], wait)[0]:
            with contextlib.suppress(BlockingIOError):
                message = os.read(uffd, 32)
                due.append((time.monotonic() + DELAY_S, struct.unpack_from("<Q", message, 16)[0]))
        while due and due[0][0] <= time.monotonic():
            address = due.pop(0)[1] & -PAGE
            with contextlib.suppress(OSError):    # there already
                ioctl(uffd, UFFDIO_COPY, ctypes.create_string_buffer(struct.pack(
                    "<5Q", address, ctypes.addressof(page), PAGE, 0, 0)))


def write_for_ever(client, address, count):
    while True:
        try:
            client.write_at(address)
        except OSError:    # too many workers are stuck: on a busy machine 15 ms become more
            time.sleep(DELAY_S)
            continue
        LIBC.madvise(address, PAGE, MADV_DONTNEED)
        count[0] = min(count[0] + 1, 255)


def attack(ready, path, uid=hostile.ATTACKER, threads=64, count=bytearray(1)):
    trap = Trap(threads)
    become(uid)
    client = Client(path)
    for i in range(threads):
        threading.Thread(target=write_for_ever, args=(client, trap.address + i * PAGE, count),
                         daemon=True).start()
    ready()
    serve_faults(trap.fd, threading.Event())


def test_others_do_not_wait_for_slow_memory():
    row = hostile.attack("5", "64 threads with command streams in memory that takes 15 ms a page",
                         lambda path: hostile.users((0, attack, path)))
    calls = row.seen["attacked"]["calls"]
    # while it is new the user is served as all are
    assert calls.quantile(.9) < row.seen["alone"]["calls"].worst + 100, "it waits for slow memory"
    row.check()


def test_slow_users_are_served_in_turn():
    """One thread beside the 64 of another user gets half of the time, not a part in 65."""
    count = mmap.mmap(-1, PAGE)    # shared with the child
    with hostile.daemon() as path, hostile.user(0, attack, path):
        time.sleep(0.5)
        with hostile.user(0, attack, path, hostile.HONEST, 1, count):
            time.sleep(3)
            print("calls of the other user:", count[0])
            assert count[0] > 20, "it waits for all threads of the first"


def hang_workers(ready, path, uid, count):
    """One worker after the other waits for a page that does not come."""
    trap = Trap(count)
    become(uid)
    client = Client(path)

    def write(page):
        with contextlib.suppress(OSError):
            client.write_at(trap.address + page * PAGE)

    ready()
    for page in range(count):
        threading.Thread(target=write, args=(page,), daemon=True).start()
        time.sleep(0.1)
    time.sleep(1000)


def test_busy_pairs_go_on_when_workers_hang():
    """A worker that hangs has calls queued that others left to it; none of them is lost."""
    bench = program("bench-ipc")
    pairs, calls, hangs = 4, 15000, 12
    with hostile.daemon() as path:
        other = os.path.join(os.path.dirname(path), "hwbinder")
        command = [bench, "call", "--peer", "binder", "--address", path, "--pairs", str(pairs),
                   "--calls", str(calls), "--request", "100", "--reply", "100"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            with hostile.users(*((0, hang_workers, other, uid, hangs)
                                 for uid in range(hostile.ATTACKER, hostile.ATTACKER + 4))):
                text = process.communicate(timeout=100)[0]
        assert process.returncode == 0, "the pairs did not end as they should"
        assert json.loads(text)["calls"] == pairs * calls, text


# ---- the slow lane -------------------------------------------------------------------------------
#
# A user whose memory takes so long that its calls have a thread of their own wakes another user's
# thread by a call that then waits for such memory.
#
# The daemon's watcher, which would find the waiting thread after a while, is stopped meanwhile: so
# nothing but that thread itself can have left the other user's call to others.

NODE = OBJECT.pack(BINDER, ACCEPTS_FDS, 0x1000, 0)
SLOW_S, DEADLINE_S = 1, 30
SYS_EPOLL_WAIT = b"232"    # x86-64
PTRACE_DETACH = 17


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
    manager.write_read(acquire(handle) + free_buffer(argument)
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


def use_slow_memory(client, trap, until):
    """Until a byte comes from @until."""
    stop = threading.Event()
    faults = threading.Thread(target=serve_faults, args=(trap.fd, stop))
    faults.start()
    while not select.select([until], [], [], 0)[0]:
        with contextlib.suppress(OSError):
            client.write_at(trap.address)
        LIBC.madvise(trap.address, PAGE, MADV_DONTNEED)
    stop.set()
    faults.join()


def wait_with_absent_memory(ready, path):
    """For a call, which the daemon cannot write where it is to be."""
    trap = Trap()
    become(hostile.ATTACKER)
    client = begin_to_wait(path)
    ready()
    client.write_read(b"", 256, read_at=trap.address)


def attack_the_lane(ready, path, go, way):
    trap = Trap(2)
    become(hostile.ATTACKER)
    client = Client(path)
    client.become_manager()
    ready()
    receiver, victim = take_node(client), take_node(client)
    use_slow_memory(client, trap, go)
    if way == "data":
        calls = ((victim, 0), (victim, 64))
    else:
        calls = ((receiver, 0), (victim, 0))
    at = trap.address + PAGE
    client.write_read(b"".join(call_of(BC_TRANSACTION, target, TF_ONE_WAY, size, at)
                               for target, size in calls), 0)


def threads_in_epoll(pid):
    for process in hostile.family(pid):
        for task in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{task}/syscall",
                                                    "rb") as file:
                if file.read().split()[0] == SYS_EPOLL_WAIT:
                    yield int(task)


@contextlib.contextmanager
def stopped_watcher(pid):
    """Stops the threads that wait for events, where they hold no lock."""
    tids = list(threads_in_epoll(pid))
    assert tids, "no watcher"
    for tid in tids:
        ptrace(PTRACE_SEIZE, tid)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
        while tid not in threads_in_epoll(pid):
            ptrace(PTRACE_CONT, tid)
            time.sleep(0.001)
            ptrace(PTRACE_INTERRUPT, tid)
            os.waitpid(tid, WALL)
    try:
        yield
    finally:
        for tid in tids:
            ptrace(PTRACE_DETACH, tid)


def wake_another_user(way):
    told, tell = os.pipe()
    begin, go = os.pipe()
    with hostile.Daemon() as server:
        path = os.path.join(server.mnt, "hwbinder")
        with hostile.user(0, attack_the_lane, path, begin, way), \
                hostile.user(0, wait_with_absent_memory, path), \
                hostile.user(hostile.VICTIM, wait_for_a_call, path, tell):
            time.sleep(SLOW_S)
            with stopped_watcher(server.pid):
                os.write(go, b"x")
                assert select.select([told], [], [], DEADLINE_S)[0], \
                    "the woken thread waits for another user's memory"


def test_what_a_call_has_woken_does_not_wait_for_its_data():
    wake_another_user("data")


def test_what_a_call_has_woken_does_not_wait_for_another_receiver():
    wake_another_user("receiver")
