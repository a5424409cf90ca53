# SPDX-License-Identifier: GPL-2.0
"""The Python package: fakes, clients, callbacks, what came, what fails, traces."""
import os
import pathlib
import subprocess
import threading

import pytest
from anybinder import errors
from anybinder.kit import DEAD, Typed, dies_behind, out
from anybinder.process import until

from faked import AIDL, CALLBACK, PEER, every_driver


@pytest.fixture
def peer(binder):
    """A client of the service."""
    return binder.client(PEER)


def at_once(count, function):
    """Threads that call a function with their numbers; gives them."""
    threads = [threading.Thread(target=function, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_what_came_is_kept_with_its_types(binder, peer):
    fake = binder.fake(PEER, add=7, reverse=b"\0\xff", release=None)
    assert peer.add(a=1, b=2) == 7
    assert peer.reverse(b"\1\2") == "hex:00ff"
    assert peer.release() is None
    peer.post(5)
    until(lambda: len(fake.calls) == 4)
    assert [(one.number, one.method, one.arguments, one.is_oneway) for one in fake.calls] == [
        (1, "add", {"a": 1, "b": 2}, False), (2, "reverse", {"data": "hex:0102"}, False),
        (3, "release", {}, False), (4, "post", {"value": 5}, True)]
    assert (fake.calls[0].uid, fake.calls[0].pid != fake.pid) == (os.getuid(), True)
    with pytest.raises(errors.UnknownTransaction):
        peer.openFiles()
    for call, why in ((peer.odd, "has no method odd"),
                      (lambda: peer.add(1), r"add\(a, b\) was given 1 arguments"),
                      (lambda: peer.add("x", 1), 'add.a.: "x" is not a value of type int')):
        with pytest.raises(errors.Unanswered, match=why):
            call()


@pytest.mark.parametrize("error", [
    errors.Security("no"), errors.IllegalArgument(None), errors.ServiceSpecific(42, "full"),
    errors.UnsupportedOperation("never"), errors.DeadObject(), errors.Status(-61),
    errors.PermissionDenied()])
def test_errors_are_those_of_aidl(binder, peer, error):
    def refuse():
        raise error

    fake = binder.fake(PEER)
    for answer in error, refuse:
        fake.answers("release", answer)
        with pytest.raises(type(error)) as raised:
            peer.release()
        assert raised.value.step() == error.step()


def test_sequences_and_times(binder, peer):
    fake = binder.fake(PEER, add=1)
    fake.answers("add", 1, errors.IllegalState("later"), 3, after=0.01)
    assert peer.add(0, 0) == 1
    with pytest.raises(errors.IllegalState, match="later"):
        peer.add(0, 0)
    assert [peer.add(0, 0), peer.add(0, 0)] == [3, 3]


def test_functions_answer_many_callers_at_once(binder, peer):
    """No call is answered before all of them have come."""
    here, results = threading.Barrier(20), []
    fake = binder.fake(PEER, add=lambda a, b: here.wait(60) and 0 or a + b)
    for caller in at_once(20, lambda number: results.append(peer.add(number, 1))):
        caller.join()
    assert sorted(results) == list(range(1, 21))
    fake.answers("add", lambda a, b: "no number")
    with pytest.raises(errors.IllegalState, match="not a value of type int"):
        peer.add(1, 2)


def test_ten_thousand_calls_at_once(binder):
    fake = binder.fake(PEER, add=1)
    client = binder.client(PEER)._process    # pylint: disable=protected-access
    client.read_always()
    begun = [client.begin(call={"to": PEER, "method": "add", "arguments": [n, 0]})
             for n in range(10_000)]
    assert {client.answer(number)["result"] for number in begun} == {1}
    assert sorted(one.arguments["a"] for one in fake.calls) == list(range(10_000))


@every_driver
def test_it_dies_and_is_there_again(binder, peer):
    fake = binder.fake(PEER, add=1, release=DEAD, posted=dies_behind([1]))
    assert peer.add(0, 0) == 1
    with pytest.raises(errors.DeadObject):
        peer.release()
    fake.wait_dead()
    fake.restart()
    assert peer.posted() == [1]
    fake.wait_dead()
    fake.restart()
    assert peer.add(0, 0) == 1
    fake.dies()
    with pytest.raises((errors.DeadObject, errors.NameNotFound)):
        peer.add(0, 0)


@every_driver
def test_callbacks(binder, peer):
    fake = binder.fake(PEER, hold=None, callBack=lambda callback, value: 0)
    callback = binder.callback(CALLBACK, onValue=lambda value: value + 1)
    assert peer.callBack(callback, 5) == 0
    fake.call_back("callback", "onValue", 41)
    fake.call_back("callback", "onEvent", 7)
    until(lambda: len(callback.calls) == 2)
    assert [(one.method, one.arguments) for one in callback.calls] == [
        ("onValue", {"value": 41}), ("onEvent", {"value": 7})]
    callback.raises("onValue", errors.Security("no"))
    with pytest.raises(errors.Unanswered, match="exception -1"):
        fake.call_back("callback", "onValue", 1)
    peer.hold(callback)
    assert fake.calls[-1].method == "hold"


@pytest.mark.parametrize("keeps", [False, True])
def test_what_was_given_is_kept_until_it_is_replaced(binder, peer, keeps):
    fake = binder.fake(PEER, hold=Typed("!keep") if keeps else None)
    callbacks = [binder.callback(CALLBACK, onValue=n) for n in range(20)]
    for callback in callbacks:
        peer.hold(callback)

    def references():
        state = pathlib.Path(binder.bus.mount, "binder_logs/state").read_text(encoding="utf-8")
        own = [one for one in state.split("\nproc ") if one.startswith(f"{fake.pid}\n")]
        return sum(one.count("  ref ") for one in own)

    until(lambda: references() >= 20 if keeps else 0 < references() < 20)
    fake.call_back("callback", "onValue", 1)
    assert [len(one.calls) for one in callbacks[-2:]] == [0, 1]


def test_more_calls_than_threads_wait_for_a_callback(binder, peer):
    """It is called before the reply. The lines with its answers are read all the same."""
    go, results = threading.Event(), []
    callback = binder.callback(CALLBACK, onValue=lambda value: go.wait() and 9)
    fake = binder.fake(PEER, callBack=Typed("5 !call(callback.onValue(4))"))
    callers = at_once(80, lambda number: results.append(peer.callBack(callback, number)))
    until(lambda: len(fake.calls) >= 60)
    go.set()
    for caller in callers:
        caller.join()
    assert results == [5] * 80
    assert [one.arguments for one in callback.calls] == [{"value": 4}] * 80


@every_driver
def test_objects_parcelables_and_files(binder, peer, tmp_path):
    note = tmp_path / "note"
    note.write_bytes(b"contents")
    fake = binder.fake(
        PEER, openText=note, makeCounter=Typed("new ICallback"), echoRecord={"id": 5},
        copyRecord=out(to={"id": 3, "words": ["a"]}), echoBinder=Typed("manager"),
        getInterfaceVersion=3, getInterfaceHash="abc", **{"ICallback.onValue": 12})
    with peer.openText("x") as file:
        assert file.read() == b"contents"
    result, returned = peer.copyRecord({"id": 1, "blob": b"\1"})
    assert (result, returned["to"]["id"], returned["to"]["words"]) == (None, 3, ["a"])
    assert fake.calls[-1].arguments["from"]["blob"] == "hex:01"
    record = peer.echoRecord({})
    assert (record["id"], record["words"], record["big"]) == (5, [], 0)
    assert peer.makeCounter().onValue(3) == 12
    shown = binder.bus.json("interface", PEER)
    assert (shown["version"], shown["hash"], shown["pid"]) == (3, "abc", fake.pid)
    for words, interface in ((["echoBinder", "null"], "android.os.IServiceManager"),
                             (["makeCounter"], CALLBACK)):
        assert f'"interface":"{interface}"' in binder.bus.call(PEER, *words, aidl=AIDL)
    fake.answers("echoBinder", fake)
    fake.answers("pid", 8)
    assert peer.echoBinder(fake).pid() == 8
    fake.answers("readFile", lambda file: pathlib.Path(
        f"/proc/{fake.pid}/fd/{file['fd']}").read_text(encoding="utf-8"))
    with open(note, "rb") as opened:
        assert peer.readFile(opened) == "contents"


def test_a_recording_answers(binder, tmp_path):
    recording = tmp_path / "recording"
    fake = binder.fake(PEER, add=1)
    fake.answers("add", 1, 2, errors.Security("no"))
    words = ["call", "--aidl", AIDL, PEER, "add"]
    with binder.trace("--record", str(recording), "--payload=all"):
        for arguments in ("11", "15", "15", "11"):
            binder.bus.outcome(*words, *arguments)
    fake.dies()
    again = binder.fake(PEER, recording=str(recording))
    client = binder.client(PEER)
    assert [client.add(1, 1), client.add(1, 5)] == [1, 2]
    with pytest.raises(errors.Security, match="no"):
        client.add(1, 5)
    again.dies()
    cut = tmp_path / "cut"
    cut.write_bytes(recording.read_bytes()[:-30])
    for name, path, why in ((PEER, "none", "No such file"), (f"{PEER}2", recording, "no call of")):
        assert why in binder.bus.run("fake", "--aidl", AIDL, name, "--from", str(path), status=1)
    with binder.bus.started("fake", "--aidl", AIDL, PEER, "--from", str(cut)) as process:
        assert "is cut short" in process.stdout.readline()


def test_a_program_and_a_trace(binder):
    binder.fake(PEER, add=4)
    with binder.trace() as calls:
        done = binder.run(["sh", "-c", f"anybinder call --aidl {AIDL} {PEER} add 1 2"],
                          environment={"PATH": f"{os.path.dirname(binder.bus.program)}:"
                                               f"{os.environ['PATH']}"})
    assert done.stdout == "4\n"
    assert PEER in [one["service"] for one in calls]
    with pytest.raises(subprocess.CalledProcessError):
        binder.run(["false"])
