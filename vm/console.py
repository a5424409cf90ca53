# SPDX-License-Identifier: GPL-2.0
"""Reads the console of the guest's kernel and finds faults in it."""

import collections
import re

# Lines that make a run fail. The boot's loglevel lets messages of these kinds through. The first is
# printed by vm/init.c when a step fails before the control port exists.
FAULT = re.compile(
    rb"""^fail[ ]
    |cut\ here
    |\bWARNING:
    |\bBUG[:\ ]
    |\bOops\b
    |Kernel\ panic
    |general\ protection\ fault
    |unable\ to\ handle
    |INFO:\ task\ .*\ blocked
    |INFO:\ (possible|rcu|suspicious)
    |possible\ (circular|recursive|irq|unsafe)
    |inconsistent\ lock\ state
    |suspicious\ RCU
    |rcu:?.*(detected\ stall|self-detected|stall\ on)
    |(soft|hard)\ (lockup|LOCKUP)
    |refcount_t:
    |(list_add|list_del)\ corruption
    |scheduling\ while\ atomic
    |sleeping\ function\ called
    |Bad\ page
    |KASAN|KFENCE|UBSAN
    |Out\ of\ memory
    |Call\ Trace""",
    re.VERBOSE,
)

# Messages about faults and mistakes of user programs do not fail the run. The mount option is
# MS_MANDLOCK, which mount(2) accepts and ignores. KCSAN also reports races of the kernel itself, so
# vm/debug/inside.sh judges its reports.
USER_FAULT = re.compile(
    rb"traps: |segfault at|Killed process|WARNING: The mand mount option|BUG: KCSAN: "
)

LINES_SHOWN_AFTER = 40
LINES_SHOWN = 200
TAIL_LINES = 20


class Console:
    """Collects lines; `fault` holds each fault and the lines after it, `tail` the last lines."""

    def __init__(self, log):
        self.log = log
        self.pending = b""
        self.fault = []
        self.tail = collections.deque(maxlen=TAIL_LINES)
        self.more = 0

    def feed(self, data):
        self.log.write(data)
        self.log.flush()
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.line(line.rstrip(b"\r"))

    def line(self, line):
        self.tail.append(line)
        if FAULT.search(line) and not USER_FAULT.search(line):
            self.more = LINES_SHOWN_AFTER
        if self.more and len(self.fault) < LINES_SHOWN:
            self.more -= 1
            self.fault.append(line)
