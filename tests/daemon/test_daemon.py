# SPDX-License-Identifier: GPL-2.0
"""The daemon from outside: start and exit, error messages, limits, hostile clients.

Each test is a function named after what it shows; it gets its own empty directory.
"""
import contextlib
import ctypes
import errno
import mmap
import os
import re
import signal
import subprocess
import threading
import time

import pytest
from anybinder import driver
from anybinder.daemon import Daemon, start
from anybinder.driver import LIBC, Client
from anybinder.process import (
    child,
    in_own_mounts,
    is_mounted,
    is_running,
    own_mounts,
    ready_child,
    run_child,
    until,
)
from served import (
    Foreground,
    add_device,
    anybinderd,
    assert_served,
    ended_open,
    expect_error,
    is_dead,
    server,
    succeeds,
)

BUILDS = ("anybinderd", "anybinderd-asan")
UNPRIVILEGED = 65534
DEADLINE_S = 30
STATX_BTIME = 0x800


# ---- start and end -----------------------------------------------------------------------------

def test_start_returns_when_devices_can_be_used(directory):
    with Daemon(directory) as daemon:
        for name in ("binder", "hwbinder", "vndbinder"):
            Client(daemon.path(name)).close()
        assert not os.stat(daemon.path("binder")).st_mode & 0o077


@pytest.mark.usefixtures("root")
def test_start_without_proc_says_so(directory):
    with own_mounts("mount -t tmpfs none /proc") as before:
        done = start(f"{directory}/mnt", before=tuple(before))
    assert done.returncode == 1
    assert "mount -t proc proc /proc" in done.stderr


def test_start_takes_names_and_owner(directory):
    with Daemon(directory, "--devices=one,two", "--mode=0620", "--uid=7", "--gid=8") as daemon:
        assert sorted(os.listdir(daemon.mnt)) == ["binder-control", "binder_logs", "features",
                                                  "one", "two"]
        # No transaction_report: a daemon has no family of generic netlink.
        assert sorted(os.listdir(daemon.path("features"))) == [
            "extended_error", "freeze_notification", "oneway_spam_detection"]
        state = os.stat(daemon.path("one"))
        assert (state.st_mode & 0o777, state.st_uid, state.st_gid) == (0o620, 7, 8)


def test_a_mapping_cannot_be_made_executable(directory):
    """The mount is noexec."""
    with Daemon(directory) as daemon, Client(daemon.path("binder")) as client:
        page = ctypes.c_void_p(client.base), ctypes.c_size_t(mmap.PAGESIZE)
        assert LIBC.mprotect(*page, mmap.PROT_READ) == 0
        assert LIBC.mprotect(*page, mmap.PROT_READ | mmap.PROT_EXEC) == -1
        assert ctypes.get_errno() == errno.EACCES


def test_end_leaves_nothing_behind(directory):
    with Daemon(directory) as daemon:
        assert is_mounted(daemon.mnt)
    assert not is_mounted(daemon.mnt)
    assert os.listdir(directory) == []


def test_end_comes_with_umount(directory):
    with Daemon(directory) as daemon:
        subprocess.run(["umount", daemon.mnt], check=True)
        until(lambda: not is_running(daemon.pid))


def test_no_directory_takes_the_place_of_a_device(directory):
    """As a container runtime makes them for paths that are to be bound and are missing."""
    try:
        for _ in range(2):
            with Daemon(directory, "--seal") as daemon:
                Client(daemon.path("binder")).close()
            with pytest.raises(OSError) as refused:
                os.mkdir(daemon.path("binder"))
            assert refused.value.errno == errno.EROFS
    finally:
        subprocess.run(["umount", daemon.mnt], check=True)
    assert not is_mounted(daemon.mnt), "there is one seal"


@contextlib.contextmanager
def fusectl(directory):
    """Gives a function that has the kernel end the connection of a mount, by its st_dev."""
    control = os.path.join(directory, "fusectl")
    os.mkdir(control)
    if subprocess.run(["mount", "-t", "fusectl", "none", control], check=False,
                      capture_output=True).returncode:
        pytest.skip("no fusectl")

    def abort(device):
        path = os.path.join(control, str(os.minor(device)), "abort")
        with open(path, "w", encoding="ascii") as file:
            file.write("1")

    try:
        yield abort
    finally:
        subprocess.run(["umount", control], check=True)


def test_end_by_the_kernel_is_an_error(directory):
    with fusectl(directory) as abort, Foreground(directory) as daemon:
        abort(os.stat(daemon.mnt).st_dev)
        assert daemon.process.wait(DEADLINE_S) == 1
        assert "has aborted the connection" in daemon.log(), daemon.log()
        assert not is_mounted(daemon.mnt)


def test_end_that_comes_late_leaves_the_next_daemon_its_mount(directory):
    """The daemon stands still between the end of its connection and that of its mount."""
    with fusectl(directory) as abort, Daemon(directory) as daemon:
        processes, device = (daemon.pid, daemon.server_pid()), os.stat(daemon.mnt).st_dev
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        abort(device)
        with Daemon(directory) as again:
            for pid in processes:
                os.kill(pid, signal.SIGCONT)
            until(lambda: not any(map(is_running, processes)))
            Client(again.path("binder")).close()


@pytest.mark.parametrize("crashes", [False, True])
def test_end_of_a_daemon_whose_mount_has_gone_leaves_the_next_ones(directory, crashes):
    """Its connection lives, since a client has a file open."""
    with Daemon(directory) as daemon:
        client = Client(daemon.path("binder"))
        subprocess.run(["umount", "--lazy", daemon.mnt], check=True)
        with Daemon(directory) as again:
            processes = daemon.pid, daemon.server_pid()
            os.kill(processes[crashes], signal.SIGKILL if crashes else signal.SIGTERM)
            until(lambda: not any(map(is_running, processes)))
            Client(again.path("binder")).close()
        with contextlib.suppress(OSError):    # its daemon has gone
            client.close()


def test_second_daemon_is_refused(directory):
    with Daemon(directory) as daemon:
        done = start(daemon.mnt)
        assert done.returncode == 1 and "already mounted" in done.stderr
        Client(daemon.path("binder")).close()


def test_dead_mount_is_cleared(directory):
    with Daemon(directory) as daemon:
        daemon.crash()
        until(lambda: is_dead(daemon.mnt))
        with Daemon(directory) as again:
            Client(again.path("binder")).close()
            assert not is_mounted(daemon.mnt + "x")
    assert not is_mounted(daemon.mnt)


def test_killed_daemon_lets_waiting_clients_go(directory):
    with Daemon(directory) as daemon:
        def wait(ready):
            client = Client(daemon.path("binder"))
            ready()
            expect_error(errno.ECONNABORTED, client.write_read, b"", 256)

        with ready_child(wait) as pid:
            time.sleep(0.05)
            daemon.crash()
            assert os.waitpid(pid, 0)[1] == 0
        subprocess.run(["umount", "-l", daemon.mnt], check=True)


def test_errors_are_printed_at_start(directory):
    file = os.path.join(directory, "file")
    with open(file, "w", encoding="utf-8"):
        pass
    for options, status, word in (
            ([file], 1, "not a directory"), ([directory, "--bogus"], 2, "--help"),
            ([], 2, "no mount"),
            ([directory, "--mode=9"], 2, "--mode: expected an octal number"),
            ([directory, "--devices=a/b"], 1, "a/b"),
            ([directory, "--devices=a,a"], 1, "exists"), ([directory, "b"], 2, "more than one")):
        done = subprocess.run([anybinderd(), *options], capture_output=True, text=True, timeout=20,
                              check=False)
        assert (done.returncode, word in done.stderr) == (status, True), (options, done)
    assert not is_mounted(directory)


def test_selinux_without_a_policy_is_an_error(directory):
    if os.path.exists("/sys/fs/selinux/access"):
        pytest.skip("there is a policy")
    mnt = os.path.join(directory, "mnt")
    done = start(mnt, "--selinux")
    assert done.returncode == 1 and "no policy can be asked" in done.stderr, done.stderr
    assert not os.path.exists(mnt)


def test_missing_fuse_is_explained(directory):
    mnt = os.path.join(directory, "mnt")
    words = in_own_mounts("sh", "-c", f"mount -t tmpfs t /dev && {anybinderd()} {mnt}")
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "/dev/fuse is missing" in done.stderr, done.stderr
    assert not os.path.exists(mnt)


def test_requests_that_the_daemon_does_not_know_are_refused(directory):
    """Of statx(2) and copy_file_range(2), which newer kernels send; the sanitizers see the rest."""
    with Foreground(directory) as daemon:
        found = ctypes.create_string_buffer(256)
        assert not LIBC.statx(-100, daemon.path("binder").encode(), 0, STATX_BTIME, found)
        source, target = (os.open(daemon.path(name), os.O_RDWR) for name in ("binder", "hwbinder"))
        # EXDEV, EOPNOTSUPP, EBADF...: it depends on the kernel, which may copy by reads
        with contextlib.suppress(OSError):
            os.copy_file_range(source, target, 4096)
        os.close(source)
        os.close(target)
        Client(daemon.path("binder")).close()
    assert daemon.process.returncode == 0 and "runtime error" not in daemon.log(), daemon.log()


# ---- limits ------------------------------------------------------------------------------------

def test_opens_are_limited(directory):
    with Daemon(directory, "--max-procs=5") as daemon:
        clients = [Client(daemon.path("binder")) for _ in range(5)]
        expect_error(errno.EMFILE, Client, daemon.path("binder"))
        clients.pop().close()
        until(lambda: succeeds(Client, daemon.path("binder")))


def test_opens_of_one_user_are_limited(directory):
    os.chmod(directory, 0o755)
    with Daemon(directory, "--max-procs-per-uid=3", "--mode=0666") as daemon:
        path = daemon.path("binder")

        def too_many():
            clients = [Client(path) for _ in range(3)]
            expect_error(errno.EMFILE, Client, path)
            clients[0].call = None

        run_child(too_many, uid=UNPRIVILEGED)
        clients = [Client(path) for _ in range(4)]    # root has no limit
        assert len(clients) == 4


def test_devices_are_limited(directory):
    with Daemon(directory, "--devices=a", "--max-devices=2") as daemon:
        fd = os.open(daemon.path("binder-control"), os.O_RDWR)
        add_device(fd, b"b")
        expect_error(errno.ENOSPC, add_device, fd, b"c")
        os.unlink(daemon.path("b"))
        until(lambda: succeeds(add_device, fd, b"c"))    # once the kernel has dropped b
        os.close(fd)


def test_open_reports_are_limited(directory):
    os.chmod(directory, 0o755)
    with Daemon(directory) as daemon:
        def too_many():
            held = [open(daemon.path("binder_logs/state"), "rb") for _ in range(64)]
            expect_error(errno.ENFILE, open, daemon.path("binder_logs/state"), "rb")
            assert len(held) == 64

        run_child(too_many, uid=UNPRIVILEGED)
        with open(daemon.path("binder_logs/state"), encoding="utf-8") as file:
            assert file.read().startswith("binder state:")


def test_a_report_is_read_from_anywhere(directory):
    """As a seq_file is; what comes before is generated again."""
    with Daemon(directory) as daemon, contextlib.ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(Client(daemon.path("binder")))
        with open(daemon.path("binder_logs/state"), "rb") as file:
            text = file.read()
            assert len(text) > 40000
            for offset in (30000, 100, 101, 35000, 0, len(text) - 1, len(text), len(text) + 9):
                read = os.pread(file.fileno(), 1000, offset)
                assert read == text[offset:offset + 1000], offset
            os.pread(file.fileno(), 1, 0)
            expect_error(errno.ESPIPE, os.pread, file.fileno(), 1, 1 << 40)


def test_reports_show_priorities_as_android_does(directory):
    line = r"^  node \d+: u\w+ c\w+{} hs \d+ hw \d+ ls \d+ lw \d+ is \d+ iw \d+ tr \d+"
    for options, words in (((), ""), (("--android-reports",), r" pri 0:\d+")):
        with Daemon(directory, *options) as daemon:
            Client(daemon.path("binder")).become_manager()
            for name in ("state", f"proc/{os.getpid()}"):
                with open(daemon.path(f"binder_logs/{name}"), encoding="utf-8") as file:
                    text = file.read()
                assert len(re.findall(line.format(words), text, re.M)) == 1, text


def test_ended_threads_do_not_pile_up(directory):
    with Daemon(directory) as daemon:
        client = Client(daemon.path("binder"))

        def come_and_go():
            client.write_read(b"", 64)
            # as libbinder does: FUSE fails to copy the null pointer, the daemon gets no request
            expect_error(errno.EFAULT, driver.ioctl, client.fd, driver.THREAD_EXIT,
                         None)

        for _ in range(500):
            thread = threading.Thread(target=come_and_go)
            thread.start()
            thread.join()
        with open(daemon.path(f"binder_logs/proc/{os.getpid()}"), encoding="utf-8") as file:
            assert file.read().count("  thread ") < 100


def test_idle_clients_cost_no_threads(directory):
    with Daemon(directory) as daemon, contextlib.ExitStack() as stack:
        before = daemon.threads()

        def wait(ready):
            client = Client(daemon.path("binder"))
            ready()
            client.write_read(b"", 256)

        for _ in range(30):
            stack.enter_context(ready_child(wait))
        time.sleep(0.05)
        assert daemon.threads() == before


# ---- hostile clients ---------------------------------------------------------------------------

def test_an_ended_open_can_be_used_and_closed(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        fd = ended_open(daemon)
        for _ in range(3):
            expect_error(errno.EBADF, driver.ioctl, fd, driver.THREAD_EXIT,
                         ctypes.create_string_buffer(4))
            os.close(os.dup(fd))
        os.close(fd)
        assert_served(daemon)


def test_storm_of_signals_and_deaths_leaves_nothing(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        def call_for_ever():
            signal.signal(signal.SIGALRM, lambda *_: None)
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
            client = Client(daemon.path("binder"))
            while True:
                with contextlib.suppress(InterruptedError):
                    client.call(b"x" * 100)

        for _ in range(30):
            with contextlib.ExitStack() as stack:
                for _ in range(3):
                    stack.enter_context(child(call_for_ever))
                time.sleep(0.03)
        assert_served(daemon)
        until(lambda: len(os.listdir(daemon.path("binder_logs/proc"))) == 1)
