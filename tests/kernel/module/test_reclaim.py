# SPDX-License-Identifier: GPL-2.0
"""The module while the kernel reclaims idle buffer pages as fast as it can."""
import contextlib
import os
import subprocess
import threading

import pytest

pytestmark = [pytest.mark.takes(100), pytest.mark.timeout(900),
              pytest.mark.turn("memory of the module", "reclaim"),
              pytest.mark.vm("6.12", driver="module", timeout=900, needs=[
                  "build/bin/anybinder-conformance", "build/bin/bench-ipc"])]
EVENTS = "/sys/kernel/tracing/events"
TRACE = "/sys/kernel/tracing/trace"
ENOUGH_ROUNDS = 60
LEAST_URGENT = 19
# The tests of cleared buffers (buffer_clear_*) read freed memory, which may be gone.
FILTERS = ["txn_*", "buffer_[!c]*", "oneway_*", "object_*"]
EUID = "sender_euid_of_process=as of 7.x it is that of the calling thread"


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def seen(event):
    """How often an event stands in the trace."""
    with open(TRACE, encoding="ascii", errors="replace") as file:
        return sum(f" {event}: " in line for line in file)


@contextlib.contextmanager
def reclaiming(nice=0):
    """Meanwhile the kernel reclaims what nobody uses, without a pause."""
    end = threading.Event()

    def reclaim():
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        while not end.is_set():
            write("/proc/sys/vm/drop_caches", "2")

    thread = threading.Thread(target=reclaim)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_data_arrives_whole(program, suite):
    """In calls of all kinds; and pages must really have been reclaimed."""
    write(f"{EVENTS}/binder/binder_unmap_user_end/enable", "1")
    with reclaiming():
        suite([program("anybinder-conformance"), "--timeout", "120", "--cap", EUID,
               *(f"--filter={each}" for each in FILTERS)], timeout=800)
    assert seen("binder_unmap_user_end"), "no page was reclaimed"


def test_reclaiming_thread_inherits_an_urgent_caller_s_priority(program):
    """The caller needs pages that the least urgent thread is just reclaiming. Calls are made until
    that has happened."""
    # In the numbers of the kernel: 0 is FIFO 99.
    write(f"{EVENTS}/sched/sched_pi_setprio/filter", "newprio == 0")
    write(f"{EVENTS}/sched/sched_pi_setprio/enable", "1")
    with reclaiming(LEAST_URGENT):
        for _ in range(ENOUGH_ROUNDS):
            subprocess.run([program("bench-ipc"), "call", "--peer", "alloc", "--address",
                            "/dev/binder", "--class", "fifo:99", "--pairs", "2", "--delay-us",
                            "200", "--duration-ms", "500"], check=True, stdout=subprocess.DEVNULL)
            if seen("sched_pi_setprio"):
                return
    pytest.fail("no reclaiming thread has inherited it")
