# SPDX-License-Identifier: GPL-2.0
"""A run in a virtual machine fails when the guest's kernel complains: tried on recorded lines of a
console, and in a machine whose guest writes the complaint itself."""
import io
import os
import subprocess
import sys

import pytest
from building import TOP

sys.path.insert(0, os.path.join(TOP, "vm"))
import console    # noqa: E402 (not a package)

COMPLAINTS = (
    "WARNING: CPU: 1 PID: 7 at core/made_up.c:1 it+0x0/0x0",
    "------------[ cut here ]------------",
    "BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "BUG: KASAN: slab-use-after-free in binder_ioctl+0x0/0x0 [anybinder]",
    "Oops: 0000 [#1] PREEMPT SMP PTI",
    "WARNING: possible circular locking dependency detected",
    "WARNING: possible recursive locking detected",
    "WARNING: inconsistent lock state",
    "WARNING: suspicious RCU usage",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "INFO: task binder:12 blocked for more than 120 seconds.",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
    "BUG: sleeping function called from invalid context at mm/slab.h:1",
    "BUG: scheduling while atomic: binder/12/0x00000002",
    "refcount_t: underflow; use-after-free.",
    "list_add corruption. prev->next should be next",
    "BUG: Bad page state in process binder  pfn:1234",
    "general protection fault, probably for non-canonical address 0xdead000000000100",
    "Kernel panic - not syncing: Fatal exception",
)
HARMLESS = (
    "anybinder: loading out-of-tree module taints kernel.",
    "binder: 12:12 call to 0:0 failed: no such handle, or only a weak one (-22 at send.c:1)",
    "random: crng init done",
    "WARNING: The mand mount option has been deprecated and",
    "BUG: KCSAN: data-race in generic_permission / shmem_mknod",
    "traps: client[12] general protection fault ip:401000 sp:7ffc00000000 error:0",
)
# What runs in the guest, and the exit status of vm/run.
RUNS = (
    ("exit 7", 7),
    ("echo '<4>WARNING: CPU: 0 PID: 1 at made/up.c:1 for_a_test' > /dev/kmsg", 125),
)


def is_noticed(line):
    reader = console.Console(io.BytesIO())
    reader.feed(f"[    1.234567] {line}\r\n".encode())
    return bool(reader.fault)


@pytest.mark.parametrize("line", COMPLAINTS)
def test_complaint_is_noticed(line):
    assert is_noticed(line)


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_line_is_not(line):
    assert not is_noticed(line)


@pytest.mark.vm
@pytest.mark.parametrize("command, wanted", RUNS)
def test_exit_status(machine, command, wanted):
    done = subprocess.run([*machine("6.12"), "sh", "-c", command], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    assert done.returncode == wanted, done
