# SPDX-License-Identifier: GPL-2.0
"""Clients that delay the daemon's threads, or are many, do not prevent a hand-over.

It has a limit of time for each step (docs/SECURITY.md), after which it fails: so a hand-over that
succeeds has kept them. An argument is the number of processes.
"""
import contextlib
import gc
import os
import pathlib
import select
import signal
import time

import cgroup
import pytest
from anybinder.driver import (
    ACCEPTS_FDS,
    BR_TRANSACTION,
    FILE,
    LIBC,
    MAP_SIZE,
    OBJECT,
    TF_ACCEPT_FDS,
    TF_CLEAR_BUF,
    TF_ONE_WAY,
    Client,
)
from anybinder.process import child, children_of, ready_child, until
from hanging_files import READ, HangingFiles
from replaced import DEADLINE_S, Replaced, Signals, replies, send, wait_for
from served import assert_served, server
from test_bound import bound

PROT_READ_WRITE, MAP_PRIVATE_FIXED = 3, 0x12
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def end_an_open_over(file, path, step):
    """Ends a bound open with a buffer that is to be cleared; where it was mapped, there is now a
    file whose pages never come."""
    manager = Client(path)
    manager.become_manager()
    step.send(b"m")
    code, _ = replies(manager)
    assert code == BR_TRANSACTION, hex(code)
    manager.map.close()
    at = LIBC.mmap(manager.base, MAP_SIZE, PROT_READ_WRITE, MAP_PRIVATE_FIXED,
                   os.open(file, os.O_RDWR), 0)
    assert at == manager.base
    os.close(manager.fd)
    step.send(b"c")
    time.sleep(4 * DEADLINE_S)


def test_an_open_whose_end_a_client_delays_is_handed_over(directory):
    files = HangingFiles(os.path.join(directory, "hanging"), (READ,))
    try:
        with Replaced(directory) as daemon, bound(daemon, directory) as path:
            step = Signals()
            with child(end_an_open_over, files.file, path, step):
                step.wait(b"m")
                send(Client(daemon.path("binder")), b"x" * 5000, TF_CLEAR_BUF | TF_ONE_WAY)
                step.wait(b"c")
                until(lambda: len(os.listdir(daemon.path("binder_logs/proc"))) <= 1, DEADLINE_S)
                daemon.hand_over()
                assert not files.hung(), "the daemon has written where the open was mapped"
                with server(daemon.path("binder")):
                    assert_served(daemon, DEADLINE_S)
            files.end()
    finally:
        files.end()


def receive_files(ready, path):
    manager = Client(path)
    manager.become_manager(ACCEPTS_FDS)
    ready()
    while True:
        with contextlib.suppress(OSError):
            manager.write_read(b"", 256)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)


def trace(pid):
    for request in PTRACE_SEIZE, PTRACE_INTERRUPT:
        if LIBC.ptrace(request, pid, None, None):
            pytest.skip("no ptrace")


def test_receivers_of_files_that_do_not_run_keep_no_daemon(directory):
    """They are stopped, or traced; files are on their way to them."""
    for halt in stop, trace:
        with Replaced(directory) as daemon:
            with ready_child(receive_files, daemon.path("binder")) as pid:
                client = Client(daemon.path("binder"))
                halt(pid)
                with open(__file__, "rb") as file:
                    for _ in range(5):
                        with contextlib.suppress(RuntimeError):    # it gets none
                            send(client, OBJECT.pack(FILE, 0, file.fileno(), 0),
                                 TF_ONE_WAY | TF_ACCEPT_FDS, (0,))
                        daemon.hand_over()
            with server(daemon.path("binder")):
                assert_served(daemon, DEADLINE_S)


def send_file_twice(ready, path, fd, step):
    """The daemon knows the client from the first time: then it asks only for the file."""
    client = Client(path)
    call = OBJECT.pack(FILE, 0, fd, 0), TF_ONE_WAY | TF_ACCEPT_FDS, (0,)
    send(client, *call)
    ready()
    step.wait()
    with contextlib.suppress(OSError):    # interrupted, as it is left behind
        send(client, *call)


def links(pid):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{pid}/fd/{fd}")


def read_again_and_again(ready, path, done):
    """Until the daemon's threads rest."""
    ready()
    while True:
        with open(path, "rb") as file:
            file.read()
        os.write(done, b"x")


def wait_for_rest(daemon):
    """Until the daemon answers no request for a while."""
    read, done = os.pipe()
    with ready_child(read_again_and_again, daemon.path("binder_logs/daemon"), done):
        until(lambda: not select.select([read], [], [], 0.3)[0] or not os.read(read, 4096),
              DEADLINE_S)
    os.close(read)
    os.close(done)


def test_a_file_of_a_call_that_is_left_behind_is_closed(directory):
    """The helper process takes it when the call was left behind, but its daemon has not ended."""
    if not cgroup.Freezer.exists():
        pytest.skip("no freezer")
    file = os.memfd_create("left-behind")
    with Replaced(directory) as daemon, ready_child(receive_files, daemon.path("binder")), \
            cgroup.Freezer() as group:
        helper = until(daemon.helper_pid)

        def is_there():
            return any("left-behind" in link for link in links(helper))

        group.add(helper)
        step = Signals()
        with ready_child(send_file_twice, daemon.path("binder"), file, step) as pid:
            until(lambda: not is_there(), DEADLINE_S)
            group.freeze(True)
            step.send()
            until(lambda: pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("16 "),
                  DEADLINE_S)
            time.sleep(0.05)    # for the call to get to the helper, which is given up soon
            before = daemon.status()
            os.kill(daemon.pid, signal.SIGHUP)
            successor, = until(lambda: set(children_of(daemon.pid)) - {int(before["server"])})
            wait_for_rest(daemon)
            os.kill(successor, signal.SIGSTOP)    # while it waits for the helper
            group.freeze(False)
            until(is_there, DEADLINE_S)
            os.kill(successor, signal.SIGCONT)
            daemon.wait_for_the_end(before)
            wait_for(pid)
        assert daemon.status()["last"] == "done" and daemon.status()["left_behind"] == "1"
        until(lambda: not is_there(), DEADLINE_S)


def open_and_wait(path, count, ready, ended):
    """The parent of @count processes that wait in a call; it tells if one ends."""
    gc.freeze()
    for _ in range(count):
        if not os.fork():
            with contextlib.suppress(OSError):
                client = Client.__new__(Client)
                client.fd = os.open(path, os.O_RDWR)
                client.write_read(b"", 64)
                os.write(ready, b"x")
                client.write_read(b"", 256)
            os._exit(0)
    os.wait()
    os.write(ended, b"x")


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=[
    pytest.mark.long, pytest.mark.timeout(3600)])])
def test_many_processes_are_handed_over(directory, count):
    with Replaced(directory, "--max-procs=4000", "--max-procs-per-uid=4000") as daemon, \
            contextlib.ExitStack() as stack:
        ready, ended = Signals(), Signals()
        group = stack.enter_context(child(lambda: (
            os.setpgid(0, 0),
            open_and_wait(daemon.path("binder"), count, ready.write, ended.write))))
        stack.callback(lambda: os.killpg(group, signal.SIGKILL))
        for _ in range(count):
            ready.wait()
        for _ in range(3):
            daemon.hand_over()
        assert not select.select([ended.read], [], [], 0)[0], "a process has got an error"
        with server(daemon.path("binder")):
            assert_served(daemon, DEADLINE_S)
