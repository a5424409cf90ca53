# SPDX-License-Identifier: GPL-2.0
"""Device files that are bind-mounted: several opens of one inode, each with its own buffer."""
import contextlib
import ctypes
import errno
import mmap
import os
import signal
import subprocess
import sys

import pytest
from anybinder import driver
from anybinder.daemon import Daemon
from anybinder.driver import LIBC, Client
from anybinder.process import child, run_child, until
from served import Foreground, expect_error, server

BUILDS = ("anybinderd-asan",)
MS_BIND = 4096


def bind(source, target):
    """mount(2) in this thread."""
    if LIBC.mount(source.encode(), target.encode(), None, MS_BIND, None):
        raise OSError(ctypes.get_errno(), "mount")


def forced_write_or_skip():
    """The kernel must let a process that traces nobody write to read-only private pages."""
    with open(__file__, "rb") as file, open("/proc/self/mem", "r+b", buffering=0) as memory:
        page = mmap.mmap(file.fileno(), 1, mmap.MAP_PRIVATE, mmap.PROT_READ)
        memory.seek(driver.address_of(page))
        try:
            memory.write(page[:1])
        except OSError as error:
            pytest.skip("bound files need proc_mem.force_override=always: writing to "
                       f"/proc/self/mem: {error}")


@contextlib.contextmanager
def bound(daemon, directory, name="binder"):
    """A bind mount of a device file; the path."""
    forced_write_or_skip()
    path = os.path.join(directory, f"bound-{name}")
    with open(path, "wb"):
        pass
    subprocess.run(["mount", "--bind", daemon.path(name), path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def call_often(client, count=100):
    for size in range(1, count * 700, 700):
        data = os.urandom(size)
        assert client.call(data) == data, f"{size} bytes"


def test_many_processes_use_one_bound_file(directory):
    for option in "--threads=2", "--no-passthrough", "--threads=1":
        with Daemon(directory, option) as daemon, bound(daemon, directory) as path, \
                server(path), contextlib.ExitStack() as stack:
            clients = [stack.enter_context(child(lambda: call_often(Client(path))))
                       for _ in range(6)]
            for pid in clients:
                assert os.waitpid(pid, 0)[1] == 0, f"{option}: a client failed"


def test_bound_and_direct_opens_meet(directory):
    with Daemon(directory) as daemon, bound(daemon, directory) as path:
        for manager, caller in (daemon.path("binder"), path), (path, daemon.path("binder")):
            with server(manager):
                run_child(lambda name: call_often(Client(name), 20), caller)
                run_child(lambda name: call_often(Client(name), 20), caller)


ATTRIBUTES = {    # the kernel opens the file's inode again to serve them
    "FS_IOC_GETFLAGS": 0x80086601,
    "FS_IOC_SETFLAGS": 0x40086602,
    "FS_IOC_FSGETXATTR": 0x801C581F,
    "FS_IOC_FSSETXATTR": 0x401C5820,
}


def test_attributes_are_refused_as_by_the_kernels_driver_and_open_nothing(directory):
    def ask(path):
        fd = os.open(path, os.O_RDWR)
        expect_error(errno.EMFILE, os.open, path, os.O_RDWR)    # no further client has a place
        for number in ATTRIBUTES.values():
            for _ in range(3):
                expect_error(errno.EINVAL, driver.ioctl, fd, number, bytes(28))
        run = subprocess.run(["lsattr", path], capture_output=True, text=True, check=False)
        assert "Stale" not in run.stderr and "busy" not in run.stderr, run.stderr
        os.close(fd)

    with Daemon(directory, "--max-procs=1") as daemon, bound(daemon, directory) as path:
        for name in path, daemon.path("binder"), path:
            run_child(ask, name)
            run_child(lambda name: Client(name), name)


class Unmapped(Client):
    """An open that is mapped later, so that the order differs from that of the opens."""

    def __init__(self, path):    # pylint: disable=super-init-not-called
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def map_it(self):
        self.map = mmap.mmap(self.fd, driver.MAP_SIZE, mmap.MAP_PRIVATE, mmap.PROT_READ)
        self.base = driver.address_of(self.map)
        self.write_read(b"", 64)


def test_opens_of_one_process_get_their_own_mappings(directory):
    def several():
        clients = [Unmapped(path) for _ in range(8)]
        for client in reversed(clients):
            client.map_it()
        for client in clients[1::2] + clients[::2]:
            call_often(client, 20)

    for option in "--threads=2", "--no-passthrough", "--threads=1":
        with Daemon(directory, option) as daemon, bound(daemon, directory) as path, server(path):
            run_child(several)


def test_no_open_sees_pages_of_another(directory):
    def spy():
        client = Client(path)
        call_often(client, 5)
        spies = [mmap.mmap(os.open(path, os.O_RDWR), 4 << 20, flags, mmap.PROT_READ)
                 for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED)]
        client.call(b"secret" * 4000)
        assert b"secret" in client.map[:], "the buffer is not where it is looked for"
        for pages in spies:
            assert not any(pages[:]), "data of another open"

    for option in "--threads=2", "--no-passthrough":
        with Daemon(directory, option) as daemon, bound(daemon, directory) as path, server(path):
            run_child(spy)


def test_pages_of_a_direct_open_do_not_stay(directory):
    """An inode that a direct open has used is bound, and opened again after that open."""
    forced_write_or_skip()

    def direct():
        client = Client(daemon.path("binder"))
        client.call(b"secret" * 4000)
        bind(f"/proc/self/fd/{client.fd}", path)    # mount(8) would look the path up
        expect_error(errno.EBUSY, os.open, path, os.O_RDWR)

    def later():
        pages = mmap.mmap(os.open(path, os.O_RDWR), 4 << 20, mmap.MAP_PRIVATE, mmap.PROT_READ)
        assert not any(pages[:]), "data of another open"

    for option in "--threads=2", "--no-passthrough":
        with Daemon(directory, option) as daemon, server(daemon.path("binder")):
            path = os.path.join(directory, "bound")
            with open(path, "wb"):
                pass
            try:
                run_child(direct)
                run_child(later)
            finally:
                subprocess.run(["umount", "--lazy", path], check=False)


def test_opens_do_not_wait_for_pages_that_others_read(directory):
    """A page that is being read is locked until the daemon replies, which has one worker here."""
    def touch():
        pages = mmap.mmap(os.open(path, os.O_RDWR), 4 << 20, mmap.MAP_PRIVATE, mmap.PROT_READ)
        while True:
            assert not any(pages[::mmap.PAGESIZE]), "data of another open"

    def open_often():
        for _ in range(100):
            os.close(os.open(path, os.O_RDWR))

    with Daemon(directory, "--no-passthrough", "--threads=1") as daemon, \
            bound(daemon, directory) as path, child(touch), child(open_often) as pid:
        until(lambda: os.waitpid(pid, os.WNOHANG) == (pid, 0), 120)


def test_binding_and_executing_in_one_thread(directory):
    """As bwrap does: one thread binds the file and then becomes the client."""
    forced_write_or_skip()

    script = ("import sys; sys.path.insert(0, sys.argv[2]); from anybinder.driver import Client\n"
              "import os\n"
              "client = Client(sys.argv[1])\n"
              "assert client.call(b'x' * 9000) == b'x' * 9000\n"
              "os.close(os.open(sys.argv[1], os.O_RDWR))")

    def bind_and_exec():
        path = os.path.join(directory, "target")
        with open(path, "wb"):
            pass
        bind(daemon.path("binder"), path)
        os.execv(sys.executable, [sys.executable, "-c", script, path,
                                  os.path.dirname(os.path.dirname(driver.__file__))])

    with Daemon(directory) as daemon, server(daemon.path("binder")):
        try:
            run_child(bind_and_exec)
        finally:
            subprocess.run(["umount", "--lazy", os.path.join(directory, "target")], check=False)


def test_death_of_an_owner_is_noticed_beside_a_fork(directory):
    """A mapping inherited by fork does not keep the open of a dead owner (see device_not_held)."""
    def owner():
        Client(path).write_read(b"", 0)
        pid = os.fork()
        if not pid:
            os.closerange(3, 64)
            signal.pause()
        os.write(notify, b"%d\n" % pid)
        signal.pause()

    with Daemon(directory) as daemon, bound(daemon, directory) as path, server(path):
        ready, notify = os.pipe()
        with child(owner) as pid:
            orphan = int(os.read(ready, 16))
            assert str(pid) in os.listdir(daemon.path("binder_logs/proc"))
        try:
            until(lambda: str(pid) not in os.listdir(daemon.path("binder_logs/proc")), 8)
        finally:
            os.kill(orphan, signal.SIGKILL)


def test_without_the_right_to_write_it_is_refused_and_explained(directory):
    """The daemon may not trace its clients: EPERM, and a message that says what to do."""
    without = "setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"
    with Foreground(directory, before=without) as daemon:
        os.close(os.open(daemon.path("binder"), os.O_RDWR))
        with bound(daemon, directory) as path:
            expect_error(errno.EPERM, os.open, path, os.O_RDWR)
        assert "Bind the directory of the devices and link the name" in daemon.log(), daemon.log()
