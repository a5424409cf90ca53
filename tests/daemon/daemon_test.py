#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The daemon from outside: start and exit, error messages, limits, hostile clients.

Each test is a function named after what it shows; it gets its own empty directory.
"""
import contextlib
import ctypes
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import binder_client
from binder_client import Client

DAEMON = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/bin/anybinderd")
NAME = os.path.basename(DAEMON)
OWN_MOUNTS = os.path.abspath(os.path.join(os.path.dirname(__file__), "../own-mounts"))
UNPRIVILEGED = 65534
STATX_BTIME = 0x800


class Skip(Exception):
    """A requirement of the test is missing on this machine."""


class Daemon:
    """anybinderd in the background, at DIRECTORY/mnt. It ends when its server process crashes, so
    that no test passes in spite of that."""
    recovery = ("--max-crashes=1",)

    def __init__(self, directory, *options):
        self.mnt = os.path.join(directory, "mnt")
        self.pid_file = os.path.join(directory, "pid")
        self.options = options
        self.pid = 0

    def __enter__(self):
        done = start(self.mnt, "--pid-file", self.pid_file, *self.recovery, *self.options)
        assert done.returncode == 0, done.stderr
        with open(self.pid_file, encoding="utf-8") as file:
            self.pid = int(file.read())
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, how=signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)
        until(lambda: not is_running(self.pid))

    def crash(self):    # no process can clean up
        pids = self.pid, self.server_pid()
        for pid, how in zip(pids + pids[:1], (signal.SIGSTOP, signal.SIGKILL, signal.SIGKILL)):
            os.kill(pid, how)
        until(lambda: not any(map(is_running, pids)))

    def server_pid(self):
        """The process that serves, a child of the one that is started and stopped."""
        pid, = children_of(self.pid)
        return pid

    def path(self, name):
        return os.path.join(self.mnt, name)

    def threads(self):
        return len(os.listdir(f"/proc/{self.server_pid()}/task"))


def start(mountpoint, *options, before=(), **kwargs):
    return subprocess.run([*before, DAEMON, mountpoint, *options], capture_output=True, text=True,
                          timeout=20, check=False, **kwargs)


def stat_of(pid):
    """Name and state."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
    return name, rest.split()[0]


def is_running(pid):
    try:
        return stat_of(pid)[1] not in "ZX"
    except OSError:
        return False


def children_of(pid):
    pids = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError), open(
                f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
            pids += map(int, file.read().split())
    return pids


def helper_of(parent):
    """The helper of the server process @parent; 0: none."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/status", encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            if "Name:\tanybinder-files\n" in text and f"PPid:\t{parent}\n" in text:
                if "State:\tZ" not in text:
                    return int(name)
    return 0


def is_mounted(path):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return any(line.split()[4] == path for line in file)


def is_dead(mountpoint):
    try:
        os.listdir(mountpoint)
    except OSError as error:
        return error.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    return False


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.005)


@contextlib.contextmanager
def child(function, *args, uid=0):
    """Runs function in a child process, which is killed at the end. Yields its pid."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            if uid:
                os.setgid(uid)
                os.setuid(uid)
            function(*args)
            status = 0
        finally:
            os._exit(status)
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def run_child(function, *args, uid=0):
    with child(function, *args, uid=uid) as pid:
        assert os.waitpid(pid, 0)[1] == 0, "the child failed"


@contextlib.contextmanager
def server(path):
    """A child process: context manager of the device, echoes each transaction."""
    ready, notify = os.pipe()

    def serve():
        manager = Client(path)
        # the one before may have been killed a moment ago
        until(lambda: succeeds(manager.become_manager))
        os.write(notify, b"x")
        manager.serve()

    with child(serve) as pid:
        os.close(notify)
        assert os.read(ready, 1) == b"x", "there is no context manager"
        yield pid
    os.close(ready)


def assert_served(daemon, within_s=2.0):
    """A new client receives a reply in time."""
    def one_call():
        assert Client(daemon.path("binder")).call(b"hello") == b"hello"

    begin = time.monotonic()
    run_child(one_call)
    assert time.monotonic() - begin < within_s, "served too late"


def expect_error(number, function, *args):
    try:
        function(*args)
    except OSError as error:
        assert error.errno == number, f"{error} instead of {errno.errorcode[number]}"
        return
    raise AssertionError(f"no {errno.errorcode[number]}")


# ---- start and end -----------------------------------------------------------------------------

def start_returns_when_devices_can_be_used(directory):
    with Daemon(directory) as daemon:
        for name in ("binder", "hwbinder", "vndbinder"):
            Client(daemon.path(name)).close()
        assert not os.stat(daemon.path("binder")).st_mode & 0o077


def start_takes_names_and_owner(directory):
    with Daemon(directory, "--devices=one,two", "--mode=0620", "--uid=7", "--gid=8") as daemon:
        assert sorted(os.listdir(daemon.mnt)) == ["binder-control", "binder_logs", "features",
                                                  "one", "two"]
        state = os.stat(daemon.path("one"))
        assert (state.st_mode & 0o777, state.st_uid, state.st_gid) == (0o620, 7, 8)


def start_and_stop_notify_systemd(directory):
    address = os.path.join(directory, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(address)
        sock.settimeout(5)
        os.environ["NOTIFY_SOCKET"] = address
        try:
            with Daemon(directory) as daemon:
                assert sock.recv(200).decode().split() == ["READY=1", f"MAINPID={daemon.pid}"]
        finally:
            del os.environ["NOTIFY_SOCKET"]
        assert sock.recv(200) == b"STOPPING=1"


def end_leaves_nothing_behind(directory):
    with Daemon(directory) as daemon:
        assert is_mounted(daemon.mnt)
    assert not is_mounted(daemon.mnt)
    assert os.listdir(directory) == []


def end_comes_with_umount(directory):
    with Daemon(directory) as daemon:
        subprocess.run(["umount", daemon.mnt], check=True)
        until(lambda: not is_running(daemon.pid))


def end_by_the_kernel_is_an_error(directory):
    control = os.path.join(directory, "fusectl")
    os.mkdir(control)
    if subprocess.run(["mount", "-t", "fusectl", "none", control], check=False,
                      capture_output=True).returncode:
        raise Skip("no fusectl")
    mnt, served = os.path.join(directory, "mnt"), os.path.join(directory, "pid")
    with subprocess.Popen([DAEMON, mnt, "--foreground", "--pid-file", served],
                          stderr=subprocess.PIPE, text=True) as daemon:
        until(lambda: os.path.exists(served))
        connection = os.minor(os.stat(mnt).st_dev)
        with open(os.path.join(control, str(connection), "abort"), "w", encoding="ascii") as file:
            file.write("1")
        _, text = daemon.communicate(timeout=5)
        assert daemon.returncode == 1 and "has aborted the connection" in text, text
    assert not is_mounted(mnt)
    subprocess.run(["umount", control], check=True)


def second_daemon_is_refused(directory):
    with Daemon(directory) as daemon:
        done = start(daemon.mnt)
        assert done.returncode == 1 and "already mounted" in done.stderr
        Client(daemon.path("binder")).close()


def dead_mount_is_cleared(directory):
    with Daemon(directory) as daemon:
        daemon.crash()
        until(lambda: is_dead(daemon.mnt))
        with Daemon(directory) as again:
            Client(again.path("binder")).close()
            assert not is_mounted(daemon.mnt + "x")
    assert not is_mounted(daemon.mnt)


def killed_daemon_lets_waiting_clients_go(directory):
    with Daemon(directory) as daemon:
        ready, notify = os.pipe()

        def wait():
            client = Client(daemon.path("binder"))
            os.write(notify, b"x")
            expect_error(errno.ECONNABORTED, client.write_read, b"", 256)

        with child(wait) as pid:
            os.read(ready, 1)
            time.sleep(0.05)
            daemon.crash()
            assert os.waitpid(pid, 0)[1] == 0
        subprocess.run(["umount", "-l", daemon.mnt], check=True)


def errors_are_printed_at_start(directory):
    file = os.path.join(directory, "file")
    with open(file, "w", encoding="utf-8"):
        pass
    for options, status, word in (
            ([file], 1, "not a directory"), ([directory, "--bogus"], 2, "--help"),
            ([], 2, "no mount"),
            ([directory, "--mode=9"], 2, "--mode: expected an octal number"),
            ([directory, "--devices=a/b"], 1, "a/b"),
            ([directory, "--devices=a,a"], 1, "exists"), ([directory, "b"], 2, "more than one")):
        done = subprocess.run([DAEMON, *options], capture_output=True, text=True, timeout=20,
                              check=False)
        assert (done.returncode, word in done.stderr) == (status, True), (options, done)
    assert not is_mounted(directory)


def selinux_without_a_policy_is_an_error(directory):
    if os.path.exists("/sys/fs/selinux/access"):
        raise Skip("there is a policy")
    mnt = os.path.join(directory, "mnt")
    done = start(mnt, "--selinux")
    assert done.returncode == 1 and "no policy can be asked" in done.stderr, done.stderr
    assert not os.path.exists(mnt)


def missing_fuse_is_explained(directory):
    mnt = os.path.join(directory, "mnt")
    done = subprocess.run([OWN_MOUNTS, "sh", "-c", f"mount -t tmpfs t /dev && {DAEMON} {mnt}"],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "/dev/fuse is missing" in done.stderr, done.stderr
    assert not os.path.exists(mnt)


def requests_that_the_daemon_does_not_know_are_refused(directory):
    """Of statx(2) and copy_file_range(2), which newer kernels send; the sanitizers see the rest."""
    mnt, served = os.path.join(directory, "mnt"), os.path.join(directory, "pid")
    with subprocess.Popen([DAEMON, mnt, "--foreground", "--pid-file", served],
                          stderr=subprocess.PIPE, text=True) as daemon:
        try:
            until(lambda: os.path.exists(served))
            found = ctypes.create_string_buffer(256)
            assert not binder_client.LIBC.statx(-100, os.path.join(mnt, "binder").encode(), 0,
                                                STATX_BTIME, found)
            source, target = (os.open(os.path.join(mnt, name), os.O_RDWR)
                              for name in ("binder", "hwbinder"))
            # EXDEV, EOPNOTSUPP, EBADF...: it depends on the kernel, which may copy by reads
            with contextlib.suppress(OSError):
                os.copy_file_range(source, target, 4096)
            os.close(source)
            os.close(target)
            Client(os.path.join(mnt, "binder")).close()
        finally:
            daemon.terminate()
        _, text = daemon.communicate(timeout=20)
    assert daemon.returncode == 0 and "runtime error" not in text, text


# ---- limits ------------------------------------------------------------------------------------

def opens_are_limited(directory):
    with Daemon(directory, "--max-procs=5") as daemon:
        clients = [Client(daemon.path("binder")) for _ in range(5)]
        expect_error(errno.EMFILE, Client, daemon.path("binder"))
        clients.pop().close()
        until(lambda: succeeds(Client, daemon.path("binder")))


def succeeds(function, *args):
    try:
        function(*args)
    except OSError:
        return False
    return True


def add_device(control, name):
    binder_client.ioctl(control, binder_client.CTL_ADD, ctypes.create_string_buffer(name, 264))


def opens_of_one_user_are_limited(directory):
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


def devices_are_limited(directory):
    with Daemon(directory, "--devices=a", "--max-devices=2") as daemon:
        fd = os.open(daemon.path("binder-control"), os.O_RDWR)
        add_device(fd, b"b")
        expect_error(errno.ENOSPC, add_device, fd, b"c")
        os.unlink(daemon.path("b"))
        until(lambda: succeeds(add_device, fd, b"c"))    # once the kernel has dropped b
        os.close(fd)


def open_reports_are_limited(directory):
    os.chmod(directory, 0o755)
    with Daemon(directory) as daemon:
        def too_many():
            held = [open(daemon.path("binder_logs/state"), "rb") for _ in range(64)]
            expect_error(errno.ENFILE, open, daemon.path("binder_logs/state"), "rb")
            assert len(held) == 64

        run_child(too_many, uid=UNPRIVILEGED)
        with open(daemon.path("binder_logs/state"), encoding="utf-8") as file:
            assert file.read().startswith("binder state:")


def reports_show_priorities_as_android_does(directory):
    line = r"^  node \d+: u\w+ c\w+{} hs \d+ hw \d+ ls \d+ lw \d+ is \d+ iw \d+ tr \d+"
    for options, words in (((), ""), (("--android-reports",), r" pri 0:\d+")):
        with Daemon(directory, *options) as daemon:
            Client(daemon.path("binder")).become_manager()
            for name in ("state", f"proc/{os.getpid()}"):
                with open(daemon.path(f"binder_logs/{name}"), encoding="utf-8") as file:
                    text = file.read()
                assert len(re.findall(line.format(words), text, re.M)) == 1, text


def ended_threads_do_not_pile_up(directory):
    with Daemon(directory) as daemon:
        client = Client(daemon.path("binder"))

        def come_and_go():
            client.write_read(b"", 64)
            # as libbinder does: FUSE fails to copy the null pointer, the daemon gets no request
            expect_error(errno.EFAULT, binder_client.ioctl, client.fd, binder_client.THREAD_EXIT,
                         None)

        for _ in range(500):
            thread = threading.Thread(target=come_and_go)
            thread.start()
            thread.join()
        with open(daemon.path(f"binder_logs/proc/{os.getpid()}"), encoding="utf-8") as file:
            assert file.read().count("  thread ") < 100


def idle_clients_cost_no_threads(directory):
    with Daemon(directory) as daemon, contextlib.ExitStack() as stack:
        before = daemon.threads()
        ready, notify = os.pipe()

        def wait():
            client = Client(daemon.path("binder"))
            os.write(notify, b"x")
            client.write_read(b"", 256)

        for _ in range(30):
            stack.enter_context(child(wait))
            os.read(ready, 1)
        time.sleep(0.05)
        assert daemon.threads() == before


# ---- hostile clients ---------------------------------------------------------------------------

def ended_open(daemon):
    """An open in a message, where nobody is seen to hold it as its owner dies, and so it ends."""
    one, other = socket.socketpair()

    def send():
        client = Client(daemon.path("binder"))
        socket.send_fds(one, [b"x"], [client.fd])
        time.sleep(60)

    with child(send) as owner, one, other:
        other.recv(1, socket.MSG_PEEK)
        os.kill(owner, signal.SIGKILL)
        until(lambda: not os.path.exists(daemon.path(f"binder_logs/proc/{owner}")))
        return socket.recv_fds(other, 1, 1)[1][0]


def an_ended_open_can_be_used_and_closed(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        fd = ended_open(daemon)
        for _ in range(3):
            expect_error(errno.EBADF, binder_client.ioctl, fd, binder_client.THREAD_EXIT,
                         ctypes.create_string_buffer(4))
            os.close(os.dup(fd))
        os.close(fd)
        assert_served(daemon)


def storm_of_signals_and_deaths_leaves_nothing(directory):
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


# ---- running the tests -------------------------------------------------------------------------

def tests_in(names):
    """The tests among the globals of a module."""
    return [value for value in list(names.values())
            if callable(value) and getattr(value, "__code__", None)
            and value.__code__.co_varnames[:value.__code__.co_argcount] == ("directory",)]


def run(test):
    directory = tempfile.mkdtemp(prefix="daemon-test.")
    try:
        test(directory)
        return "passed", ""
    except Skip as why:
        return "skipped", str(why)
    except Exception as error:    # pylint: disable=broad-except
        places = " < ".join(f"{os.path.basename(at.filename)}:{at.lineno} {at.name}" for at in
                            reversed(traceback.extract_tb(error.__traceback__)[1:]))
        return "failed", f"{type(error).__name__}: {error}\n    {places}"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main(tests, name=NAME):
    if os.geteuid():
        print(f"{name}: 0 passed, 0 failed, 1 skipped (needs root)")
        return 0
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in tests:
        outcome, why = run(test)
        counts[outcome] += 1
        if outcome != "passed":
            print(f"{outcome}: {test.__name__}: {why}")
    print(f"{name}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(tests_in(globals())))
