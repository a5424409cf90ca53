# SPDX-License-Identifier: GPL-2.0
"""Workers that wait in memory of clients which never comes (userfaultfd), and helper processes that
are killed or stopped before they serve."""
import contextlib
import os
import select
import signal
import struct
import threading
import time

import pytest
from anybinder import driver
from anybinder.daemon import Daemon
from anybinder.driver import Client
from anybinder.process import child, children_of, ready_child, stat_of, until
from served import assert_served, server

BUILDS = ("anybinderd-asan",)


def trap_or_skip():
    try:
        return driver.Trap()
    except OSError as error:
        pytest.skip(f"userfaultfd: {error}")


def read_from_traps(ready, path, count):
    """@count threads pass commands in memory whose page faults are never resolved."""
    client = Client(path)
    traps = [driver.Trap() for _ in range(count)]

    def fall(trap):
        with contextlib.suppress(OSError):
            client.write_at(trap.address)

    for trap in traps:
        threading.Thread(target=fall, args=(trap,), daemon=True).start()
    ready()
    time.sleep(30)


def test_memory_that_never_comes_stalls_no_other_client(directory):
    trap_or_skip()
    with Daemon(directory, "--threads=2") as daemon, server(daemon.path("binder")):
        before = daemon.threads()
        with ready_child(read_from_traps, daemon.path("binder"), 20) as pid:
            for _ in range(5):
                assert_served(daemon)
            assert daemon.threads() < before + 15, "spare threads without bound"
            os.kill(pid, signal.SIGKILL)
            assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        until(lambda: daemon.threads() == before)
        assert_served(daemon)


def test_reply_into_memory_that_never_comes_stalls_no_other_client(directory):
    trap_or_skip()
    with Daemon(directory, "--threads=1") as daemon, server(daemon.path("binder")):
        def call_with_trap(ready):
            client = Client(daemon.path("binder"))
            commands, _keep = driver.encode(driver.BC_TRANSACTION, driver.Bytes(b"data"), code=1)
            trap = driver.Trap()
            ready()
            client.write_read(commands, 256, read_at=trap.address)

        with contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(ready_child(call_with_trap))
            for _ in range(5):
                assert_served(daemon)
        assert_served(daemon)


def reply_from_trap(path, notify):
    """A context manager that replies with data in memory which takes half a second."""
    manager = Client(path)
    manager.become_manager()
    trap = driver.Trap()
    os.write(notify, b"m")
    while driver.BR_TRANSACTION not in (
            code for code, _ in manager.write_read(b"", 256)):
        pass
    threading.Timer(0.5, os.close, (trap.fd,)).start()
    manager.write_read(struct.pack("<I", driver.BC_REPLY) + driver.TRANSACTION.pack(
        0, 0, 1, 0, 0, 0, 4, 0, trap.address, 0), 256)
    os.write(notify, b"r")
    time.sleep(30)


def test_a_worker_that_gets_stuck_twice_leaves_its_work_to_others(directory):
    """In the data of a reply, and then in the buffer of the caller that the reply wakes."""
    trap_or_skip()
    with Daemon(directory, "--threads=1") as daemon:
        ready, notify = os.pipe()

        def call_into_trap():
            client = Client(daemon.path("binder"))
            commands, _keep = driver.encode(driver.BC_TRANSACTION, driver.Bytes(b"data"), code=1)
            trap = driver.Trap()
            client.write_read(commands, 256, read_at=trap.address)

        with child(reply_from_trap, daemon.path("binder"), notify):
            os.read(ready, 1)
            with child(call_into_trap):
                until(lambda: select.select([ready], [], [], 0)[0])
                assert os.read(ready, 1) == b"r"


def wait_with_traps(ready, path, count):
    """@count threads wait with a read buffer in such memory; then all are woken."""
    client = Client(path)
    traps = [driver.Trap() for _ in range(count)]

    about_to_wait = threading.Barrier(count + 1)

    def wait(trap):
        client.write_read(b"", 64)
        about_to_wait.wait()
        with contextlib.suppress(OSError):
            client.write_read(b"", 256, read_at=trap.address)

    for trap in traps:
        threading.Thread(target=wait, args=(trap,), daemon=True).start()
    about_to_wait.wait()
    ready()
    while True:
        time.sleep(0.1)
        os.close(os.dup(client.fd))    # closing any descriptor of it wakes all its threads


def test_waking_into_memory_that_never_comes_stalls_no_other_client(directory):
    trap_or_skip()
    with Daemon(directory, "--threads=2") as daemon, server(daemon.path("binder")):
        before = daemon.threads()
        with ready_child(wait_with_traps, daemon.path("binder"), 40) as pid:
            until(lambda: daemon.threads() > before)
            for _ in range(5):
                assert_served(daemon)
            assert daemon.threads() < before + 15, f"{before} threads became {daemon.threads()}"
            os.kill(pid, signal.SIGKILL)
            assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        until(lambda: daemon.threads() == before)


def manage_with_trap(ready, path, release):
    """A context manager that passes commands in memory which another process resolves."""
    trap = driver.Trap()
    if not os.fork():
        os.setpgid(0, 0)    # the trap stays closed until then, also after the manager's death
        os.read(release, 1)
        os._exit(0)
    client = Client(path)
    client.become_manager()
    ready()
    client.write_at(trap.address)


def test_death_of_a_client_that_blocks_a_worker_is_notified(directory):
    trap_or_skip()
    with Daemon(directory, "--threads=2") as daemon:
        before = daemon.threads()
        ready, notify = os.pipe()
        release, resolve = os.pipe()
        codes = []

        def wait():
            client = Client(daemon.path("binder"))
            client.write_read(driver.watch_handle(0), 0)
            os.write(notify, b"x")
            codes.extend(code for code, _ in client.write_read(b"", 256))

        observer = threading.Thread(target=wait, daemon=True)
        with ready_child(manage_with_trap, daemon.path("binder"), release) as pid:
            until(lambda: daemon.threads() > before)
            observer.start()
            os.read(ready, 1)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        until(lambda: not os.path.exists(daemon.path(f"binder_logs/proc/{pid}")))
        assert not codes, "its last call still runs"
        os.write(resolve, b"x")
        until(lambda: driver.BR_DEAD_BINDER in codes, seconds=2)


# ---- the helper process --------------------------------------------------------------------------

def stop_as_it_starts(pid):
    """Stops a process of the program. False: it has not executed the program yet, or has begun."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: stat_of(pid)[1] == "T")
    if stat_of(pid)[0] == "exe":
        return True
    os.kill(pid, signal.SIGCONT)
    return False


def kill_helper(server_pid, helper_pid):
    """Returns the process of the next one as soon as it is there."""
    before = set(children_of(server_pid))    # some may be dead, and not waited for
    os.kill(helper_pid, signal.SIGKILL)
    while not (new := set(children_of(server_pid)) - before):
        pass
    return new.pop()


def test_helpers_that_are_killed_as_they_start_are_replaced(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        server_pid = daemon.server_pid()
        killed = until(daemon.helper_pid)
        for _ in range(4):
            killed = kill_helper(server_pid, killed)
        assert_served(daemon, within_s=30.0)
        assert daemon.server_pid() == server_pid


def test_helper_that_takes_long_to_start_is_waited_for(directory):
    """For longer than it may take to answer. It is the one that replaces a helper that was killed,
    because that can be stopped."""
    def kill_and_stop_the_next():
        assert_served(daemon, within_s=30.0)
        stopped.append(kill_helper(server_pid, until(daemon.helper_pid)))
        return stop_as_it_starts(stopped[-1])

    stopped = []
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        server_pid = daemon.server_pid()
        if not any(kill_and_stop_the_next() for _ in range(50)):
            pytest.skip("a helper starts before it can be stopped")
        time.sleep(4)
        os.kill(stopped[-1], signal.SIGCONT)
        assert_served(daemon, within_s=30.0)
        assert daemon.server_pid() == server_pid
