# SPDX-License-Identifier: GPL-2.0
"""The module has the C driver's tracepoints, by the same names and with the same fields.

The tracepoints of the reference driver and of the module, each in a virtual machine, are compared,
and which of them fire in a few calls. The layout must be the same; a tracepoint that the module
lacks must be in the list below, with a reason. The module's own tracepoint, the stages of a round
trip (stage.h), must fire for each stage of a call and its reply.
"""
import ast
import os
import re
import subprocess
import sys

import pytest

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
REFERENCE_KERNEL = "newest"
TIMEOUT_S = 200
CALLS = ("txn_fields_arrive", "fd_arrives", "object_returns_to_its_owner",
         "object_handle_is_passed_on")
NO_BIG_LOCK = "from the time of one big lock; it fires in no driver"
NO_KERNEL_MAPPING = "buffers have no mapping in the kernel; it fires in no driver"
UNSAFE_POINTER = ("its field `context` is a pointer, and the kernel warns when it prints one; the "
                  "failure notices themselves have all its fields")
OWN_LIST = "moving a page to the idle list and back is not a separate step"
ABSENT = {
    "binder_lock": NO_BIG_LOCK,
    "binder_locked": NO_BIG_LOCK,
    "binder_unlock": NO_BIG_LOCK,
    "binder_unmap_kernel_start": NO_KERNEL_MAPPING,
    "binder_unmap_kernel_end": NO_KERNEL_MAPPING,
    "binder_netlink_report": UNSAFE_POINTER,
    "binder_alloc_lru_start": OWN_LIST,
    "binder_alloc_lru_end": OWN_LIST,
    "binder_free_lru_start": OWN_LIST,
    "binder_free_lru_end": OWN_LIST,
}
# A field: its name, offset and size; u32 and uint32_t are the same.
FIELD = re.compile(r"\tfield:.*?(\w+);\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);")
# The stages of the call, then those of the reply.
STAGES = ["K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY"]
STAGE = re.compile(r"binder_stage: stage=(\w+) time=(\d+) transaction=(\d+) reply_to=(\d+) ")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def make_calls():
    command = [TOP + "/build/bin/anybinder-conformance"]
    for call in CALLS:
        command += ["--filter", call]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def stages(tracing):
    """The stages of a call and its reply: the first call with a reply."""
    events = tracing + "events/anybinder/enable"
    if not os.path.exists(events):
        return None
    write(tracing + "trace", "")
    write(events, "1")
    make_calls()
    write(events, "0")
    with open(tracing + "trace", encoding="ascii", errors="replace") as file:
        records = [m.groups() for m in map(STAGE.search, file) if m]
    call, reply = next((r[3], r[2]) for r in records if r[3] != "0")
    passed = [r for r in records if r[2] in (call, reply)]
    times = [int(r[1]) for r in passed]
    return [r[0] for r in passed] if times == sorted(times) else f"out of order: {passed}"


def guest():
    """Runs in the machine: prints each tracepoint's fields, names of those that fired, stages."""
    tracing = "/sys/kernel/tracing/"
    events = tracing + "events/binder/"
    for name in sorted(os.listdir(events)):
        if os.path.isdir(events + name):
            with open(f"{events}{name}/format", encoding="ascii") as file:
                fields = [m.groups() for m in map(FIELD.match, file) if m]
            print("fields", name, [f for f in fields if not f[0].startswith("common_")])
    for switch in "10":
        write(events + "enable", switch)
        if switch == "1":
            make_calls()
    with open(tracing + "trace", encoding="ascii", errors="replace") as file:
        fired = {m[1] for m in map(re.compile(r".*?: (binder_\w+): ").match, file) if m}
    print("fired", "*", sorted(fired))
    print("stages", "*", stages(tracing))


def query(machine, kernel, driver):
    """Returns ({tracepoint: fields}, what fired, the stages of a call) of a driver."""
    output = subprocess.run(
        [*machine(kernel, driver=driver, timeout=TIMEOUT_S), sys.executable,
         os.path.realpath(__file__), "--guest"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.split(maxsplit=2) for line in output.splitlines()]
    fields = {name: what for kind, name, what in lines if kind == "fields"}
    one = {kind: what for kind, name, what in lines if name == "*"}
    return fields, one["fired"], one["stages"]


def compare(reference, module):
    """Yields (name, what is wrong or None)."""
    for name, fields in reference[0].items():
        if name not in module[0]:
            yield name, None if name in ABSENT else "missing"
        else:
            found = module[0][name]
            yield name, None if found == fields else f"{found} where the reference has {fields}"
    wanted = [name for name in ast.literal_eval(reference[1]) if name not in ABSENT]
    found = ast.literal_eval(module[1])
    yield "fired", None if found == wanted else f"{found} where the reference has {wanted}"
    yield "stages", None if module[2] == str(STAGES * 2) else module[2]


@pytest.mark.vm
@pytest.mark.takes(60)
@pytest.mark.parametrize("kernel", [
    pytest.param(kernel, marks=pytest.mark.turn("tracepoints", kernel))
    for kernel in ("newest", "6.1")])
def test_tracepoints(program, machine, case, kernel):
    program("anybinder-conformance")
    reference = query(machine, REFERENCE_KERNEL, "ref")
    for name, wrong in compare(reference, query(machine, kernel, "module")):
        case(name, not wrong, wrong or "")


if __name__ == "__main__":
    guest()
