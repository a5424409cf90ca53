# SPDX-License-Identifier: Apache-2.0
"""`anybinder disturb`: a process before a service fails, delays and drops calls, passes on all
else, and gives the name back."""
import contextlib
import os
import signal
import struct
import time

import pytest
from anybinder import errors
from anybinder.driver import TF_ONE_WAY, Failed
from anybinder.parcel import Parcel
from anybinder.process import PATIENCE_S, as_user, children_of, until
from anybinder.service import service
from anybinder.servicemanager import Client

from peers import AIDL, PEER, contains

NAME, OTHER = "anybinder.test.IPeer/fake", "anybinder.test.IPeer/other"


@pytest.fixture(name="fake")
def make_fake(binder):
    """A service whose method `add` returns a number."""
    return binder.fake(NAME, add=42)


@pytest.fixture(name="peer")
def make_peer(binder, fake):    # pylint: disable=unused-argument
    """A client of it."""
    return binder.client(NAME)


def add(peer):
    """What a call returns, or which error it fails with."""
    try:
        return peer.add(1, 2)
    except errors.BinderError as error:
        return type(error)


def test_all_else_is_passed_on(bus, binder):
    bus.serve(OTHER)
    with binder.disturb(PEER, method=99, fail="DEAD_OBJECT") as process:
        pid, = children_of(process.pid)
        bus.has_all_pass(PEER, process, OTHER)
        contains(bus.run("list"), f"{PEER}, DISTURBED: {PEER} --method 99 --fail DEAD_OBJECT")
        contains(bus.run("status"), f"process {pid}, DISTURBED: {PEER}")
        assert [one["pid"] for one in bus.status()["disturbed"]] == [pid]
        process.send_signal(signal.SIGINT)
        contains(process.communicate(timeout=PATIENCE_S)[0], f"{PEER} is itself again")
    assert process.returncode == 0
    assert bus.status()["disturbed"] == []
    assert bus.ask("add", "2", "40") == "42" and "DISTURBED" not in bus.run("list")


@pytest.mark.usefixtures("daemon_only")
def test_a_trace_shows_who_stands_before_the_service(bus, binder, fake):
    """With the name of its own, and the priority of the caller."""
    words = ["nice", "-n", "5", bus.program, "call", "--aidl", AIDL, fake.name, "add", "1", "2"]
    with binder.disturb(fake.name, method="99", dead=True), binder.trace() as calls:
        bus.execute(*words)
    from_proxy = [one for one in calls if one["from"]["process"] == "binder-disturb"]
    assert from_proxy, calls
    if os.getuid() == 0:    # who may raise it again
        assert {one["priority"] for one in from_proxy} == {f"nice {os.nice(0) + 5}"}


@pytest.mark.parametrize("faults, result", [
    ({"fail": "DEAD_OBJECT"}, errors.DeadObject), ({"fail": -74}, errors.UnknownTransaction),
    ({"fail": "PermissionDenied", "method": 1}, errors.PermissionDenied),
    ({"fail": "DEAD_OBJECT", "method": 2}, 42),
    ({"fail": "DEAD_OBJECT", "caller": "nobody-has-this"}, 42),
    ({"fail": "DEAD_OBJECT", "caller": "anybinder"}, errors.DeadObject),
    ({"fail": "DEAD_OBJECT", "caller": os.getuid()}, errors.DeadObject),
    ({"fail": "DEAD_OBJECT", "caller": 12345}, 42), ({"fail": "DEAD_OBJECT", "rate": 0}, 42),
    ({"exception": 'ServiceSpecific(3, "full")', "method": "add", "aidl": AIDL},
     errors.ServiceSpecific)])
def test_calls_fail(binder, peer, faults, result):
    with binder.disturb(NAME, **faults):
        assert add(peer) == result
    with binder.disturb(NAME, count=1, **faults):
        assert [add(peer), add(peer)] == [result, 42]


def test_a_delay_is_waited(binder, peer):
    with binder.disturb(NAME, delay="300ms", count=1):
        before = time.monotonic()
        assert add(peer) == 42
        assert time.monotonic() - before >= 0.3


def test_oneway_calls_vanish(binder, fake, peer):
    with binder.disturb(NAME, drop_oneway=True, count=3):
        for number in range(5):
            peer.post(number)
        add(peer)
        until(lambda: len(fake.calls) >= 3)
    assert sorted(one.arguments.get("value", -1) for one in fake.calls) == [-1, 3, 4]


def test_the_same_calls_are_chosen_with_the_same_seed(binder, peer):
    def chosen(seed):
        with binder.disturb(NAME, fail=-1, rate=0.5, seed=seed):
            return [add(peer) for _ in range(30)]
    first = chosen(1)
    assert first == chosen(1) and first != chosen(2)
    assert 5 < first.count(42) < 25


def test_a_death_is_one(bus, binder, peer):
    with binder.disturb(NAME, dead=True, count=1) as process:
        first, = children_of(process.pid)
        with bus.death_of(NAME):
            assert add(peer) == errors.DeadObject
        until(lambda: first not in [one["pid"] for one in bus.status()["disturbed"]]
              and bus.status()["disturbed"])
        assert add(peer) == 42


@pytest.mark.parametrize("who", ["the one that was started", "the one before the service"])
def test_the_name_is_given_back_by_whom_is_not_killed(bus, binder, peer, who):
    with binder.disturb(NAME, fail=-1) as process:
        pid = process.pid if "started" in who else children_of(process.pid)[0]
        os.kill(pid, signal.SIGKILL)
        until(lambda: bus.status()["disturbed"] == [])
        until(lambda: add(peer) == 42)
        output, _ = process.communicate(timeout=PATIENCE_S)
    if pid != process.pid:
        assert process.returncode == 1
        contains(output, f"The process {pid} before {NAME} was killed", "given back")


def test_the_death_of_the_service_is_told(bus, binder, fake):
    with binder.disturb(NAME, method=9, fail=-1) as process:
        with bus.death_of(NAME):
            fake.dies()
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 7
    contains(output, f"The service {NAME} has died; its clients were told.")
    assert NAME not in bus.run("list")


def test_ten_thousand_calls_at_once(bus, binder):
    """One-way calls of one client, sent until there is no space: none that was taken is lost, and
    they keep their order."""
    raw = "test.IRaw"
    with service(bus.path(), raw, raw, {1: b"", 2: b""}) as served, \
            binder.disturb(raw, method=9, fail=-1), Client(bus.path()) as client:
        handle, sent = client.find(raw), 0
        for number in range(10_000):
            with contextlib.suppress(Failed):
                client.transact(handle, 2, Parcel(descriptor=raw).i32(number), TF_ONE_WAY)
                sent += 1
        client.release(client.transact(handle, 1, Parcel(descriptor=raw)))
        until(lambda: len(served.calls.all()) == sent + 1)
        numbers = [struct.unpack("<i", one.data)[0] for one in served.calls.all() if one.data]
        assert numbers == sorted(numbers) and len(numbers) == sent > 100


@pytest.mark.parametrize("words, status, why", [
    ([PEER], 2, "Nothing says what to do"), ([PEER, "--fail", "0"], 2, "no error is no answer"),
    ([PEER, "--exception", "Odd"], 2, "no exception Odd"),
    ([PEER, "--delay", "2"], 2, "the unit is missing"),
    ([PEER, "--dead", "--rate", "2"], 2, "from 0 to 1"),
    (["no.such", "--dead"], 6, "No service is registered"),
    (["a@1.0::I/x", "--dead"], 2, "HIDL"),
    ([PEER, "--dead", "--method", "add"], 2, "no transaction code")])
def test_what_cannot_be_disturbed(bus, words, status, why):
    contains(bus.run("disturb", *words, status=status), why)


def test_the_kit_says_why_nothing_is_disturbed(binder):
    with pytest.raises(errors.Unanswered, match="Nothing says"), binder.disturb(PEER):
        pass


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_the_name_of_another_user_cannot_be_taken(bus):
    os.chmod(bus.path(), 0o666)    # that of a kernel is root's
    words = as_user(65534, bus.program, "disturb", PEER, "--dead")
    done = bus.execute(*words)
    assert done.returncode == 8, done.stderr
    contains(done.stderr, "cannot be registered: the name is registered by another user")
    assert bus.ask("add", "1", "1") == "2"
