# SPDX-License-Identifier: GPL-2.0
"""The Python package: fakes, clients, callbacks, what came, what fails, traces."""
import os
import pathlib
import subprocess
import sys
import threading

import pytest
from anybinder import errors
from anybinder.kit import DEAD, dies_behind, out
from anybinder.process import until

from faked import AIDL, PEER

TOP = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def peer(binder):
    """A client of the service."""
    return binder.client(PEER)


def test_what_came_is_kept_with_its_types(binder, peer):
    fake = binder.fake(PEER, add=7, reverse=b"\0\xff", release=None)
    assert peer.add(a=1, b=2) == 7
    assert peer.reverse(b"\1\2") == "hex:00ff"
    assert peer.release() is None
    peer.post(5)
    until(lambda: len(fake.calls) == 4)
    assert [(one.method, one.arguments, one.is_oneway) for one in fake.calls] == [
        ("add", {"a": 1, "b": 2}, False), ("reverse", {"data": "hex:0102"}, False),
        ("release", {}, False), ("post", {"value": 5}, True)]
    assert [one.number for one in fake.calls] == [1, 2, 3, 4]
    assert (fake.calls[0].uid, fake.calls[0].pid != fake.pid) == (os.getuid(), True)
    with pytest.raises(errors.UnknownTransaction):
        peer.openFiles()
    with pytest.raises(errors.Unanswered, match="has no method odd"):
        peer.odd()
    with pytest.raises(errors.Unanswered, match=r"add\(a, b\) was given 1 arguments"):
        peer.add(1)
    with pytest.raises(errors.Unanswered, match='add.a.: "x" is not a value of type int'):
        peer.add("x", 1)


@pytest.mark.parametrize("error", [
    errors.Security("no"), errors.IllegalArgument(None), errors.ServiceSpecific(42, "full"),
    errors.UnsupportedOperation("never"), errors.DeadObject(), errors.Status(-61),
    errors.PermissionDenied()])
def test_errors_are_those_of_aidl(binder, peer, error):
    fake = binder.fake(PEER)
    fake.raises("release", error)
    with pytest.raises(type(error)) as raised:
        peer.release()
    assert getattr(raised.value, "code", None) == getattr(error, "code", None)
    if isinstance(error, errors.AidlException):
        assert raised.value.message == error.message


def test_sequences_and_times(binder, peer):
    fake = binder.fake(PEER, add=1)
    fake.answers("add", 1, errors.IllegalState("later"), 3, after=0.01)
    assert peer.add(0, 0) == 1
    with pytest.raises(errors.IllegalState, match="later"):
        peer.add(0, 0)
    assert [peer.add(0, 0), peer.add(0, 0)] == [3, 3]


def test_functions_answer(binder, peer):
    fake = binder.fake(PEER, add=lambda a, b: a + b)
    assert [peer.add(n, 1) for n in range(3)] == [1, 2, 3]

    def refuse(message, index):
        raise errors.ServiceSpecific(index, message)

    fake.answers("throwException", refuse)
    with pytest.raises(errors.ServiceSpecific, match="5, full"):
        peer.throwException(5, "full")
    fake.answers("add", lambda a, b: "no number")
    with pytest.raises(errors.IllegalState, match="not a value of type int"):
        peer.add(1, 2)


def test_many_callers_wait_for_a_function_at_once(binder, peer):
    """No call is answered before all of them have come."""
    here = threading.Barrier(20)
    binder.fake(PEER, add=lambda a, b: here.wait(60) and 0 or a)
    results = []
    callers = [threading.Thread(target=lambda n=n: results.append(peer.add(n, 0)))
               for n in range(20)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(results) == list(range(20))


def test_ten_thousand_calls_at_once(binder):
    fake = binder.fake(PEER, add=1)
    client = binder.client(PEER)._process    # pylint: disable=protected-access
    client.read_always()
    begun = [client.begin(call={"to": PEER, "method": "add", "arguments": [n, 0]})
             for n in range(10_000)]
    assert {client.answer(number)["result"] for number in begun} == {1}
    assert sorted(one.arguments["a"] for one in fake.calls) == list(range(10_000))


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


def test_callbacks(binder, peer):
    fake = binder.fake(PEER, hold=None)
    callback = binder.callback("anybinder.test.ICallback", onValue=lambda value: value + 1)
    fake.answers("callBack", lambda callback, value: 0)
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


def test_a_callback_before_the_reply(binder, peer):
    with binder.bus.started("fake", "--aidl", AIDL, PEER,
                            "callBack=5 !call(callback.onValue(4))") as process:
        process.stdout.readline()
        callback = binder.callback("anybinder.test.ICallback", onValue=9)
        assert peer.callBack(callback, 1) == 5
        assert [one.arguments for one in callback.calls] == [{"value": 4}]
        process.stdout.readline()
        assert process.stdout.readline() == "called callback.onValue(value: 4)\n"


def test_more_calls_than_threads_wait_for_a_callback(binder, peer):
    """The lines with the answers of the callback are read all the same."""
    go, results = threading.Event(), []
    callback = binder.callback("anybinder.test.ICallback", onValue=lambda value: go.wait() and 4)
    with binder.bus.started("fake", "--aidl", AIDL, PEER,
                            "callBack=5 !call(callback.onValue(4))") as process:
        callers = [threading.Thread(target=lambda: results.append(peer.callBack(callback, 1)))
                   for _ in range(80)]
        process.stdout.readline()
        for caller in callers:
            caller.start()
        for _ in range(60):
            process.stdout.readline()
        go.set()
        for caller in callers:
            caller.join()
    assert results == [5] * 80


def test_objects_parcelables_and_files(binder, peer, tmp_path):
    note = tmp_path / "note"
    note.write_bytes(b"contents")
    fake = binder.fake(PEER, openText=note, makeCounter="new ICallback",
                       copyRecord=out(to={"id": 3, "words": ["a"]}))
    with peer.openText("x") as file:
        assert file.read() == b"contents"
    result, returned = peer.copyRecord({"id": 1, "blob": b"\1"})
    assert (result, returned["to"]["id"], returned["to"]["words"]) == (None, 3, ["a"])
    assert fake.calls[-1].arguments["from"]["blob"] == "hex:01"
    fake.answers("echoBinder", fake)
    fake.answers("pid", 8)
    assert peer.echoBinder(fake).pid() == 8
    read = []

    def read_file(file):
        read.append(pathlib.Path(f"/proc/{fake.pid}/fd/{file['fd']}").read_bytes())
        return ""

    fake.answers("readFile", read_file)
    with open(note, "rb") as opened:
        peer.readFile(opened)
    assert read == [b"contents"]


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
    (tmp_path / "newer").write_bytes(b"anybinder events 9\n")
    for name, path, why in ((PEER, "none", "No such file"), (PEER, "newer", "version"),
                            (f"{PEER}2", "recording", "has no call of")):
        said = binder.bus.run("fake", "--aidl", AIDL, name, "--from", str(tmp_path / path),
                              status=1)
        assert why in said, said
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


def test_a_service_is_disturbed(binder, peer):
    """The trace names the process before the service, which calls with the caller's priority."""
    binder.fake(PEER, add=1)
    with binder.disturb(PEER, method="99", dead=True), binder.trace() as calls:
        words = ["nice", "-n", "5", binder.bus.program, "call", "--aidl", AIDL, PEER, "add", "1",
                 "2"]
        binder.bus.execute(*words)
    from_proxy = [one for one in calls if one["from"]["process"] == "binder-disturb"]
    assert from_proxy, calls
    if os.getuid() == 0:    # who may raise it again
        assert {one["priority"] for one in from_proxy} == {f"nice {os.nice(0) + 5}"}
    with binder.disturb(PEER, exception='ServiceSpecific(3, "full")'), \
            pytest.raises(errors.ServiceSpecific, match="3, full"):
        peer.add(0, 0)
    assert peer.add(0, 0) == 1
    with pytest.raises(errors.Unanswered, match="Nothing says"):
        with binder.disturb(PEER):
            pass


# A stranger's tests, outside of this tree.
STRANGER = '''
import pytest
from anybinder.errors import ServiceSpecific

def test_a_full_board(binder):
    board = binder.fake("board", post=3)
    assert binder.client("board").post("a note") == 3
    assert board.calls[0].arguments == {"note": "a note"}
    board.raises("post", ServiceSpecific(42, "full"))
    with pytest.raises(ServiceSpecific, match="full"):
        binder.client("board").post("another")

def test_an_own_one(binder):
    assert "board" not in binder.bus.run("list")
'''


def test_the_plugin_of_pytest(tmp_path, programs):
    del programs
    (tmp_path / "test_board.py").write_text(STRANGER, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nbinder_aidl = {TOP}/examples/aidl/example/"
                                         "IBoard.aidl\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{TOP}/python", "ANYBINDER_BIN": f"{TOP}/build/bin"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "anybinder.pytest_plugin", "-q",
                           "-p", "no:cacheprovider"], cwd=tmp_path, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert "2 passed" in done.stdout, done.stdout
