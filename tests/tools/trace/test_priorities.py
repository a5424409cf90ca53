# SPDX-License-Identifier: GPL-2.0
"""`anybinder trace` and `top` tell the priority of a call's caller, and the one with which the call
is served."""
import json
import os
import sys

import pytest

from tracing import AIDL, MEEK, PEER, calls_of

DRIVERS = ["daemon", pytest.param("/dev/binderfs", id="module", marks=[
    pytest.mark.vm("6.12", driver="module", smp=1, timeout=600),
    pytest.mark.turn("clients of the module", "libraries")])]
PRIORITIES = "binder_priorities"    # of our drivers; the kernel's tell no priorities
WANTED = ["--service", PEER, "--aidl", AIDL]
ADD = ["call", "--aidl", AIDL, PEER, "add", "2", "40"]
POST = ["call", "--oneway", "--interface", "anybinder.test.IPeer", PEER, "8", "i32", "1"]
# Sets its policy and priority, or nice value, and runs the rest of the arguments.
SCHEDULED = """
import os, sys
policy, value = map(int, sys.argv[1:3])
os.sched_setscheduler(0, policy, os.sched_param(value if policy else 0))
if not policy:
    os.setpriority(os.PRIO_PROCESS, 0, value)
os.execvp(sys.argv[3], sys.argv[3:])
"""
NORMAL, FIFO = os.SCHED_OTHER, os.SCHED_FIFO


def scheduled(policy, value, *command):
    return [sys.executable, "-c", SCHEDULED, str(policy), str(value), *command]


def need(bus, policy, value):
    done = bus.execute(*scheduled(policy, value, "true"))
    if "PermissionError" in done.stderr:
        pytest.skip(f"policy {policy}, priority {value} are not permitted here")
    assert done.returncode == 0, done


@pytest.fixture(autouse=True)
def permitted(bus):
    """Every test makes something more urgent."""
    need(bus, NORMAL, -5)


def peer(bus, value, *prefix):
    """The service at a nice value, as a context."""
    return bus.peer(before=scheduled(NORMAL, value, *prefix))


def traced(bus, *arguments, program):
    """What a trace of a program says about its calls to the service."""
    return bus.trace(*WANTED, *arguments, program=program)[1]


def expect(bus, text, told, code=1):
    found, = [call for call in calls_of(text) if call["code"] == code]
    got = found["priority"], found["served_at"], found["not_inherited"]
    assert got == (told if bus.tells(PRIORITIES) else (None, None, False))


def test_a_nice_value_is_inherited(bus):
    program = scheduled(NORMAL, -5, bus.program, *ADD)
    with peer(bus, 0):
        expect(bus, traced(bus, "--json", program=program), ("nice -5", "nice -5", False))
        text = traced(bus, "--code", "1", program=program)
        assert text.rstrip().endswith(", at nice -5") == bus.tells(PRIORITIES), text
        assert not traced(bus, "--not-inherited", program=program), text


def test_a_service_without_the_right_is_found(bus, scratch):
    """Its thread keeps nice 10, and callers at nice 0 wait for it."""
    program = scheduled(NORMAL, 0, bus.program, *ADD)
    record, perfetto = f"{scratch}/record", f"{scratch}/perfetto"
    with peer(bus, 10, *MEEK) as service:
        text = traced(bus, "--json", "--record", record, "--perfetto", perfetto, program=program)
        expect(bus, text, ("nice 0", "nice 10", True))
        text = traced(bus, "--not-inherited", "--code", "1", program=program)
    said = ", called at nice 0 and served at nice 10: not inherited"
    assert text.rstrip().endswith(said) == bus.tells(PRIORITIES), text
    again = bus.tool("trace", *WANTED, "--json", "--from", record)
    expect(bus, again.stdout, ("nice 0", "nice 10", True))
    marks = json.loads(bus.tool("top", "--from", record, "--json").stdout)["marks"]
    found = [(mark["pid"], mark["why"]) for mark in marks if mark["mark"] == "PRIORITY"]
    if bus.tells(PRIORITIES):
        (pid, why), = [one for one in found if one[0] == service.pid]
        assert pid and why.endswith(" at nice 10, made at nice 0"), found
    with open(perfetto, "rb") as file:
        assert (b"priority not inherited" in file.read()) == bus.tells(PRIORITIES)


def test_a_realtime_caller_of_a_plain_object_is_found(bus):
    """Its node does not let real-time priorities be inherited (FLAT_BINDER_FLAG_INHERIT_RT)."""
    need(bus, FIFO, 10)
    program = scheduled(FIFO, 10, bus.program, *ADD)
    with peer(bus, 0):
        expect(bus, traced(bus, "--json", program=program), ("SCHED_FIFO 10", "nice 0", True))


def test_a_one_way_call_carries_none(bus):
    program = scheduled(NORMAL, -5, bus.program, *POST)
    with peer(bus, 10, *MEEK):
        expect(bus, traced(bus, "--json", program=program), (None, "nice 10", False), code=8)
