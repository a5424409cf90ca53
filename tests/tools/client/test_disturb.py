# SPDX-License-Identifier: Apache-2.0
"""`anybinder disturb`: a process before a service fails, delays and drops calls, passes on all
else, and gives the name back."""
import contextlib
import os
import signal
import struct
import time

import pytest
from anybinder.driver import TF_ONE_WAY, Failed
from anybinder.parcel import Parcel, Reader
from anybinder.process import PATIENCE_S, as_user, children_of, until
from anybinder.service import service
from anybinder.servicemanager import Client

from peers import AIDL, PEER, contains

OTHER = "anybinder.test.IPeer/other"
with open("/proc/self/comm", encoding="ascii") as comm:
    COMM = comm.read().strip()
RAW, DEAD, PERMISSION_DENIED = "test.IRaw", -32, -1


def begin(bus, *words, name=PEER):
    """The command, which stands before the service."""
    process = bus.command("disturb", name, *words)
    line = process.stdout.readline()
    contains(line, f"{name} is disturbed by process")
    return process


@contextlib.contextmanager
def disturbed(bus, *words, name=PEER):
    """The command, until it is interrupted; gives the pid of the process before the service."""
    process = begin(bus, *words, name=name)
    yield children_of(process.pid)[0]
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    contains(output, f"{name} is itself again")


@contextlib.contextmanager
def raw_service(bus, answers=None):
    """A service whose first method answers with a number, and a client of it; gives a function that
    calls a method."""
    answers = answers or {1: Parcel().i32(0).i32(42), 2: b""}
    with service(bus.path(), RAW, RAW, answers) as running, Client(bus.path()) as client:
        def call(code=1, flags=0):
            handle = client.find(RAW)
            parcel = Parcel(descriptor=RAW)
            return client.release(client.transact(handle, code, parcel, flags)).data
        call.client, call.service = client, running
        yield call


def status_of(call, *words):
    """The status that a call fails with, None if it does not."""
    try:
        call(*words)
        return None
    except Failed as failed:
        return failed.args[0]


def test_all_else_is_passed_on(bus):
    bus.serve(OTHER)
    with disturbed(bus, "--method", "99", "--fail", "DEAD_OBJECT") as pid:
        assert bus.ask("add", "2", "40") == "42"
        assert bus.ask("callingPid") == str(pid)
        contains(bus.ask("echoBinder", PEER), '"handle":')
        contains(bus.ask("makeCounter"), '"handle":')
        # In threads that wait, back and forth.
        assert bus.ask("bounce", PEER, OTHER, "5") == "5"
        contains(bus.ask("callBack", "new", "7"), "7")
        notes = bus.file("notes", 9)
        assert len(bus.ask("readFiles", f'["{notes}", "{notes}"]')) > 2
        contains(bus.ask("openText", "x"), '"path":"/memfd:')
        bus.run("dump", PEER)
        for number in range(20):
            bus.ask("post", str(number))
        until(lambda: bus.ask("posted") == str(list(range(20))).replace(" ", ""))
        contains(bus.run("list"), f"{PEER}, DISTURBED: {PEER} --method 99 --fail DEAD_OBJECT")
        contains(bus.run("status"), f"process {pid}, DISTURBED: {PEER}")
        assert [one["pid"] for one in bus.status()["disturbed"]] == [pid]
    assert bus.status()["disturbed"] == []
    assert bus.ask("add", "2", "40") == "42" and "DISTURBED" not in bus.run("list")


@pytest.mark.parametrize("words, status", [
    (["--fail", "DEAD_OBJECT"], DEAD), (["--fail", "-74"], -74),
    (["--fail", "PermissionDenied", "--method", "1"], PERMISSION_DENIED),
    (["--fail", "DEAD_OBJECT", "--method", "2"], None),
    (["--fail", "DEAD_OBJECT", "--caller", "nobody-has-this"], None),
    (["--fail", "DEAD_OBJECT", "--caller", COMM], DEAD),
    (["--fail", "DEAD_OBJECT", "--caller", str(os.getuid())], DEAD),
    (["--fail", "DEAD_OBJECT", "--caller", "12345"], None),
    (["--fail", "DEAD_OBJECT", "--rate", "0"], None)])
def test_calls_fail_with_a_status(bus, words, status):
    with raw_service(bus) as call, disturbed(bus, *words, name=RAW):
        assert status_of(call) == status


def test_exceptions_and_methods_by_name(bus):
    words = ["--method", "add", "--exception", 'ServiceSpecific(42, "full")', "--count", "1"]
    with disturbed(bus, *words, "--aidl", AIDL):
        assert bus.ask("echo", "x") == '"x"'
        contains(bus.ask("add", "1", "2", status=11), "service specific, code 42", "full")
        assert bus.ask("add", "1", "2") == "3"


def test_a_delay_is_waited(bus):
    with raw_service(bus) as call, disturbed(bus, "--delay", "300ms", "--count", "1", name=RAW):
        before = time.monotonic()
        assert Reader(call()).i32() == 0
        assert time.monotonic() - before >= 0.3


def test_oneway_calls_vanish(bus):
    with raw_service(bus) as call:
        with disturbed(bus, "--drop-oneway", "--count", "3", name=RAW):
            for code in (2, 3, 4, 5, 6):
                call(code, TF_ONE_WAY)
            call(1)
            until(lambda: len(call.service.calls.all()) >= 3)
        assert sorted(one.code for one in call.service.calls.all()) == [1, 5, 6]


def test_the_same_calls_are_chosen_with_the_same_seed(bus):
    def chosen(seed):
        with disturbed(bus, "--fail", "-1", "--rate", "0.5", "--seed", seed, name=RAW):
            return [status_of(call) for _ in range(30)]
    with raw_service(bus) as call:
        first = chosen("1")
        assert first == chosen("1") and first != chosen("2")
        assert 5 < first.count(-1) < 25


def test_a_death_is_one(bus):
    with raw_service(bus) as call, disturbed(bus, "--dead", "--count", "1", name=RAW) as pid:
        handle = call.client.find(RAW)
        call.client.watch(handle)
        assert status_of(call) == "dead"
        assert call.client.wait_death() and call.client.dead == [handle]
        until(lambda: pid not in [one["pid"] for one in bus.status()["disturbed"]]
              and bus.status()["disturbed"])
        assert Reader(call()).i32() == 0


@pytest.mark.parametrize("who", ["the one that was started", "the one before the service"])
def test_the_name_is_given_back_by_whom_is_not_killed(bus, who):
    with raw_service(bus) as call:
        process = begin(bus, "--fail", "-1", name=RAW)
        pid = process.pid if "started" in who else children_of(process.pid)[0]
        os.kill(pid, signal.SIGKILL)
        until(lambda: bus.status()["disturbed"] == [])
        until(lambda: status_of(call) is None)
        output, _ = process.communicate(timeout=PATIENCE_S)
        if pid != process.pid:
            assert process.returncode == 1
            contains(output, f"The process {pid} before {RAW} was killed", "given back")


def test_the_death_of_the_service_is_told(bus):
    with raw_service(bus) as call:
        process = begin(bus, "--method", "9", "--fail", "-1", name=RAW)
        handle = call.client.find(RAW)
        call.client.watch(handle)
        os.kill(call.service.pid, signal.SIGKILL)
        assert call.client.wait_death()
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 7
        contains(output, f"The service {RAW} has died; its clients were told.")
        assert RAW not in bus.run("list")


def test_ten_thousand_calls_at_once(bus):
    with raw_service(bus) as call, disturbed(bus, "--method", "9", "--fail", "-1", name=RAW):
        handle, sent = call.client.find(RAW), 0
        for number in range(10_000):
            with contextlib.suppress(Failed):    # no space left for one-way calls
                call.client.transact(handle, 2, Parcel(descriptor=RAW).i32(number), TF_ONE_WAY)
                sent += 1
        call()
        until(lambda: len(call.service.calls.all()) == sent + 1)
        numbers = [struct.unpack("<i", one.data)[0] for one in call.service.calls.all() if one.data]
        # None that was taken is lost, and they keep their order.
        assert numbers == sorted(numbers) and len(numbers) == sent > 100


def test_what_cannot_be_disturbed(bus):
    contains(bus.run("disturb", PEER, status=2), "Nothing says what to do")
    contains(bus.run("disturb", PEER, "--fail", "0", status=2), "no error is no answer")
    contains(bus.run("disturb", PEER, "--exception", "Odd", status=2), "no exception Odd")
    contains(bus.run("disturb", PEER, "--delay", "2", status=2), "the unit is missing")
    contains(bus.run("disturb", PEER, "--dead", "--rate", "2", status=2), "from 0 to 1")
    contains(bus.run("disturb", "no.such", "--dead", status=6), "No service is registered")
    contains(bus.run("disturb", "a@1.0::I/x", "--dead", status=2), "HIDL")
    contains(bus.run("disturb", PEER, "--dead", "--method", "add", status=2), "no transaction code")


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_the_name_of_another_user_cannot_be_taken(bus):
    words = as_user(65534, bus.program, "disturb", PEER, "--dead")
    done = bus.execute(*words)
    assert done.returncode == 8, done.stderr
    contains(done.stderr, "cannot be registered: the name is registered by another user")
    assert bus.ask("add", "1", "1") == "2"
