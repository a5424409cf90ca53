# SPDX-License-Identifier: GPL-2.0
"""Clients that move in the middle of a call, to other namespaces, and such whose memory is huge."""
import collections
import ctypes
import mmap
import os
import struct

import hostile
import pytest
from anybinder import driver
from anybinder.driver import (ACCEPTS_FDS, BC_REPLY, BC_TRANSACTION, BR_REPLY, BR_TRANSACTION, FILE,
                              LIBC, OBJECT, TF_ACCEPT_FDS, free_buffer)
from anybinder.process import ready_child, run_child
from pairs import Party

NEWNS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
HUGE = 2 << 20
MADV_HUGEPAGE, MAP_FIXED = 14, 0x10
DATA = os.urandom(300000)


def echo_with_a_file(ready, path):
    """Replies with what it got, and a file behind it."""
    service = Party(path)
    service.become_manager(ACCEPTS_FDS)
    ready()
    with open(os.devnull, "rb") as file:
        while True:
            code, argument = service.take()
            assert code == BR_TRANSACTION
            data = service.data_of(argument)
            service.due += free_buffer(argument)
            service.put(BC_REPLY, data + OBJECT.pack(FILE, 0, file.fileno(), 0), has_object=True)


@pytest.fixture(name="daemon", scope="module")
def serving_daemon():
    with hostile.Daemon() as daemon, ready_child(echo_with_a_file, daemon.path()):
        yield daemon


def check_reply(client, code, argument, data):
    assert code == BR_REPLY
    found = client.data_of(argument)
    fd = OBJECT.unpack(found[len(data):])[2] & 0xFFFFFFFF
    assert found[:len(data)] == data and os.fstat(fd).st_rdev == os.stat(os.devnull).st_rdev
    os.close(fd)
    client.due += free_buffer(argument)


@pytest.mark.parametrize("flags, uid", [
    (NEWNS | NEWPID | NEWNET, None), (NEWUSER, None), (NEWUSER | NEWNS | NEWPID, 70001)])
def test_namespaces_in_the_middle_of_a_call(daemon, flags, uid):
    def call():
        client = Party(daemon.path())
        for is_there in False, True:
            client.put(BC_TRANSACTION, b"data", TF_ACCEPT_FDS)
            client.flush()
            assert is_there or LIBC.unshare(flags) == 0
            check_reply(client, *client.take(), b"data")

    run_child(call, uid=uid)


class Placed(Party):
    """Its buffer is at an address."""

    def __init__(self, path, address):    # pylint: disable=super-init-not-called
        self.due, self.codes = b"", collections.deque()
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        where = mmap.MAP_PRIVATE | MAP_FIXED
        assert LIBC.mmap(address, driver.MAP_SIZE, mmap.PROT_READ, where, self.fd, 0) == address
        self.write_read(b"", 64)

    def data_of(self, argument):
        head = driver.Transaction.of(argument)
        return ctypes.string_at(head.data_at, head.data_size)


@pytest.mark.parametrize("offset", [0, HUGE // 2, HUGE - 4096])
def test_memory_in_huge_pages(daemon, offset):
    """What is sent, across the edge of two, and the receiver's buffer in their middle."""
    def call():
        plain = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        at = (LIBC.mmap(None, 4 * HUGE, mmap.PROT_READ | mmap.PROT_WRITE, plain, -1, 0)
              + HUGE - 1) & -HUGE
        LIBC.madvise(at, 3 * HUGE, MADV_HUGEPAGE)    # a kernel may have none
        ctypes.memset(at, 1, 3 * HUGE)
        sent = at + 2 * HUGE - len(DATA) // 2
        ctypes.memmove(sent, DATA, len(DATA))
        client = Placed(daemon.path(), at + offset)
        for _ in range(2):
            client.due += struct.pack("<I", BC_TRANSACTION) + driver.TRANSACTION.pack(
                0, 0, 1, TF_ACCEPT_FDS, 0, 0, len(DATA), 0, sent, 0)
            check_reply(client, *client.take(), DATA)

    run_child(call)
