#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A daemon with little memory, and one whose messages cannot be written."""
import os

import cgroup
import hostile
from programs import flood_by

LIMIT = 64 << 20


def little_memory():
    """Opens that take replies without end: 128 times 4 MiB, if they got them. All users together
    get a quarter of the limit of the control group."""
    if not cgroup.Memory.exists():
        print("little_memory: no memory controller")
        return
    with cgroup.Memory() as group:
        group.limit(LIMIT)
        row = hostile.attack(
            "scarce-memory", "128 opens that keep all replies; the daemon has 64 MiB",
            flood_by(hostile.ATTACKER, "hoard", 128),
            preexec_fn=lambda: group.add(os.getpid()))
    row.check()
    assert row.memory["peak"] < LIMIT >> 11, "the limit does not apply"


def full_disk():
    """Every message fails; clients cause many of them."""
    with open("/dev/full", "wb") as full:
        hostile.attack("scarce-disk", "messages without end, on a full disk",
                       flood_by(hostile.ATTACKER, "payload", 8),
                       options=["--log-level=debug"], stderr=full).check()


hostile.run("hostile-scarce", little_memory, full_disk)
