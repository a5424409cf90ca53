# SPDX-License-Identifier: GPL-2.0
"""Links with `--aidl`: objects inside parcelables, holders and arrays, nulls, and files if they can
cross; peers with older wire versions.

The service and its clients are those of tests/drivers/clients, which are built on rsbinder and do
not ask for accessors.
"""
import contextlib
import pathlib
import random
import struct
import subprocess

import pytest
from anybinder.driver import BINDER, Failed
from anybinder.parcel import NEWEST
from anybinder.process import program, until
from anybinder.servicemanager import UNSUPPORTED_OPERATION

from echo import binder, header as header_of

TOP = pathlib.Path(__file__).resolve().parents[3]
CLIENTS = program("client-tests")
AIDL = str(TOP / "tests/drivers/clients/aidl")
NAME = "anybinder.test.IPeer/far"
INTERFACE = "anybinder.test.IPeer"
ADD, HELD, ECHO_RECORD, ECHO_ENVELOPE = 1, 15, 19, 35
CUTS = 4


def serve(world):
    return world.server.start(CLIENTS, "--mount", world.server.mount, "serve", "--name", NAME,
                              "--max-threads", "8")


def linked(world, *options, listen=None):
    """A service, its export and a link, all with types. Returns the export and the link."""
    serve(world)
    return (world.export("--aidl", AIDL, names=(NAME,), listen=listen),
            world.link("--aidl", AIDL, *options, name=NAME, address=listen))


def run(machine, *words):
    """What a program of the clients returns, and says."""
    done = machine.execute(CLIENTS, *words, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def use(world, *options, status=0):
    """A client of the link; returns what it says."""
    got, text = run(world.client, "--mount", world.client.mount, "gateway", "--name", NAME,
                    *options)
    assert got == status, text
    return text


def add_3_and_4(world):
    code, text = world.client.outcome("call", NAME, "add", "--aidl", AIDL, "3", "4")
    assert code == 0 and "7" in text.splitlines(), text


def test_over_tls(world):
    """Everything but files, which are refused with a sentence."""
    _, link = linked(world)
    use(world)
    assert "a file crosses only" in link.log()


def test_over_a_unix_socket(world):
    """Files, too."""
    linked(world, listen=f"unix://{world.socket_path()}")
    use(world, "--files")
    # The first client's objects are released: another one is served, too.
    use(world, "--files")


def rpc_call(world, path, version):
    return run(world.server, "rpc-call", "--socket", path, "--version", str(version))


def test_older_clients_of_an_export(world):
    """Where the types say where objects are, they cross without their positions, too."""
    path = world.socket_path()
    serve(world)
    export = world.export("--aidl", AIDL, names=(NAME,), listen=f"unix://{path}")
    for version in (2, 1, 0):
        code, text = rpc_call(world, path, version)
        assert code == 0, f"wire version {version}: {text}"
    export.end()
    # Without types they do not.
    world.export(names=(NAME,), listen=f"unix://{path}")
    for version in (1, 0):
        assert rpc_call(world, path, version)[0] != 0, f"wire version {version}"


@pytest.mark.parametrize("version", [2, 1, 0])
def test_older_servers_of_a_link(world, version):
    path = world.socket_path()
    world.client.start(CLIENTS, "rpc-serve", "--socket", path, "--version", str(version),
                       ready="ready")
    link = world.link("--aidl", AIDL, name=NAME, address=f"unix://{path}")
    assert f"wire version {version}" in link.log()
    add_3_and_4(world)
    use(world, "--no-files")


def envelope(name, content, objects):
    """The arguments of echoEnvelope with that content; places of objects are moved."""
    text = name.encode("utf-16-le") + b"\0\0"
    text = struct.pack("<i", len(name)) + text + b"\0" * (-len(text) % 4)
    holder = struct.pack("<3i", 1, 0, len(text) + len(content)) + text + content
    start = 12 + 12 + len(text)
    fields = struct.pack("<i", 1) + holder + struct.pack("<i", 2)
    whole = struct.pack("<2i", 1, 4 + len(fields)) + fields
    return whole, [start + at for at in objects]


def test_holders(world):
    """What a holder has crosses by the type that it names, or is refused if it has objects."""
    linked(world)
    one = world.client.peer()
    far = one.find(NAME)
    header = header_of(INTERFACE)

    def call(name, content, objects=()):
        data, places = envelope(name, content, objects)
        return one.call_raw(far, ECHO_ENVELOPE, header + data, [len(header) + at for at in places])

    record, at = record_with_object()
    reply, objects = call("anybinder.test.Record", record[4:], [at - 4])
    assert struct.unpack_from("<i", reply)[0] == 0 and len(objects) == 1
    assert struct.unpack_from("<IIQ", reply, objects[0])[2] == 0x5000
    # The service finds no record in the envelope, and returns an empty one.
    reply, objects = call("other.Type", struct.pack("<2i", 8, 5))
    assert struct.unpack_from("<i", reply)[0] == 0 and not objects
    reply, _ = call("other.Type", struct.pack("<i", 32) + binder(0x5000), [4])
    assert struct.unpack_from("<i", reply)[0] == UNSUPPORTED_OPERATION
    text = reply.decode("utf-16-le", errors="replace")
    assert "object inside a ParcelableHolder with a other.Type" in text, text
    # More than the type has.
    longer = record[4:] + binder(0x6000)
    reply, _ = call("anybinder.test.Record", longer, [at - 4, len(record) - 4])
    assert struct.unpack_from("<i", reply)[0] == UNSUPPORTED_OPERATION
    # A size that is too large, too small, or no whole words ends the call at most.
    data, places = envelope("anybinder.test.Record", record[4:], [at - 4])
    for size in (0, 1, 4, 41, 1 << 20, -1, 0x7fffffff):
        lie = data[:20] + struct.pack("<i", size) + data[24:]
        with contextlib.suppress(Failed):
            one.call_raw(far, ECHO_ENVELOPE, header + lie, [len(header) + at for at in places])
    reply, _ = one.call_raw(far, ADD, header + struct.pack("<2i", 3, 4))
    assert struct.unpack("<2i", reply) == (0, 7)


def test_by_an_accessor(world):
    """A call by its types, over a socket of its own."""
    linked(world, "--accessor=only")
    for words, wanted in ((["add", "3", "4"], "7"), (["echo", "hello"], '"hello"'),
                          (["held"], "null")):
        code, text = world.client.outcome("call", NAME, *words, "--aidl", AIDL)
        assert code == 0 and wanted in text.splitlines(), text
    code, text = world.client.outcome("call", NAME, "echoCallbacks", "[null, null]", "--aidl", AIDL)
    assert code == 0 and "[null,null]" in text.splitlines(), text


def test_one_end_has_types(world):
    """Without them at both ends, a null inside a parcelable is read wrongly; the rest works."""
    serve(world)
    world.export(names=(NAME,))
    world.link("--aidl", AIDL, name=NAME)
    assert "NotEnoughData" in use(world, status=1)


def test_a_unix_socket_whose_other_end_takes_no_files(world):
    address = f"unix://{world.socket_path()}"
    serve(world)
    world.export(names=(NAME,), listen=address)
    world.link("--aidl", AIDL, name=NAME, address=address)
    add_3_and_4(world)


def test_files_that_do_not_declare_the_interface(world):
    serve(world)
    other = str(TOP / "examples/aidl")
    until(lambda: world.server.outcome("ping", NAME)[0] == 0)
    rules = world.path("rules")
    words = [*world.own("server"), "--allow", rules]
    export = world.export(names=(NAME,))
    code, text = world.client.outcome(*world.link_words("--aidl", other, name=NAME))
    assert code not in (0, 7) and "No .aidl file declares anybinder.test.IPeer" in text, text
    export.end()
    code, text = world.server.outcome("export", NAME, "--listen", world.tls,
                                      *words, "--aidl", other)
    assert code and "No .aidl file declares anybinder.test.IPeer" in text, text
    for option in ("/nowhere", world.path("rules") + "/x"):
        code, text = world.server.outcome("export", NAME, "--listen", world.tls, *words, "--aidl",
                                      option)
        assert code and "The .aidl files cannot be used" in text, text


def record_with_object(level=NEWEST):
    """The arguments of echoRecord, and where the object is."""
    start = struct.pack("<iqdi", 7, -8, 0.5, 1)
    name = struct.pack("<i", 6) + "a name".encode("utf-16-le") + bytes(4)
    blob = struct.pack("<i", 5) + bytes(8)
    words = struct.pack("<ii", 1, 1) + "x".encode("utf-16-le") + bytes(2)
    before = start + name + blob + words
    own = binder(0x5000, level)
    fields = before + own + struct.pack("<i", 0)
    return struct.pack("<2i", 1, len(fields) + 4) + fields, 8 + len(before)


@pytest.mark.parametrize("level", ["28", "29", "31", "36"])
def test_clients_of_older_releases(world, level):
    """They get the same record back, of the size that it has in their form."""
    linked(world, *(["--level", level] if level == "31" else []))
    one = world.client.peer()
    far = one.find(NAME)
    header = header_of(INTERFACE, level)
    sent, at = record_with_object(level)
    reply, objects = one.call_raw(far, ECHO_RECORD, header + sent, [len(header) + at])
    assert objects == (4 + at,), (level, objects)
    own = binder(0x5000, level)
    end_of_own = at + len(own)
    assert reply[:4] == bytes(4) and reply[4:4 + at] == sent[:at], level
    kind, _, pointer, _ = struct.unpack_from("<IIQQ", reply, 4 + at)
    assert (kind, pointer) == (BINDER, 0x5000)
    assert reply[4 + at + 24:4 + len(sent)] == own[24:] + sent[end_of_own:], level
    # A null has the form of the release, too; nothing is held.
    reply, _ = one.call_raw(far, HELD, header)
    assert struct.unpack_from("<i", reply)[0] == 0
    assert reply[4:28] == struct.pack("<IIQQ", BINDER, *struct.unpack_from(
        "<I", reply, 8), 0, 0), level


def test_parcels_that_lie(world):
    """Cut everywhere and with words that are wrong, an argument ends its own call at most."""
    ends = linked(world)
    one = world.client.peer()
    far = one.find(NAME)
    header = header_of(INTERFACE)
    whole, at = record_with_object()
    reply, objects = one.call_raw(far, ECHO_RECORD, header + whole, [len(header) + at])
    assert len(objects) == 1 and struct.unpack_from("<i", reply)[0] == 0
    numbers = random.Random(3)
    lies = [(whole[:size], [at] if size >= at + 24 else []) for size in range(0, len(whole), CUTS)]
    for _ in range(100):
        place = numbers.randrange(len(whole) // 4) * 4
        if not at <= place < at + 24:
            word = numbers.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4),
                                   numbers.randbytes(4)])
            lies.append((whole[:place] + word + whole[place + 4:], [at]))
    for lie, places in lies:
        with contextlib.suppress(Failed):
            one.call_raw(far, ECHO_RECORD, header + lie, [len(header) + where for where in places])
        assert [job.poll() for job in ends] == [None, None]
    reply, _ = one.call_raw(far, ADD, header + struct.pack("<2i", 3, 4))
    assert struct.unpack("<2i", reply) == (0, 7)
