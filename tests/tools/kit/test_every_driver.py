# SPDX-License-Identifier: GPL-2.0
"""The kit on the daemon, on the module and on the kernel's own driver: fakes, clients, callbacks,
files, disturbances, bridges, random and recorded calls."""
import shlex

import pytest
from anybinder import errors
from anybinder.bus import Bus
from anybinder.kit import DEAD, Binder

from faked import AIDL, PEER


def kernel(driver):
    """The driver of a machine's kernel. CI boots one of these machines, in turn."""
    return pytest.param("kernel", id=driver, marks=[
        pytest.mark.vm("6.12", driver=driver, smp=1, timeout=900), pytest.mark.long,
        pytest.mark.turn("drivers of the kit", driver)])


# `ref` is the kernel's own driver.
DRIVERS = ["daemon", kernel("ref"), kernel("module")]


@pytest.fixture(scope="module", params=DRIVERS)
def bus(request, programs):    # pylint: disable=unused-argument
    """A bus on the driver."""
    with Bus(managers="binder", driver=request.param) as made:
        yield made


@pytest.fixture(name="kit")
def make_kit(bus):    # pylint: disable=redefined-outer-name
    """See Binder."""
    with Binder(AIDL, bus) as made:
        yield made


def test_fakes_answer_and_die(kit, tmp_path):
    note = tmp_path / "note"
    note.write_bytes(b"contents")
    fake = kit.fake(PEER, add=lambda a, b: a + b, openText=note, release=DEAD)
    peer = kit.client(PEER)
    assert peer.add(2, 40) == 42
    with peer.openText("x") as file:
        assert file.read() == b"contents"
    callback = kit.callback("anybinder.test.ICallback", onValue=lambda value: value + 1)
    fake.answers("callBack", lambda callback, value: 0)
    assert peer.callBack(callback, 5) == 0
    fake.call_back("callback", "onValue", 41)
    assert [one.arguments for one in callback.calls] == [{"value": 41}]
    fake.raises("echo", errors.ServiceSpecific(42, "full"))
    with pytest.raises(errors.ServiceSpecific, match="full"):
        peer.echo("x")
    with pytest.raises(errors.DeadObject):
        peer.release()
    fake.restart()
    assert peer.add(1, 1) == 2
    assert [one.method for one in fake.calls][-2:] == ["release", "add"]


def test_a_service_is_disturbed(kit):
    kit.fake(PEER, add=1)
    peer = kit.client(PEER)
    with kit.disturb(PEER, fail="PERMISSION_DENIED", count=1):
        with pytest.raises(errors.PermissionDenied):
            peer.add(0, 0)
        assert peer.add(0, 0) == 1
    assert peer.add(0, 0) == 1


def test_a_service_crosses_to_another_bus(kit):
    fake = kit.fake(PEER, add=1, callBack=3)
    with Bus(managers="binder", driver=kit.bus.driver) as other, Binder(AIDL, other) as there:
        places = [f"{one.mount}:binder" for one in (kit.bus, other)]
        with kit.bus.started("bridge", *places, PEER) as bridge:
            assert " bridged from " in bridge.stdout.readline()
            peer = there.client(PEER)
            callback = there.callback("anybinder.test.ICallback", onValue=7)
            assert (peer.add(1, 2), peer.callBack(callback, 5)) == (1, 3)
            fake.call_back("callback", "onValue", 41)
            assert [one.arguments for one in callback.calls] == [{"value": 41}]


def test_random_calls_find_a_death(kit):
    kit.fake(PEER, add=DEAD)
    done = kit.bus.execute(kit.bus.program, "fuzz", PEER, "--aidl", AIDL, "--calls", "400")
    assert done.returncode == 1 and ": death, by" in done.stdout, done.stdout + done.stderr
    line = next(one for one in done.stdout.splitlines() if one.startswith("anybinder call"))
    assert PEER in shlex.split(line), line


def test_recorded_calls_are_made_again(kit, tmp_path):
    """The recording is of the daemon: the kernel's own driver does not tell what is passed."""
    recording = str(tmp_path / "recording")
    with Bus(managers="binder") as daemon, Binder(AIDL, daemon) as there:
        there.fake(PEER, add=1, echo="a")
        with there.trace("--record", recording, "--payload=all"):
            there.client(PEER).add(2, 3)
            there.client(PEER).echo("x")
    words = ["replay", recording, "--fast", "--aidl", AIDL]
    with Binder(AIDL, kit.bus) as here:
        here.fake(PEER, recording=recording)
        assert "2 calls, 0 with another reply" in kit.bus.run(*words)
    kit.fake(PEER, add=2, echo="a")
    said = kit.bus.run(*words, status=1)
    assert "2 calls, 1 with another reply" in kit.bus.outcome(*words)[1], said
