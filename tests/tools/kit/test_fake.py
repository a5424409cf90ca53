# SPDX-License-Identifier: GPL-2.0
"""`anybinder fake` as it is typed: what it prints, keeps and refuses."""
import contextlib
import json
import os
import subprocess
import tempfile

import pytest
from anybinder.bus import Bus
from anybinder.process import PATIENCE_S, as_user, until

from faked import AIDL, PEER


@contextlib.contextmanager
def fake(bus, *words):
    """A fake in the background, once it has printed that it serves."""
    with bus.started("fake", "--aidl", AIDL, *words) as process:
        first = process.stdout.readline()
        assert first.startswith("serving "), first + process.stdout.read()
        yield process


def call(binder, *words, status=0, name=PEER):
    return binder.bus.call(name, *words, aidl=AIDL, status=status)


def refused(binder, *words, status=2):
    return binder.bus.run("fake", "--aidl", AIDL, *words, status=status)


# An answer, the call that it is for, what the caller is told, its exit status, and what is printed
# of the answer.
ANSWERS = [
    ("add=7", "add 1 2", "7", 0, ".add(a: 1, b: 2) = 7"),
    ('echo=a text, "quoted"', "echo x", r'"a text, \"quoted\""', 0, ".echo"),
    ("reverse=hex:00ff", "reverse hex:01", '"hex:00ff"', 0, ".reverse"),
    ("posted=[1, 2]", "posted", "[1,2]", 0, ".posted() = [1,2]"),
    ("release=", "release", "", 0, ".release"),
    ("held=null", "held", "null", 0, ".held"),
    ("pid=!after(1ms) 5", "pid", "5", 0, ".pid"),
    ("add(3, 4)=8", "add 3 4", "8", 0, ".add(a: 3, b: 4) = 8"),
    ('throwException=!Security("not (a, b) you")', "throwException 1 x",
     "(security): not (a, b) you", 11, ".throwException"),
    ("openGate=!IllegalState", "openGate", "illegal state", 11, ".openGate"),
    ('throwServiceSpecific=!ServiceSpecific(42, "full")', "throwServiceSpecific 1",
     "code 42): full", 11, ".throwServiceSpecific"),
    ("fail=!status(DEAD_OBJECT)", "fail 1", "is dead", 7,
     ".fail(status: 1) = status -32 (DEAD_OBJECT)"),
    ("deaths=!status(-61)", "deaths", "NotEnoughData", 7, ".deaths"),
    (None, "openFiles", "UnknownTransaction", 7,
     ".openFiles() = UNKNOWN_TRANSACTION: no answer is given"),
    (None, "99", "UnknownTransaction", 7,
     ".code 99(0 bytes) = UNKNOWN_TRANSACTION: no such method"),
    ("callBack=5 !call(callback.onValue(4))", "callBack new 1",
     "called: anybinder.test.ICallback.onValue(value: 4)\n5", 0, ".callBack"),
]


def test_answers_are_told_and_printed(binder):
    given = [answer for answer, *_ in ANSWERS if answer]
    with fake(binder.bus, PEER, *given) as process:
        for number, (_, words, told, status, printed) in enumerate(ANSWERS, 1):
            words = words.split()
            said = binder.bus.run("call", PEER, "99", status=7) if words == ["99"] else \
                call(binder, *words, status=status)
            assert told in said if status else said == told, (words, said)
            line = process.stdout.readline()
            assert line.startswith(f"{number} {PEER}{printed}") and ", from process " in line, line
        assert line.endswith(f", user {os.getuid()}\n"), line
        assert process.stdout.readline() == "called callback.onValue(value: 4)\n"
        assert binder.bus.run("dump", PEER) == ""


def test_several_names_and_sequences_from_a_file(binder, tmp_path):
    answers, log = tmp_path / "answers.txt", tmp_path / "log"
    answers.write_text("""# The first name is that of the command line.
add = 1 !times(2) !then 2 !then !IllegalState
add(5, -5) = 0
[second anybinder.test.ICallback]
onValue = 8 !then !dead
""", encoding="utf-8")
    with fake(binder.bus, PEER, "--answers", str(answers), "--log", str(log)) as process:
        assert [call(binder, "add", "1", "1") for _ in range(3)] == ["1", "1", "2"]
        for _ in range(2):
            assert "illegal state" in call(binder, "add", "1", "1", status=11)
        assert call(binder, "add", "5", "-5") == "0"
        assert call(binder, "onValue", "1", name="second") == "8"
        assert "is dead" in call(binder, "onValue", "2", name="second", status=7)
        assert process.wait(PATIENCE_S) == 0
    calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [one["call"] for one in calls] == list(range(1, 9))
    assert calls[-1] == {
        **calls[-1], "service": "second", "interface": "anybinder.test.ICallback",
        "method": "onValue", "arguments": {"value": 2}, "answer": "dead", "oneway": False}


@pytest.mark.parametrize("answer, why", [
    ("add=x", 'add: "x" is not a value of type int.'),
    ("ad=1", "anybinder.test.IPeer has no method ad; it has: add, echo, "),
    ("add", "add is no METHOD=ANSWER."),
    ("add=1 !Security", "add: it is two answers"),
    ('release=!Security("a', "the parenthesis behind !Security is not closed."),
    ("add=!Odd", "add: !Odd: there is no exception Odd; there are Security, "),
    ("add=!ServiceSpecific(full)", "add: !ServiceSpecific needs a number first."),
    ("add=!status(ODD)", "add: ODD is no status"),
    ("add=!after(soon) 1", "add: soon is no time"),
    ("add=", 'add: "" is not a value of type int.'),
    ("add=!dies", "add: a value is missing, of type int."),
    ("post=1", "post: a one-way method has no answer."),
    ("release=1", "release: the method returns nothing."),
    ('echoRecord={"words": ["a", 5]}', "echoRecord.words[1]: 5 is not a value of type String."),
    ('echoRecord={"odd": 5}', "echoRecord: anybinder.test.Record has no field odd; it has: id, "),
    ("copyRecord=!out(from={})", "copyRecord: it returns no argument from."),
    ("add(1)=2", "add: add takes 2 arguments, not 1."),
    ("openText=/nonexistent", "openText: /nonexistent: No such file"),
    ("echoBinder=nobody", "echoBinder: no service is registered as nobody."),
    ("callBack=0 !call(callback.odd())", "has no method odd"),
    ("callBack=0 !call(callback.onValue(x))", 'value: "x" is not a value of type int.'),
    ("echo=!call(", "the parenthesis behind !call is not closed."),
])
def test_what_does_not_fit_is_said_before_anything_is_registered(binder, tmp_path, answer, why):
    said = refused(binder, PEER, answer)
    assert why in said, said
    path = tmp_path / "answers"
    path.write_text(f"\n# A comment.\n{answer}\n", encoding="utf-8")
    said = refused(binder, PEER, "--answers", str(path))
    assert said.startswith(f"anybinder: {path}:3: ") and why in said, said
    assert PEER not in binder.bus.run("list")


def test_wrong_uses(binder, tmp_path):
    assert "There are several interfaces, and peer does not say which" in refused(binder, "peer")
    assert "declares the interface a.b" in refused(binder, "peer", "--interface", "a.b")
    assert "which name to register" in refused(binder)
    assert "--json -" in refused(binder, PEER, "-")
    assert "with the .aidl files" in binder.bus.run("fake", PEER, status=2)
    path = tmp_path / "answers"
    for text, why in (("[a b c]", "[NAME INTERFACE] is needed."), ("add=1", "[NAME] has to stand")):
        path.write_text(text, encoding="utf-8")
        assert f"{path}:1: {why}" in refused(binder, "--answers", str(path))
    with fake(binder.bus, PEER) as first:
        said = refused(binder, PEER, status=12)
        assert f"{PEER} is registered already, by process {first.pid}." in said


def test_no_fake_takes_a_name_that_the_policy_gives_away(programs):
    del programs
    # Not below /tmp, where others could replace the file.
    with tempfile.NamedTemporaryFile("w", dir="/run", suffix=".toml") as rules:
        rules.write('[global]\nlist = "any"\n[[rule]]\nname = "anybinder.*"\n'
                    'add = { uid = [12345] }\nfind = "any"\n')
        rules.flush()
        with Bus("--policy", rules.name, managers="binder") as bus:
            said = bus.run("fake", "--aidl", AIDL, PEER, status=8)
            assert f"{PEER} cannot be registered: " in said, said


def test_the_caller_is_told(reachable, binder):
    words = as_user(65534, reachable, "call", "--aidl", AIDL, PEER, "add", "1", "2")
    with fake(binder.bus, PEER, "add=3") as process:
        assert binder.bus.execute(*words).stdout == "3\n"
        assert process.stdout.readline().endswith(", user 65534\n")


# ---- a controlling program ----

@contextlib.contextmanager
def controlled(binder):
    """A fake whose answers a program says; it has said that it serves."""
    words = ["--json", "fake", "--aidl", AIDL, PEER, "-"]
    with binder.bus.started(*words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert '"serving"' in process.stdout.readline()
        yield process


def test_a_controlling_program_that_ends(binder):
    for last, why in (("", ""), ('{"answer": 1, "res', "the last line on standard input has no")):
        with controlled(binder) as process:
            _, said = process.communicate(last, timeout=PATIENCE_S)
            assert process.returncode == (1 if why else 0) and why in said, said
        until(lambda: PEER not in binder.bus.run("list"))
    with controlled(binder) as process:
        with binder.bus.started("call", "--aidl", AIDL, PEER, "add", "1", "2") as client:
            line = json.loads(process.stdout.readline())
            assert (line["method"], line["arguments"], line["asks"]) == \
                ("add", {"a": 1, "b": 2}, True)
            _, said = process.communicate(timeout=PATIENCE_S)
            assert "ended, and 1 calls wait for it" in said, said
            assert "is dead" in client.stdout.read()


def test_lines_that_are_wrong(binder):
    lines = [
        ("odd", "it is no JSON"),
        ("[]", "invalid type: sequence"),
        ('{"odd": 1}', 'there is no "odd" to do'),
        ('{"answer": 5}', "no call 5 waits for an answer"),
        ('{"answers": {"add": 1}}', "invalid type: integer"),
        ('{"answers": {"add": "x"}}', 'add: "x" is not a value of type int'),
        ('{"of": "odd", "answers": {}}', '"odd" is no object here'),
        ('{"call": {"to": "nobody", "method": "x"}}', "no service is registered as nobody"),
        ('{"object": {"interface": "x"}}', "no .aidl file declares the interface x"),
        ('{"call_back": {"object": "callback", "method": "onEvent", "arguments": [1]}}',
         "no client has given a callback")]
    with controlled(binder) as process:
        for line, why in lines:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            said = json.loads(process.stdout.readline())
            assert why in (said.get("error") or said["message"]), said
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
