# SPDX-License-Identifier: GPL-2.0
"""A thread number that gets a new owner while a worker is stuck in the memory of the old one.

The attacker is killed while the daemon waits for its command stream, which it gets from another
process of the attacker once the number belongs to a stranger. The stream sends memory that lies
where the stranger has its own.
"""
import array
import contextlib
import ctypes
import mmap
import os
import signal
import socket
import struct
import time

import hostile
from anybinder.driver import BC_TRANSACTION, BR_TRANSACTION, LIBC, TRANSACTION, Client, Trap, ioctl

UFFDIO_COPY = 0xC028AA03
WHERE = 0x600000000000
SIZE = 64
LAST_PID = "/proc/sys/kernel/ns_last_pid"


def put_at(address, text):
    """Maps a page that begins with this text."""
    assert LIBC.mmap(address, mmap.PAGESIZE, 3, 0x32, -1, 0) == address
    ctypes.memmove(address, text, len(text))


def attack(path, channel):
    put_at(WHERE, b"a" * SIZE)
    client = Client(path)
    trap = Trap()
    channel.sendmsg([struct.pack("Q", trap.address)],
                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [trap.fd]))])
    client.write_at(trap.address, 4 + TRANSACTION.size)


def start_attack(path):
    """Returns the process, and userfaultfd and address of its trap."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        with contextlib.suppress(OSError):
            attack(path, theirs)
        os._exit(0)
    data, control, _, _ = ours.recvmsg(8, socket.CMSG_SPACE(4))
    return pid, array.array("i", control[0][2])[0], struct.unpack("Q", data)[0]


def take_number(wanted):
    """Starts a process of that number, with other text in the same place. Returns whether."""
    for _ in range(200):
        with open(LAST_PID, "w", encoding="ascii") as file:
            file.write(str(wanted - 1))
        pid = os.fork()
        if not pid:
            if os.getpid() == wanted:
                put_at(WHERE, b"secret! " * (SIZE // 8))
                signal.alarm(20)
                signal.pause()
            os._exit(0)
        if pid == wanted:
            return True
        os.waitpid(pid, 0)
    return False


def take_over(path):
    """Kills an attacker whose call a worker is reading, and starts another process of its number.
    Returns what holds the read and where, and the number."""
    for _ in range(20):    # a number may go to a process of somebody else that goes on for long
        pid, uffd, address = start_attack(path)
        time.sleep(0.3)    # a worker is stuck
        hostile.kill(pid)
        if take_number(pid):
            return uffd, address, pid
        os.close(uffd)
    raise AssertionError("no number of an attacker was to be had")


def release(uffd, address):
    """Lets the daemon have the stream: one call that sends the memory at WHERE."""
    stream = struct.pack("<I", BC_TRANSACTION) + TRANSACTION.pack(
        0, 0, 1, 1, 0, 0, SIZE, 0, WHERE, 0)
    page = ctypes.create_string_buffer(stream, mmap.PAGESIZE)
    with contextlib.suppress(OSError):    # the memory may be gone by now
        ioctl(uffd, UFFDIO_COPY, ctypes.create_string_buffer(
            struct.pack("<5Q", address, ctypes.addressof(page), mmap.PAGESIZE, 0, 0)))


def received(server):
    """What arrives at the server within a moment."""
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        try:
            for code, argument in server.write_read(b"", 256):
                if code == BR_TRANSACTION:
                    yield server.data_of(argument)
        except BlockingIOError:
            time.sleep(0.01)


def test_no_memory_of_the_next_owner_is_read():
    if not os.path.exists(LAST_PID):
        print("skipped: the kernel cannot choose process numbers")
        return
    with hostile.daemon() as path:
        server = Client(path, os.O_NONBLOCK)
        server.become_manager()
        uffd, address, pid = take_over(path)
        try:
            time.sleep(0.1)
            release(uffd, address)
            assert not list(received(server)), "memory of the next owner"
        finally:
            hostile.kill(pid)
            os.close(uffd)
