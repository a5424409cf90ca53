# SPDX-License-Identifier: GPL-2.0
"""Hand-overs beside attacks: users who try to prevent them, and a disk that is full.

A hand-over has a limit of time for each step, and on a busy machine it may exceed one; then the
daemon goes on as before. So what is shown is that one of several succeeds, and that clients are
served afterwards."""
import contextlib
import os
import signal
import subprocess
import tempfile
import time

import hostile
import test_memory as memory
import test_slow_memory as slow_memory
from anybinder.driver import Client
from hostile import flood_by, opened, run_program

ATTEMPTS, DEADLINE_S = 10, 60


def status(server):
    with open(os.path.join(server.mnt, "binder_logs/daemon"), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)


def hand_over(server):
    for _ in range(ATTEMPTS):
        before = status(server)
        os.kill(server.pid, signal.SIGHUP)
        hostile.until(lambda: status(server)["attempts"] != before["attempts"], DEADLINE_S)
        after = status(server)
        if after["last"] == "done":
            assert after["server"] != before["server"], after
            return
        print("  not handed over:", after, flush=True)
    raise AssertionError("the daemon is not replaced")


def is_served(server):
    seen = hostile.measure(server.path(), 0.3)
    assert not seen.stopped and seen.failed < len(seen.ms), seen


def replace_beside(title, load):
    with hostile.Daemon() as server, hostile.user(hostile.SERVER, hostile.serve, server.path()):
        with load(server.path()):
            for _ in range(2):
                hand_over(server)
            is_served(server)
    print(title, flush=True)


def test_floods_prevent_no_hand_over():
    for kind, count in ("version", 200), ("payload", 64), ("objects", 16), ("open", 32), \
            ("oneway", 32), ("lookup", 32):
        replace_beside(f"{kind}, by {count} threads", flood_by(hostile.ATTACKER, kind, count))


def test_requests_by_the_kernel_prevent_no_hand_over():
    replace_beside("io_uring", lambda path: hostile.users(
        (hostile.ATTACKER, run_program, path, opened("hostile-uring"))))


def test_slow_memory_prevents_no_hand_over():
    replace_beside("memory that takes 15 ms a page",
                   lambda path: hostile.user(0, slow_memory.attack, path))


def write_streams(ready, path):
    client = Client(path)
    at = memory.stream(memory.STREAM)
    ready()
    while True:
        try:
            client.write_at(at, memory.STREAM)
        except InterruptedError:    # it was left behind
            time.sleep(0.01)


def test_long_streams_prevent_no_hand_over():
    replace_beside("a gibibyte of commands", lambda path: hostile.users(
        *[(hostile.ATTACKER, write_streams, path)] * 2))


@contextlib.contextmanager
def full_disk():
    """A file on a disk without space."""
    directory = tempfile.mkdtemp(prefix="hostile-full-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", directory], check=True)
    try:
        with open(os.path.join(directory, "log"), "ab", buffering=0) as log:
            with contextlib.suppress(OSError):
                while True:
                    log.write(bytes(4096))
            yield log
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)
        os.rmdir(directory)


def crash(server):
    """Its server process ends; another one serves. Opens of before have ended."""
    before = status(server)["server"]
    os.kill(int(before), signal.SIGKILL)

    def is_another():
        with contextlib.suppress(OSError):
            return status(server)["server"] != before
        return False

    hostile.until(is_another, DEADLINE_S)


def test_a_full_disk_stops_neither_server_nor_supervisor():
    """Each message fails: of a server, which clients cause many of, and of the supervisor."""
    with full_disk() as log, hostile.Daemon("--log-level=debug", "--max-crashes=5",
                                            stderr=log) as server:
        with flood_by(hostile.ATTACKER, "payload", 8)(server.path()):
            for _ in range(2):
                hand_over(server)
        for _ in range(2):
            crash(server)
            with hostile.user(hostile.SERVER, hostile.serve, server.path()):
                is_served(server)
                hand_over(server)
                is_served(server)
        assert not os.path.getsize(log.name) % 4096, "there was space"
