# SPDX-License-Identifier: GPL-2.0
"""What a process makes the driver allocate is charged to its control group, and bounded by it, and
freed with the open."""
import contextlib
import ctypes
import os
import struct
import sys
import tempfile
import time

import pytest
from anybinder.process import fork

sys.path += [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../daemon", part)
             for part in ("", "hostile")]
import test_memory as memory    # noqa: E402

pytestmark = [pytest.mark.vm("6.12", driver="module", timeout=600),
              pytest.mark.turn("memory of the module", "accounting")]
DEVICE = "/dev/binder"
PRINTK = "/proc/sys/kernel/printk"
MIB = 1 << 20
# What the process may have itself, and with 1,320,000 nodes may not have, nor with half of them.
LIMIT_MIB = 64
NODE_OPENS = 22
NODE_BYTES = 100    # at least
OPENS = 100


class Group:
    """A control group with the memory controller."""

    def __init__(self):
        self.root = tempfile.mkdtemp()
        assert not os.system(f"mount -t cgroup2 none {self.root}")
        self.write(self.root, "cgroup.subtree_control", "+memory")
        self.path = os.path.join(self.root, "attacker")
        os.mkdir(self.path)

    @staticmethod
    def write(path, name, text):
        with open(os.path.join(path, name), "w", encoding="ascii") as file:
            file.write(text)

    def enter(self):
        self.write(self.path, "cgroup.procs", str(os.getpid()))

    def used(self):
        with open(os.path.join(self.path, "memory.current"), encoding="ascii") as file:
            return int(file.read())

    def limit(self, size):
        self.write(self.path, "memory.max", str(size))


@pytest.fixture(scope="module")
def group():
    """One for all tests."""
    return Group()


def in_child(function, *args):
    """Returns the wait status."""
    return os.waitpid(fork(function, *args), 0)[1]


def fill(group, opens, report):
    """Nodes without end; writes by how much the group has grown to the pipe."""
    group.enter()
    call = memory.one_way_call(1 << 20, memory.MANY)
    each = memory.Open(DEVICE)
    before = group.used()
    kept = [each]
    for i in range(opens):
        kept[-1].send(call)
        del kept[-1].room
        if not i:
            os.write(report, b"%d" % (group.used() - before))
        kept.append(memory.Open(DEVICE))


def send_much(group):
    """One-way calls of 1 MiB, each to a receiver that then ends. The sender allocates the pages."""
    group.enter()
    data = ctypes.create_string_buffer(MIB)
    call = data, struct.pack("<I", memory.BC_TRANSACTION) + memory.TRANSACTION.pack(
        0, 0, 1, memory.TF_ONE_WAY, 0, 0, MIB, 0, ctypes.addressof(data), 0)
    for _ in range(OPENS):
        with memory.receiver(DEVICE):
            each = memory.Open(DEVICE)
            assert each.send(call)
            assert group.used() > MIB
            each.map.close()
            os.close(each.fd)


def test_pages_are_freed(group):
    before = group.used()
    assert not in_child(send_much, group)
    grown = (group.used() - before) // MIB
    print(f"{OPENS} opens with 1 MiB of pages: the control group grew by {grown} MiB")
    assert grown < OPENS // 4, "they are not freed"


def test_nodes_are_charged(group):
    out, report = os.pipe()
    # It frees nothing: a node whose owner was not notified yet ends with the last buffer.
    manager = memory.Manager(DEVICE)
    manager.become_manager()
    assert not in_child(fill, group, 1, report)
    manager.map.close()
    os.close(manager.fd)
    grown = int(os.read(out, 20))
    print(f"{memory.MANY} nodes: the control group grew by {grown // 1024} KiB")
    assert grown > memory.MANY * NODE_BYTES, "they are not charged"


@contextlib.contextmanager
def quiet_console():
    """The kernel logs a call trace when it kills for lack of memory, which vm/run takes for a
    fault."""
    with open(PRINTK, encoding="ascii") as file:
        before = file.read().split()[0]
    try:
        Group.write(*os.path.split(PRINTK), "1")
        yield
    finally:
        Group.write(*os.path.split(PRINTK), before)


def test_nodes_are_bounded(group):
    group.limit(LIMIT_MIB * MIB)
    with memory.receiver(DEVICE), quiet_console():
        begin = time.monotonic()
        status = in_child(fill, group, NODE_OPENS, os.open(os.devnull, os.O_WRONLY))
        print(f"wait status {status} after {time.monotonic() - begin:.1f} s, "
              f"{group.used() // MIB} MiB are left")
        assert status, "the limit was not enforced"
        with contextlib.closing(open(DEVICE, "rb")):    # others are not affected
            pass
