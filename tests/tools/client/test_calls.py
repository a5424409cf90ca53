# SPDX-License-Identifier: Apache-2.0
"""The commands that call services: by .aidl files, by words, and `ping`."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess

import pytest
from anybinder.parcel import Parcel
from anybinder.process import PATIENCE_S, until
from anybinder.service import service

from peers import AIDL, PEER, contains


def test_call_by_aidl(bus):
    assert bus.ask("add", "2", "40") == "42"
    assert bus.ask("add", "0x10", "-1") == "15"
    for code in str(bus.code("add")), hex(bus.code("add")):
        assert bus.ask(code, "2", "40") == "42"
        contains(bus.ask(code, "2", "x", status=2), "not a value of type int")
    assert bus.ask("echo", "näh \U0001f600") == '"näh \U0001f600"'
    assert bus.ask("reverse", "hex:0001ff") == '"hex:ff0100"'
    assert bus.ask("reverse", "[1, 2, -1]") == '"hex:ff0201"'
    assert bus.ask("fill", "5", "7") == '"hex:0707070707"'
    assert bus.ask("post", "5") == ""
    until(lambda: bus.ask("posted") == "[5]")
    answer = bus.json("call", "--aidl", AIDL, PEER, "add", "1", "2")
    assert answer == {"result": 3, "out": {}}


def test_values_from_files(bus):
    path = os.path.join(bus.scratch, "value")
    pathlib.Path(path).write_bytes(b"\0\x01\xff")
    assert bus.ask("reverse", f"@{path}") == '"hex:ff0100"'
    assert bus.ask("echo", f"@{path}") == f'"@{path}"', "a text is no file"
    assert bus.run("call", "--aidl", AIDL, PEER, "echoRecord", "@-", input='{"id": 7}\n') \
        .startswith('{"id":7,')
    contains(bus.ask("reverse", "@/nonexistent", status=2), "error while reading /nonexistent: No")
    numbers = struct.pack("<30001i", 30000, *range(30000))
    echoed = Parcel().i32(0)
    with service(bus.path(), "anybinder.test.INumbers/default", "anybinder.test.INumbers",
                 {1: lambda call: echoed}) as served:
        for word, given in ("@-", json.dumps(list(range(30000)))), (f"@{path}", None):
            if not given:
                pathlib.Path(path).write_text(",".join(map(str, range(30000))), encoding="utf-8")
            bus.run("call", "anybinder.test.INumbers/default", "1", "array", "of", "i32", word,
                    input=given)
            assert served.calls.all()[-1].data == numbers



LOOSE = """package test;
interface ILoose {
    Bundle bundle(in Bundle b);
    @nullable PersistableBundle own(in @nullable PersistableBundle b);
    Map map(in Map m);
    List list(in List l);
}
"""
VALUES = ('{"i":7,"l":{"long":5000000000},"d":0.5,"s":"x","t":true,"n":null,"a":{"int[]":[1,2]},'
          '"b":{"byte[]":"hex:0102"},"in":{"PersistableBundle":{"k":["v",{"float":0.25}]}},'
          '"p":{"type 4":"hex:01020304"}}')


@pytest.mark.parametrize("method, value", [
    ("bundle", VALUES), ("bundle", "{}"), ("own", VALUES), ("own", "null"), ("map", VALUES),
    ("map", '[[1,"one"],[{"long":2},[null]]]'), ("list", '[1,"a",[false,1.5]]')])
def test_values_that_say_their_types(bus, binder, method, value):
    """What is sent comes back, and is shown, as it was written."""
    aidl = os.path.join(bus.scratch, "ILoose.aidl")
    pathlib.Path(aidl).write_text(LOOSE, encoding="ascii")
    name = "test.ILoose"
    binder.fake(name, aidl=aidl, **{method: lambda **given: next(iter(given.values()))})
    assert json.loads(bus.call(name, method, value, aidl=aidl)) == json.loads(value)
    if bus.is_kernel:
        return
    done = bus.execute(bus.program, "trace", "--json", "--payload=all", "--aidl", aidl, "--",
                       bus.program, "call", "--aidl", aidl, name, method, value)
    calls = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    call, = [call for call in calls if call["method"] == method]
    assert [*call["request"]["arguments"].values()] == [json.loads(value)], call
    assert call["reply"]["result"] == json.loads(value), call


# AOSP's classes by API level: what has changed in the formats came with 30, 33 and 36.
ANDROID_ALL = {"29": "10-robolectric-5803371", "30": "11-robolectric-6757853",
               "31": "12-robolectric-7732740", "33": "13-robolectric-9030017",
               "34": "14-robolectric-10818077", "36": "16-robolectric-13921718",
               "37": "17-robolectric-16653203"}
ASM = ("org.ow2.asm", "asm", "9.7")
BASIC = ('{"i":7,"l":{"long":5000000000},"d":0.5,"s":"x","t":true,"n":null,"a":{"int[]":[1,-2]},'
         '"b":{"byte[]":"hex:010203"},"f":{"float":0.25},"y":{"byte":-1},"o":{"short":-3},'
         '"x":{"String[]":["a",null]},"g":{"long[]":[1,-1]},"z":{"boolean[]":[true,false]},'
         '"e":{"double[]":[0.5,"NaN"]},"in":{"PersistableBundle":{"k":["v",{"Bundle":{}}]}},'
         '"m":{"Map":{"q":{"Bundle":{"r":1}}}},"\\uffffzzzz":1,"list":[1,[null]],'
         '"size":{"type 26":"hex:0700000008000000"}}')
POINT = "".join(f"{ord(one):02x}00" for one in "android.graphics.Point")
NEWER = ('{"c":{"char":"x"},"cs":{"char[]":["a","b"]},"fs":{"float[]":[0.25]},'
         '"ss":{"short[]":[-1]},'
         '"p":{"type 4":"hex:16000000' + POINT + '000000000100000002000000"},"after":1}')


def jar(group, name, version):
    """A jar of Maven's central repository, kept where Maven keeps it."""
    path = pathlib.Path.home() / ".m2/repository" / group.replace(".", "/") / name / version
    path /= f"{name}-{version}.jar"
    if not path.exists():
        subprocess.run(["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false",
                        f"-Dartifact={group}:{name}:{version}"], check=True)
    return path


@pytest.fixture(scope="module", params=ANDROID_ALL)
def android(request, tmp_path_factory):
    """The level of an Android, and what its classes make of a parcel: `Aosp.java`."""
    for needed in "javac", "mvn":
        if not shutil.which(needed):
            pytest.skip(f"needs {needed}: apt-get install default-jdk-headless maven")
    out = tmp_path_factory.mktemp("aosp")
    source = pathlib.Path(__file__).with_name("Aosp.java")
    jars = [jar("org.robolectric", "android-all", ANDROID_ALL[level])
            for level in ("29", request.param)]
    subprocess.run(["javac", "-nowarn", "-d", out, "-cp", f"{jars[0]}:{jar(*ASM)}", source],
                   check=True)
    command = ["java", "-cp", f"{out}:{jar(*ASM)}", "Aosp", jars[1], request.param]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as java:
        def ask(kind, data):
            java.stdin.write(f"{kind} {data.hex()}\n")
            java.stdin.flush()
            written, shown = java.stdout.readline().split(" ", 1)
            return bytes.fromhex(written), json.loads(shown)

        yield request.param, ask
        java.stdin.close()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bundle", "own", "map", "list"])
def test_values_as_of_android(bus, android, kind):
    """What `call` writes AOSP's classes read, and the other way round."""
    level, ask = android
    aidl, answer = pathlib.Path(bus.scratch, "ILoose.aidl"), pathlib.Path(bus.scratch, "answer")
    aidl.write_text(LOOSE, encoding="ascii")
    values = [BASIC, *[NEWER] * (int(level) >= 33)]
    if kind == "list":
        values = [f'[{{"Bundle":{value}}}]' for value in values]
    values += {"bundle": ["{}"], "own": ["{}", "null"], "map": ["{}", '[[{"long":2},[null]]]'],
               "list": ["[]"]}[kind]
    name = f"test.loose{level}"
    spoken = min(level, "36")  # services of 17 speak as those of 16
    head = len(Parcel(spoken, "test.ILoose").data)

    def call(value):
        return bus.run("call", "--aidl", aidl, "--level", level, name, kind, value).strip()

    def reply(call):
        return Parcel(spoken).i32(0).raw(answer.read_bytes() or call.data[head:])

    with service(bus.path(), name, "test.ILoose", dict.fromkeys(range(1, 5), reply),
                 level=spoken) as served:
        for value in values:
            answer.write_bytes(b"")
            assert json.loads(call(value)) == json.loads(value)
            given = served.calls.all()[-1].data
            written, shown = ask(kind, given)
            assert shown == json.loads(value)
            assert written == given or kind == "map", "only the order of a HashMap is its own"
            answer.write_bytes(written)
            assert json.loads(call(value)) == json.loads(value)
        if kind == "bundle" and int(level) >= 30:
            objects = {"b": {"IBinder": PEER}, "f": {"ParcelFileDescriptor": "/dev/null"}}
            answer.write_bytes(bytes([1, *7 * [0]]))
            assert call(json.dumps(objects)) == "{}"
            shown = ask(kind, served.calls.all()[-1].data)[1]
            assert shown == {"b": {"IBinder": "object"}, "f": {"ParcelFileDescriptor": "object"}}


def test_call_with_objects(bus):
    contains(bus.ask("echoBinder", PEER), '"handle":')
    contains(bus.ask("makeCounter"), '"handle":')
    assert bus.ask("held") == "null"
    notes = os.path.join(bus.scratch, "notes")
    pathlib.Path(notes).write_text("a note", encoding="utf-8")
    assert bus.ask("readFile", notes) == '"a note"'
    assert bus.ask("readFiles", json.dumps([notes, notes])) == '"a notea note"'
    contains(bus.ask("openText", "x"), '"path":"/memfd:')
    contains(bus.ask("readFile", "/nonexistent", status=1), "opening /nonexistent")


def test_call_with_parcelables(bus):
    record = {"id": -5, "big": 1 << 40, "ratio": 0.5, "flag": True, "name": "n", "words": ["a", ""],
              "blob": "hex:0102", "object": None, "file": None}
    assert json.loads(bus.ask("echoRecord", json.dumps(record))) == record
    empty = json.loads(bus.ask("echoRecord", "{}"))
    assert (empty["id"], empty["words"], empty["file"]) == (0, [], None)
    full = json.loads(bus.ask("echoRecord", json.dumps({"file": "/dev/null"})))
    assert full["file"]["path"] == "/dev/null"
    contains(bus.ask("echoRecord", '{"nmae": 1}', status=2), "no field nmae", "ratio")
    contains(bus.ask("echoRecord", '{"id": "x"}', status=2), "id", "not a value")
    contains(bus.ask("echoRecord", '{"id": 1,}', status=2),
             "record: its JSON is wrong in line 1, column 10: trailing comma.")
    contains(bus.ask("readFiles", '["/dev/null"', status=2), "column 12: it ends too early.")


ANDROID = {"28": "Android 9", "29": "Android 10"}


@pytest.mark.parametrize("level", ANDROID)
def test_call_of_a_service_of_an_older_level(bus, level):
    answers = {1: Parcel(level).i32(0).i32(42)}
    with service(bus.path(), "old", "old.IOld", answers, level=level) as old:
        words = ["old", "1", "i32", "7", "handle", "of", PEER, "i32", "9"]
        contains(bus.run("call", *words, "--reply", "status,i32"), "42")
        bus.run("call", *words, "--oneway", "--interface", "old.IOld")
        until(lambda: len(old.calls.all()) == 2)
        for call in old.calls.all():
            assert (call.data[:4], call.data[28:]) == (b"\7\0\0\0", b"\t\0\0\0")
        contains(bus.run("call", *words, "--level", "36", status=7),
                 f"A program of {ANDROID[level]} registered it", "leave --level out")
        assert bus.json("interface", "old")["version"] is None


def test_call_of_a_libbinder_built_off_android(bus):
    """The service manager takes any header word, and the service its own: nobody tells of a one-way
    call with another one."""
    with service(bus.path(), "off", "off.IOff", {1: b""}, word=b"UNKN") as off:
        bus.run("call", "off", "1", "i32", "7", "--oneway")
        bus.run("call", "off", "1", "i32", "7", "--oneway", "--interface", "off.IOff")
        until(lambda: [call.data for call in off.calls.all()] == 2 * [b"\7\0\0\0"])


def test_call_exceptions(bus):
    error = bus.ask("throwException", "2", "no such thing", status=11)
    contains(error, "illegal argument", "no such thing")
    error = bus.ask("throwServiceSpecific", "77", status=11)
    contains(error, "service specific, code 77")
    words = ["call", "--aidl", AIDL, PEER, "throwException", "0", "x", "--json"]
    document = json.loads(bus.run(*words, status=11))["error"]
    assert (document["kind"], document["exit_status"]) == ("exception", 11)
    assert document["exception"] == {"code": -1, "name": "Security", "service_code": None,
                                     "message": "x"}
    words[4:] = ["throwServiceSpecific", "77", "--json"]
    document = json.loads(bus.run(*words, status=11))["error"]
    assert (document["exception"]["code"], document["exception"]["service_code"]) == (-8, 77)
    contains(bus.run("call", PEER, str(bus.code("throwException")), "i32", "0", "s16", "x",
                       "--reply", "status", status=11), "security")
    bus.ask("fail", "-22", status=7)


def test_call_wrong_uses(bus):
    contains(bus.ask("frob", status=2), "has no method frob", "echoRecord")
    contains(bus.ask("add", "1", status=2), "argument b is missing", "add(int a, int b)")
    contains(bus.ask("add", "1", "2", "3", status=2), "3 is too many")
    contains(bus.ask("add", "1", "x", status=2), 'b: "x" is not a value of type int.')
    contains(bus.ask("echoRecord", '{"words": ["a", 5]}', status=2),
             "record.words[1]: 5 is not a value of type String.")
    contains(bus.ask("echo", "x", status=1, name="manager"),
             "No .aidl file declares the interface android.os.IServiceManager")
    other = os.path.join(bus.scratch, "other")
    os.mkdir(other)
    with open(f"{other}/IPeer.aidl", "w", encoding="utf-8") as file:
        file.write("package anybinder.test; interface IPeer { String add(int a, int b); }")
    error = bus.run("call", "--aidl", other, PEER, "add", "1", "2", status=7)
    contains(error, "does not fit add of anybinder.test.IPeer")
    with open(f"{other}/IPeer.aidl", "w", encoding="utf-8") as file:
        file.write("package anybinder.test; interface IPeer { int add(int a, }")
    contains(bus.run("call", "--aidl", other, PEER, "add", status=1), "IPeer.aidl", "1:")
    contains(bus.run("call", "--aidl", "/nonexistent", PEER, "add", status=1), "cannot be read")


def test_calls_say_why_they_fail(bus):
    contains(bus.ask("hold", "null", status=7), "callback must not be null")
    contains(bus.ask("hold", "manager", status=7), "callback has to be anybinder.test.ICallback",
             "manager is android.os.IServiceManager")
    contains(bus.run("call", PEER, str(bus.code("hold")), "null", status=7),
             "null that must not be (UnexpectedNull)")
    contains(bus.run("call", PEER, "2", "i32", "1", status=7), "more arguments, or others")
    assert bus.run("shell", PEER, "x", status=7) == f"anybinder: {PEER} has no shell commands.\n"


def test_ping_as_it_goes(bus):
    line = f"{PEER} (anybinder.test.IPeer) answers in "
    one = bus.run("ping", PEER)
    assert one.startswith(line) and one.count("\n") == 1, one
    text = bus.run("ping", PEER, "--count", "5").splitlines()
    assert [one.startswith(line) for one in text] == [True] * 5 + [False] * 2
    assert text[5] == f"{PEER}: 5 answers"
    contains(text[6], "in us: min ", ", p99 ", ", max ")
    text = bus.run("ping", PEER, "--count", "2000", "--quiet").splitlines()
    assert (text[0], len(text)) == (f"{PEER}: 2000 answers", 2)
    answer = bus.json("ping", PEER, "--count", "3")
    assert (len(answer["round_trip_us"]), answer["summary"]["calls"]) == (3, 3)
    assert answer["summary"]["max_us"] >= answer["summary"]["p50_us"] > 0


def test_ping_until_it_is_interrupted(bus):
    endless = bus.command("ping", PEER, "--interval", "0.01")
    # Each line comes before the next call.
    for _ in range(3):
        contains(endless.stdout.readline(), "answers in ")
    endless.send_signal(signal.SIGINT)
    rest = endless.communicate(timeout=PATIENCE_S)[0]
    contains(rest, " answers\n", "in us: min ")
    assert endless.returncode == 0


def test_ping_of_a_stopped_service(bus):
    name = "anybinder.test.stopped"
    service = bus.serve(name)
    service.send_signal(signal.SIGSTOP)
    contains(bus.run("ping", name, "--wait", "1", status=9), "did not answer within 1 s")


def test_call_with_new_objects(bus):
    line = "called: anybinder.test.ICallback."
    assert bus.ask("callBack", "new", "3") == f"{line}onValue(value: 3)\n0"
    assert bus.ask("callBack", "new anybinder.test.ICallback", "-4") == \
        f"{line}onValue(value: -4)\n0"
    assert bus.json("call", "--aidl", AIDL, PEER, "callBack", "new", "3") == {
        "result": 0, "out": {}, "calls": [{"interface": "anybinder.test.ICallback",
                                           "method": "onValue", "arguments": {"value": 3}}]}
    contains(bus.ask("echoBinder", "new", status=2), "needs an interface")
    contains(bus.ask("echoBinder", "new a.b", status=2), "No .aidl file declares")
    stays = bus.command("call", "--aidl", AIDL, PEER,
                        "callBackLater", "new", "2", "--listen", "600")
    lines = [stays.stdout.readline() for _ in range(2)]
    assert sorted(lines) == [f"{line}onEvent(value: {value})\n" for value in range(2)]


def test_what_is_returned(bus):
    echoed = json.loads(bus.ask("echoBinder", PEER))
    pid = bus.json("interface", PEER)["pid"]
    assert (echoed["interface"], echoed["pid"], echoed["service"]) == \
        ("anybinder.test.IPeer", pid, PEER)
    counter = json.loads(bus.ask("makeCounter"))
    assert (counter["interface"], counter["pid"]) == ("anybinder.test.ICallback", pid)
    assert "service" not in counter, counter
    assert bus.ask("openText", "a text", "--save", "-") == "a text"
    path = os.path.join(bus.scratch, "saved")
    contains(bus.ask("openTexts", "one,two", "--save", path), f'"saved":"{path}.2"')
    for name, text in ((path, "one"), (f"{path}.2", "two")):
        assert pathlib.Path(name).read_text(encoding="utf-8") == text
    contains(bus.ask("add", "1", "2", "--save", path, status=1), "has no file")
    words = bus.run("call", PEER, str(bus.code("openText")), "s16", "x", "--reply",
                      "status,fd", "--save", "-")
    assert words == "x"
    contains(bus.run("call", PEER, "1", "--save", "-", status=2), "--save needs")


def test_call_by_words(bus):
    assert bus.run("call", PEER, "1", "i32", "2", "i32", "-3", "--reply", "status,i32") == \
        "i32: -1\n"
    assert bus.json("call", PEER, "0x2", "s16", "hi", "--reply", "status,s16") == \
        {"values": [["s16", "hi"]], "left": 0}
    contains(bus.run("call", PEER, "INTERFACE", "--reply", "s16"), "anybinder.test.IPeer")
    assert bus.run("call", PEER, "3", "bytes", "01ff", "--reply", "status,bytes") == \
        'bytes: "hex:ff01"\n'
    bus.run("call", PEER, "PING")
    bus.run("call", PEER, str(bus.code("post")), "i32", "9", "--oneway")
    echo = str(bus.code("echoBinder"))
    contains(bus.run("call", PEER, echo, "handle", "of", PEER, "--reply", "status,handle"),
             '"handle":')
    contains(bus.run("call", PEER, "1", "i32", "2", "i32", "3", "--reply", "status,s16,i64",
                       status=7), "has other types")
    texts = str(bus.code("openTexts"))
    contains(bus.run("call", PEER, texts, "array", "of", "s16", "a,b"), "reply of")


def test_methods_of_the_service_manager_have_names(bus):
    assert bus.run("call", "manager", "isDeclared", PEER).strip() == "false"
    assert PEER in bus.json("call", "manager", "listServices", "15")["result"]
    contains(bus.run("call", "manager", "nosuch", status=2), "has no method nosuch", "checkService")


def test_files_of_the_environment_and_of_another_version(bus, binder):
    """Methods have names by ANYBINDER_AIDL; a service of another version is told."""
    bus.environment["ANYBINDER_AIDL"] = f"/nonexistent:{AIDL}"
    try:
        contains(bus.run("call", PEER, "add", "1", "2", status=1), "/nonexistent")
        bus.environment["ANYBINDER_AIDL"] = AIDL
        assert bus.run("call", PEER, "add", "2", "40").strip() == "42"
        words = "1", "i32", "2", "i32", "3", "--reply", "status,i32"
        assert bus.run("call", PEER, *words) == "i32: 5\n"
        assert bus.json("interface", PEER)["methods"][0]["signature"] == "add(int a, int b)"
        name = "anybinder.test.named"
        with bus.waiting_call(name) as peer:
            top, graph = {}, {}

            def is_named():
                top.update(bus.json("top", "--interval-ms", "300"))
                graph.update(bus.json("graph"))
                doing = [one["with"]["method"] for row in top["processes"]
                         for one in row["activities"] if one["with"] and row["pid"] == peer.pid]
                waits = [one["method"] for edge in graph["edges"] for one in edge["waiting"]
                         if edge["to"] == peer.pid]
                return (doing, waits) == (["maxConcurrent"], ["maxConcurrent"])

            until(is_named)
    finally:
        del bus.environment["ANYBINDER_AIDL"]
    declared = pathlib.Path(f"{AIDL}/anybinder/test/ICallback.aidl").read_text(encoding="utf-8")
    frozen = os.path.join(bus.scratch, "aidl_api/callback/2")
    os.makedirs(f"{frozen}/anybinder/test")
    pathlib.Path(f"{frozen}/anybinder/test/ICallback.aidl").write_text(declared, encoding="utf-8")
    pathlib.Path(f"{frozen}/.hash").write_text("old\nnew\n", encoding="utf-8")
    name = "anybinder.test.versioned"
    for version, known, told in ((3, "new", "of version 3"), (2, "other", "hash other"),
                                 (2, "new", None)):
        fake = binder.fake(name, interface="anybinder.test.ICallback",
                           getInterfaceVersion=version, getInterfaceHash=known)
        said = bus.execute(bus.program, "interface", name, "--aidl", frozen).stderr
        fake.dies()
        assert ("methods and types may be others" in said) == bool(told), said
        assert not told or told in said, said
