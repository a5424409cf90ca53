# SPDX-License-Identifier: Apache-2.0
"""`anybinder bridge`: services of one context in another."""
import pytest
from anybinder.process import children_of, until

from peers import PEER, PeerBus, contains

HERE = "anybinder.test.IPeer/here"


@pytest.fixture(scope="module")
def there(served_bus):
    """Another bus on the same driver, with a service."""
    with PeerBus(managers="binder", driver="kernel" if served_bus.is_kernel else "daemon") as other:
        yield other
        other.stop(*other.running)


def begin(bus, there, *names):    # pylint: disable=redefined-outer-name
    process = bus.command("bridge", f"{there.mount}:binder", f"{bus.mount}:binder", *names)
    for _ in names:
        contains(process.stdout.readline(), f" bridged from {there.mount}/binder to")
    return process


def test_calls_from_another_context(bus, binder, there):    # pylint: disable=redefined-outer-name
    there.serve(HERE)
    process = begin(bus, there, HERE)
    bus.has_all_pass(HERE, process, PEER)
    callback = binder.callback("anybinder.test.ICallback")
    binder.client(HERE).callBackLater(callback, 2)
    until(lambda: [one.arguments["value"] for one in callback.calls] == [0, 1])
    contains(bus.run("list"), "binder-bridge")
    contains(bus.ask("echoRecord", '{"name": "n"}', name=HERE), '"n"')


def test_deaths_and_new_lives_cross(bus, there):    # pylint: disable=redefined-outer-name
    name = "anybinder.test.IPeer/mortal"
    service = there.serve(name)
    process = begin(bus, there, name)
    first = children_of(process.pid)
    with bus.death_of(name):
        there.stop(service)
    there.serve(name)
    contains(process.stdout.readline(), "bridged from")
    assert bus.ask("add", "1", "1", name=name) == "2" and children_of(process.pid) != first
    process.kill()
    until(lambda: name not in bus.run("list"))


def test_what_cannot_be_bridged(bus):
    place = f"{bus.mount}:binder"
    contains(bus.run("bridge", place, place, PEER, status=2), "Both places are the same")
    contains(bus.run("bridge", place, "a/b", PEER, status=2), "not MOUNT:DEVICE")
    assert bus.execute(bus.program, "bridge", place, "/nowhere:binder", PEER).returncode in (3, 10)
