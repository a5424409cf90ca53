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
from anybinder.driver import BC_ENTER_LOOPER, LIBC, WRITE_READ, Client, ioctl
from anybinder.process import program

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
        arg = ctypes.create_string_buffer(struct.pack("<6Q", 64, 0, address, 0, 0, 0))
        try:
            ioctl(client.fd, WRITE_READ, arg)
        except OSError:    # too many workers are stuck: on a busy machine 15 ms become more
            time.sleep(DELAY_S)
            continue
        LIBC.madvise(address, PAGE, MADV_DONTNEED)
        count[0] = min(count[0] + 1, 255)


def watched_memory(pages):
    """Memory whose pages come only when their faults are answered: the userfaultfd, the memory and
    its address."""
    uffd = LIBC.syscall(323, os.O_CLOEXEC | os.O_NONBLOCK)
    assert uffd >= 0, "no userfaultfd"
    memory = mmap.mmap(-1, pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ioctl(uffd, 0xC018AA3F, ctypes.create_string_buffer(struct.pack("<3Q", 0xAA, 0, 0)))
    ioctl(uffd, 0xC020AA00, ctypes.create_string_buffer(
        struct.pack("<4Q", address, pages * PAGE, 1, 0)))
    return uffd, memory, address


def attack(ready, path, uid=hostile.ATTACKER, threads=64, count=bytearray(1)):
    uffd, _memory, address = watched_memory(threads)
    os.setgid(uid)
    os.setuid(uid)
    client = Client(path)
    for i in range(threads):
        threading.Thread(target=write_for_ever, args=(client, address + i * PAGE, count),
                         daemon=True).start()
    ready()
    serve_faults(uffd, threading.Event())


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
    _uffd, _memory, address = watched_memory(count)
    os.setgid(uid)
    os.setuid(uid)
    client = Client(path)

    def write(page):
        arg = ctypes.create_string_buffer(struct.pack("<6Q", 64, 0, address + page * PAGE, 0, 0, 0))
        with contextlib.suppress(OSError):
            ioctl(client.fd, WRITE_READ, arg)

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
