# SPDX-License-Identifier: GPL-2.0
"""A daemon with little memory, one with few descriptors, and one whose messages cannot be
written."""
import os
import struct
import time

import cgroup
import hostile
import pytest
from anybinder.driver import ACCEPTS_FDS, BR_FAILURES, Client
from hostile import flood_by

LIMIT = 64 << 20
FEW_FILES, FILES_ONE = 64, 4    # descriptors of the daemon, and files of a user in calls


def test_little_memory():
    """Opens that take replies without end: 128 times 4 MiB, if they got them. All users together
    get a quarter of the limit of the control group."""
    if not cgroup.Memory.exists():
        pytest.skip("no memory controller")
    with cgroup.Memory() as group:
        group.limit(LIMIT)
        row = hostile.attack(
            "scarce-memory", "128 opens that keep all replies; the daemon has 64 MiB",
            flood_by(hostile.ATTACKER, "hoard", 128),
            preexec_fn=lambda: group.add(os.getpid()))
    row.check()
    assert row.memory["peak"] < LIMIT >> 11, "the limit does not apply"


def receive_nothing(ready, path):
    client = Client(path)
    client.become_manager(ACCEPTS_FDS)
    ready()
    time.sleep(1000)


def send_until_refused(ready, path, result):
    """Files that nobody takes."""
    client = Client(path)
    count = 0
    while not set(hostile.send_file(client, [0], one_way=True)) & set(BR_FAILURES):
        count += 1
    os.write(result, struct.pack("<I", count))
    ready()
    time.sleep(1000)


def share_few_files():
    hostile.limit_files(FEW_FILES)
    output, result = os.pipe()
    with hostile.daemon() as path, hostile.user(hostile.SERVER, hostile.serve, path):
        other = os.path.join(os.path.dirname(path), "hwbinder")
        with hostile.user(hostile.ATTACKER, receive_nothing, other), \
                hostile.user(hostile.ATTACKER, send_until_refused, other, result):
            count, = struct.unpack("<I", os.read(output, 4))
            print(f"of {FEW_FILES} descriptors a user keeps {count} with files in calls")
            assert count == FILES_ONE, count
            with hostile.Victim(path, "files") as victim:
                time.sleep(0.5)
        assert not victim.seen.failed and not victim.seen.stopped, victim.seen


def test_files_in_calls_are_shared():
    pid = os.fork()
    if not pid:
        with hostile.exit_at_end():
            share_few_files()
    assert os.waitpid(pid, 0) == (pid, 0)


def test_full_disk():
    """Every message fails; clients cause many of them."""
    with open("/dev/full", "wb") as full:
        hostile.attack("scarce-disk", "messages without end, on a full disk",
                       flood_by(hostile.ATTACKER, "payload", 8),
                       options=["--log-level=debug"], stderr=full).check()
