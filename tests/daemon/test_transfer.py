# SPDX-License-Identifier: GPL-2.0
"""Files through calls, on processors that are busy: none fails, and none is another file.

Several clients, each with a service of its own device, send a file in each call and get another
one in the reply. Twice as many processes only use the processors.
"""
import contextlib
import os
import struct
import time

import cgroup
import pytest
from anybinder import driver
from anybinder.daemon import Daemon
from anybinder.driver import BC_REPLY, BC_TRANSACTION, BR_REPLY, BR_TRANSACTION, Client
from anybinder.process import child, ready_child, until

SECONDS, SECONDS_LONG = 240, 3600    # a transfer that has not come about then never will
PAIRS = 4
BUSY = 8
FILES = 4    # that a client has, and sends in turn
FILE_OBJECT = struct.Struct("<IIIIQ")    # and the file's inode behind it


def files():
    """[(descriptor, inode)]"""
    made = [os.memfd_create("transfer", os.MFD_CLOEXEC) for _ in range(FILES)]
    return [(fd, os.fstat(fd).st_ino) for fd in made]


class Sent:
    """The commands that send a file, which stay valid as long as this."""

    def __init__(self, command, fd, inode):
        data = FILE_OBJECT.pack(driver.FILE, 0, fd, 0, 0) + struct.pack("<Q", inode)
        self.commands, self.keep = driver.encode(command, driver.Bytes(data, [0]), 0, 1,
                                                 driver.TF_ACCEPT_FDS)


def take(client, argument):
    """Compares the file that came with what the sender says, and closes it."""
    data = client.data_of(argument)
    fd, inode = FILE_OBJECT.unpack_from(data)[2], struct.unpack_from("<Q", data, 24)[0]
    assert os.fstat(fd).st_ino == inode, "another file has come"
    os.close(fd)
    return driver.free_buffer(argument)


def serve(ready, path):
    manager = Client(path)
    manager.become_manager(driver.ACCEPTS_FDS)
    replies = [Sent(BC_REPLY, *file) for file in files()]
    commands = b""
    ready()
    served = 0
    while True:
        returns = manager.write_read(commands, 256)
        commands = b""
        for code, argument in returns:
            assert code not in driver.BR_FAILURES, "a reply has failed"
            if code == BR_TRANSACTION:
                commands = take(manager, argument) + replies[served % FILES].commands
                served += 1


def call(path, count):
    try:
        call_often(path, count)
    except Exception as error:
        print(f"a client fails: {error!r}", flush=True)
        raise


def call_often(path, count):
    client = Client(path)
    calls = [Sent(BC_TRANSACTION, *file) for file in files()]
    freed = b""
    for number in range(count):
        commands, freed = freed + calls[number % FILES].commands, b""
        while not freed:
            for code, argument in client.write_read(commands, 256):
                assert code not in driver.BR_FAILURES, \
                    f"call {number}: {driver.BR_FAILURES[code]}"
                if code == BR_REPLY:
                    freed = take(client, argument)
            commands = b""


def be_busy():
    while True:
        pass


def failures(daemon):
    with open(daemon.path("binder_logs/failed_transaction_log"), encoding="utf-8") as file:
        return file.read()


@contextlib.contextmanager
def transfers(directory, count, seconds=SECONDS):
    """Yields the daemon, a function that waits for the end of all and fails if one has, and the
    processes."""
    names = [f"device{number}" for number in range(PAIRS)]
    with Daemon(directory, "--devices=" + ",".join(names)) as daemon, \
            contextlib.ExitStack() as stack:
        services = [stack.enter_context(ready_child(serve, daemon.path(name))) for name in names]
        left = {stack.enter_context(child(call, daemon.path(name), count // PAIRS // 2))
                for name in names}
        failed = []

        def all_ended():
            for pid in list(left):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    left.discard(pid)
                    failed.extend([status] if status else [])
            return failed or not left

        def wait():
            until(all_ended, seconds)
            assert not failed, "a client has failed; the daemon says:\n" + failures(daemon)

        yield daemon, wait, [*services, *left]


@pytest.mark.parametrize("count, seconds", [
    (2000, SECONDS), pytest.param(500000, SECONDS_LONG, marks=[
        pytest.mark.long, pytest.mark.timeout(2 * SECONDS_LONG)])])
def test_no_transfer_fails_on_busy_processors(directory, count, seconds):
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        for _ in range(BUSY):
            stack.enter_context(child(be_busy))
        _, wait, _ = stack.enter_context(transfers(directory, count, seconds))
        wait()
    print(f"{count} files in {time.monotonic() - begin:.1f} s, {BUSY} processes beside them")


def test_no_transfer_fails_while_the_helper_stands_still(directory):
    """For longer than any job of it may take that a client delays."""
    if not cgroup.Freezer.exists():
        pytest.skip("no freezer")
    with transfers(directory, 4000) as (daemon, wait, _):
        until(lambda: daemon.helper_pid())
        time.sleep(0.3)
        with cgroup.Freezer() as group:
            group.add(daemon.helper_pid())
            group.freeze(True)
            time.sleep(7)
        wait()


def test_no_transfer_fails_while_the_receivers_have_no_processor(directory):
    """Others of their control group use what is left to it, and more, for which all pay later."""
    if not cgroup.Processor.exists():
        pytest.skip("no control group of processors")
    with transfers(directory, 400) as (_, wait, pids), cgroup.Processor() as group, \
            contextlib.ExitStack() as stack:
        if not group.can_be_set():
            pytest.skip("the control group of processors cannot be set")
        for _ in range(6):
            group.add(stack.enter_context(child(be_busy)))
        for pid in pids:
            group.add(pid)
        group.take_away()
        time.sleep(10)
        group.give_back()
        wait()
