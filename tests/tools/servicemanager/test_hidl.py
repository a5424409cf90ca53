# SPDX-License-Identifier: GPL-2.0
"""The service manager of HIDL with raw clients, and services that keep it waiting."""
import contextlib
import os
import signal
import struct

import pytest
from anybinder.driver import Failed
from anybinder.hidl import (BASE, CHAIN, CODES, DEBUG, DESCRIPTOR, HASHES, INFO, MANAGER, PING,
                            Client, Parcel, Reader)
from anybinder.process import memory_kib, ready_child, run_child, threads_of, until
from anybinder.servicemanager import CALLBACK, SERVICE

LIGHT, LIGHT_2_0 = "android.hardware.light@2.1::ILight", "android.hardware.light@2.0::ILight"
OWN = [f"{interface}/default" for interface in
       [BASE] + [MANAGER.replace("1.0", version) for version in ("1.0", "1.1", "1.2")]]
USER, OTHER = 3900007, 3900008
PER_USER = 32    # MAX_PER_USER of tools/servicemanager/src/serve/waiting.rs


def path_of(manager):
    return manager.path("hwbinder")


def serve(ready, path, instance, chain, with_chain=True):
    client = Client(path, chain)
    if with_chain:
        assert client.add(instance, SERVICE, chain)
    else:
        assert client.add_unasked(instance, SERVICE)
        assert client.asked == 1
    ready()
    client.serve_until_killed()


def test_a_service_is_added_found_listed_and_gone(manager):
    path = path_of(manager)
    client = Client(path)
    until(lambda: client.names() == OWN)
    for with_chain in (True, False):
        with ready_child(serve, path, "left", [LIGHT, LIGHT_2_0, BASE], with_chain):
            assert client.get(LIGHT, "left") and client.get(LIGHT_2_0, "left")
            assert client.get(LIGHT, "right") is None
            added = [f"{interface}/left" for interface in (LIGHT, LIGHT_2_0, BASE)]
            assert client.names() == sorted(OWN + added)
            for method in ("list_by", "manifest"):
                found = client.call_method(method, lambda p: p.string(LIGHT_2_0), Reader.strings)
                assert found == ["left"]
            for name in ("left", "other"):
                fill = (lambda p, name=name: p.string(LIGHT).string(name))
                assert client.call_method("transport", fill, Reader.i32) == 1
            dump = client.call_method("dump", read=lambda r: struct.unpack("<QQ", r.buffer())[1])
            assert dump == len(OWN) + 3
        until(lambda: client.names() == OWN)
    # A service that is no 2.1 takes the place of one, and leaves no 2.1.
    for service, chain in ((SERVICE, [LIGHT, LIGHT_2_0, BASE]), (SERVICE + 1, [LIGHT_2_0, BASE])):
        client.chain = chain
        assert client.add("left", service, chain)
    assert client.get(LIGHT_2_0, "left") and client.get(LIGHT, "left") is None


def test_what_every_interface_has(manager):
    client = Client(path_of(manager))
    chain = [MANAGER.replace("1.0", version) for version in ("1.2", "1.1", "1.0")] + [BASE]
    assert client.ask_base(CHAIN, Reader.strings) == chain
    assert client.ask_base(DESCRIPTOR, Reader.string) == chain[0]
    client.ask_base(PING)
    hashes = client.ask_base(HASHES, lambda reply: (reply.buffer(), reply.buffer())[1])
    assert len(hashes) == 32 * len(chain)
    info = client.ask_base(INFO, Reader.buffer)
    assert struct.unpack("<iiQi", info[:20]) == (manager.manager_pid(), 0, 0, 1)
    for code in (DEBUG, CHAIN + 1):
        with pytest.raises(Failed) as failed:
            client.ask_base(code)
        assert failed.value.args == (-74,)


def test_notifications(manager):
    path = path_of(manager)
    client = Client(path)

    def names(interface, instance, pointer):
        return lambda p: p.string(interface).string(instance).binder(pointer)

    assert client.is_done("watch", names(LIGHT, "", CALLBACK))
    assert client.is_done("watch", names(LIGHT, "left", CALLBACK + 16))
    with ready_child(serve, path, "left", [LIGHT, BASE], False):
        assert [client.next_received() for _ in range(2)] == [(LIGHT, "left", 0)] * 2
        assert client.is_done("watch", names(LIGHT, "left", CALLBACK + 32))
        assert client.next_received() == (LIGHT, "left", 1)
        assert client.is_done("unwatch", names(LIGHT, "", CALLBACK))
        assert not client.is_done("unwatch", names(LIGHT, "left", CALLBACK))
        with ready_child(serve, path, "right", [LIGHT, BASE]):
            client.get(LIGHT, "right")
            assert client.next_received(1) is None


def hold(ready, path, interface, instance):
    client = Client(path)
    assert client.get(interface, instance, keep_handle=True)
    ready()
    client.serve_until_killed()


@pytest.mark.takes(10)
def test_a_lazy_service(manager):
    path = path_of(manager)
    client = Client(path, [LIGHT, LIGHT_2_0, BASE])
    assert client.add("lazy", SERVICE, client.chain)

    def this(p):
        return p.string(LIGHT).string("lazy").binder(SERVICE)

    assert client.is_done("watch_clients", lambda p: this(p).binder(CALLBACK))
    # A client that knows it as the interface that it extends is one, too.
    with ready_child(hold, path, LIGHT_2_0, "lazy"):
        assert client.next_received() == (SERVICE, 1)
        assert not client.is_done("unregister", this)
    assert client.next_received(30) == (SERVICE, 0)
    assert client.is_done("unregister", this)
    # Its callbacks went with it.
    assert not client.is_done("unwatch_clients", lambda p: p.null().binder(CALLBACK))
    assert client.add("lazy", SERVICE, client.chain)
    assert client.is_done("watch_clients", lambda p: this(p).binder(CALLBACK))
    assert client.is_done("unwatch_clients", lambda p: p.null().binder(CALLBACK))
    # Without callbacks its clients are not counted.
    assert not client.is_done("unregister", this)
    client.close()
    client = Client(path)
    until(lambda: client.names() == OWN)


def use_as(path, method):
    client = Client(path)
    method(client)


def test_another_user_takes_no_name(manager):
    path = path_of(manager)

    def take(client):
        client.chain = [LIGHT_2_0, BASE]
        assert not client.add("left", SERVICE, client.chain)
        assert not client.add_unasked("left", SERVICE)
        assert not client.add("left", SERVICE, [BASE])
        # All services are a base.
        assert client.add("left", SERVICE, ["a.b@1.0::IC", BASE])

    with ready_child(serve, path, "left", [LIGHT, LIGHT_2_0, BASE], uid=USER):
        run_child(use_as, path, take, uid=OTHER)
        client = Client(path)
        assert client.get(LIGHT_2_0, "left")

def check_refused(client, code, parcel):
    """Neither answered with success nor without an answer."""
    try:
        assert client.ask(code, parcel, Reader.i32) == 0, "it was answered with success"
    except Failed as failed:
        assert failed.args[0] in ("failed", "dead") or failed.args[0] < 0, failed.args


def good_parcels():
    interface = MANAGER.replace("1.0", "1.2")
    add = Parcel(interface).string("left").binder(SERVICE).strings([LIGHT, BASE])
    watch = Parcel(MANAGER).string(LIGHT).string("left").binder(CALLBACK)
    return (("add_with_chain", add), ("watch", watch))


def test_bad_parcels(manager):
    client = Client(path_of(manager))
    for method, whole in good_parcels():
        for size in range(len(whole.data)):
            cut = Parcel()
            cut.data, cut.buffers = whole.data[:size], whole.buffers
            cut.offsets = [at for at in whole.offsets if at < size]
            check_refused(client, CODES[method], cut)
            # Also with the objects that end in it only, which the driver accepts.
            ends = {at: at + (40 if (at, content) in whole.buffers else 24)
                    for at in whole.offsets
                    for content in [dict(whole.buffers).get(at, b"")]}
            cut.offsets = [at for at in whole.offsets if ends[at] <= size]
            cut.buffers = [one for one in whole.buffers if one[0] in cut.offsets]
            check_refused(client, CODES[method], cut)
    until(lambda: client.names() == OWN)


def changed(whole):
    """The call with each word of what it consists of changed."""
    texts = [content for _, content in whole.buffers]
    for number, content in enumerate([whole.data, *texts]):
        for at in range(0, len(content) - 3, 4):
            for word in (0, 1, 0x7fffffff, 0xffffffff):
                other = content[:at] + struct.pack("<I", word) + content[at + 4:]
                parcel = Parcel()
                parcel.data, parcel.offsets = whole.data, whole.offsets
                parcel.buffers = list(whole.buffers)
                if number:
                    parcel.buffers[number - 1] = (whole.buffers[number - 1][0], other)
                else:
                    parcel.data = other
                yield parcel


def test_changed_parcels(manager):
    """Each is answered, and the service manager lives on."""
    client = Client(path_of(manager))
    for method, whole in good_parcels():
        for parcel in changed(whole):
            with contextlib.suppress(Failed):
                client.ask(CODES[method], parcel, Reader.i32)
    client.close()
    client = Client(path_of(manager))
    until(lambda: client.names() == OWN)


def test_wrong_types_and_names(manager):
    client = Client(path_of(manager))
    add, watch = CODES["add_with_chain"], CODES["watch"]
    text = Parcel(MANAGER).string("left").string("a text that is no interface")
    number = Parcel(MANAGER).i32(7).binder(SERVICE).strings([LIGHT, BASE])
    null = Parcel(MANAGER).string("left").null().strings([LIGHT, BASE])
    none = Parcel(MANAGER).string("left").binder(SERVICE).strings([])
    orphan = Parcel(MANAGER)
    orphan.buffer(struct.pack("<QQ", 0, 4))
    orphan.buffer(b"left\0")
    liar = Parcel(MANAGER)
    liar.buffer(b"left\0", (liar.buffer(struct.pack("<QQ", 0, 0xFFFFFFFF)), 0))
    other = Parcel("android.hidl.token@1.0::ITokenManager").string("left").binder(SERVICE)
    aidl = Parcel().i32(0).i32(-1).i32(0x53595354).string("left")
    for code, parcel in ((add, text), (add, number), (add, null), (add, none), (add, orphan),
                         (add, liar), (add, other), (add, aidl), (watch, null), (99, none)):
        check_refused(client, code, parcel)
    for name in ("", "a" * 65536, "a b", "\x1b[31m"):
        assert not client.add(name, SERVICE, [LIGHT, BASE])
        assert not client.add("left", SERVICE, [name, BASE])
        assert client.get(LIGHT, name) is None
    assert not client.add("left", SERVICE, ["a/b", BASE])
    check_refused(client, add, Parcel(MANAGER).string("left").binder(SERVICE).strings(
        [f"a@1.0::I{number}" for number in range(65)]))
    until(lambda: client.names() == OWN)


def add_many(ready, path, count):
    client = Client(path)
    for number in range(count):
        assert client.add(f"n{number}", SERVICE + 16 * number, [LIGHT, BASE])
    ready()
    client.serve_until_killed()


@pytest.mark.takes(20)
def test_ten_thousand_services(manager):
    path = path_of(manager)
    client = Client(path)
    sizes = []
    for _ in range(2):
        with ready_child(add_many, path, 10000):
            assert client.get(LIGHT, "n9999") and client.get(BASE, "n0")
            # More than the buffer of a process has room for.
            try:
                client.names()
            except Failed as failed:
                assert failed.args == ("failed",)
        until(lambda: client.get(LIGHT, "n9999") is None)
        until(lambda: client.names() == OWN)
        sizes.append(memory_kib(manager.manager_pid()))
    # What long work took is returned a little later.
    until(lambda: memory_kib(manager.manager_pid()) - sizes[0] < 4096)


def add_and_die(path):
    client = Client(path, [LIGHT, BASE])
    assert client.add_unasked("short", SERVICE)
    assert client.is_done("watch", lambda p: p.string(LIGHT).string("").binder(CALLBACK))


@pytest.mark.takes(10)
def test_a_service_that_dies_again_and_again(manager):
    client = Client(path_of(manager))
    sizes = []
    for _ in range(4):
        for _ in range(50):
            run_child(add_and_die, path_of(manager))
        until(lambda: client.names() == OWN)
        sizes.append(memory_kib(manager.manager_pid()))
    assert sizes[3] - sizes[0] < 1024, f"resident memory grows: {sizes} KiB"


def add_and_hang(ready, path):
    """The service is asked for its interfaces in the thread that adds it, and does not reply."""
    client = Client(path)
    ready()
    client.add_unasked("hangs", SERVICE)


def test_services_that_do_not_tell_their_interfaces(manager):
    """They keep the places of their user only, and give them back when they end."""
    path = path_of(manager)
    pid = manager.manager_pid()
    before = threads_of(pid)
    client = Client(path)

    def refused(client):
        client.chain = [LIGHT, BASE]
        assert not client.add_unasked("more", SERVICE)
        assert client.asked == 0
        assert client.add("told", SERVICE, [LIGHT, BASE])

    def added(client):
        client.chain = [LIGHT, BASE]
        assert client.add_unasked("more", SERVICE)

    with contextlib.ExitStack() as stack:
        for _ in range(PER_USER):
            stack.enter_context(ready_child(add_and_hang, path, uid=USER))
        until(lambda: threads_of(pid) == before + PER_USER)
        run_child(use_as, path, refused, uid=USER)
        run_child(use_as, path, added, uid=OTHER)
        assert "hangs" not in str(client.names())
    until(lambda: threads_of(pid) == before)
    run_child(use_as, path, added, uid=USER)
    until(lambda: client.names() == OWN)


class Recursive(Client):
    """Adds itself again when it is asked for its interfaces, and tells nonsense."""
    nonsense = None

    def answer_chain(self):
        with pytest.raises(Failed) as failed:
            self.add_unasked("again", SERVICE)
        assert failed.value.args[0] not in ("dead", "failed")
        return self.nonsense


def test_services_that_tell_nonsense(manager):
    client = Recursive(path_of(manager), [])
    for client.nonsense in (Parcel().i32(0).strings([]), Parcel().i32(-1), Parcel(),
                            Parcel().i32(0), Parcel().i32(0).strings(["a/b"]),
                            Parcel().i32(0).binder(SERVICE),
                            Parcel().i32(0).strings([f"a@1.0::I{n}" for n in range(65)])):
        assert not client.add_unasked("odd", SERVICE)
    client.nonsense = Parcel().i32(0).strings([LIGHT, BASE])
    assert client.add_unasked("odd", SERVICE)


def watch_and_sleep(ready, path):
    client = Client(path)
    for number in range(80):    # of 256 that a user may have for a name
        assert client.is_done("watch", lambda p, at=16 * number: p.string(LIGHT).string("").binder(
            CALLBACK + at))
    ready()
    signal.pause()


def test_callbacks_that_are_not_read(manager):
    """Of a process that sleeps, one that is stopped and one that is frozen: their buffers fill."""
    path = path_of(manager)
    client = Client(path, [LIGHT, BASE])
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(ready_child(watch_and_sleep, path)) for _ in range(3)]
        os.kill(pids[1], signal.SIGSTOP)
        client.freeze(pids[2])
        for number in range(40):
            # With and without the question that a thread waits for.
            if number % 2:
                assert client.add(f"n{number}", SERVICE, client.chain)
            else:
                assert client.add_unasked(f"n{number}", SERVICE)
        assert client.get(LIGHT, "n39") == SERVICE
    client.close()
    client = Client(path)
    until(lambda: client.names() == OWN)


def test_beside_aidl(manager):
    """The command lists the services; what is no HIDL is refused, and HIDL on other devices."""
    with ready_child(serve, path_of(manager), "left", [LIGHT, BASE]) as pid:
        rows = map(str.split, manager.run("list", "--device", "hwbinder").splitlines())
        assert [str(pid), f"{LIGHT}/left"] in [[row[0], row[-1]] for row in rows]
    client = Client(manager.path("binder"))
    check_refused(client, CODES["list"], Parcel(MANAGER))
    until(lambda: "it looks like HIDL" in manager.log())


def add_as(path, wanted):
    client = Client(path, [LIGHT, BASE])
    assert client.add("ruled", SERVICE, client.chain) == wanted
    assert (client.get(LIGHT, "ruled") is not None) == wanted
    assert client.get(BASE, "ruled") is None


def test_rules(new_bus, rules_of):
    text = ('[global]\nlist = "any"\n[[rule]]\nname = "android.hardware.light@*"\n'
            f'add = {{ uid = [{USER}] }}\nfind = "any"\n')
    with new_bus("--policy", str(rules_of(text)), managers="hwbinder") as other:
        run_child(add_as, path_of(other), True, uid=USER)
        run_child(add_as, path_of(other), False, uid=OTHER)
        until(lambda: "do not let this user add" in other.log())
