# SPDX-License-Identifier: GPL-2.0
"""Objects of clients and services of older Android releases over links.

Releases differ in the header of a call and in what follows a binder. The programs here write and
read the parcels of theirs, and check every header.
"""
import struct

import pytest
from anybinder.driver import BINDER, HANDLE

from echo import BYTES, CALL_BACK, ECHO, binder
from machines import NAME

OLD = ("28", "29", "31")
NUMBERS = struct.pack("<2i", 0, 7)
# Behind an object: not null, a size, a number, and what looks like no object.
MORE = struct.pack("<4i", 1, 12, 0x5000, 3)


def connect(world, level):
    """A client of a release, and the handle of the service; the lookup is not what is tested."""
    client = world.client.peer()
    echo = client.find(NAME)
    client.speak(level)
    return client, echo


def check_echo(client, echo):
    """Objects return as themselves with the bytes around them."""
    own = binder(0x5000, client.spoken)
    for before, after in ((b"", b""), (b"", NUMBERS), (NUMBERS, NUMBERS), (NUMBERS, MORE)):
        reply, objects = client.call(echo, ECHO, before + own + after, [len(before)])
        assert objects == (len(before),)
        kind, _, pointer, _ = struct.unpack_from("<IIQQ", reply, len(before))
        assert (kind, pointer) == (BINDER, 0x5000)
        at = len(before) + 24
        assert reply[:len(before)] == before
        # The object's stability; at the end of a parcel, a word may follow that is not read.
        stability = own[24:]
        assert reply[at:at + len(stability) + len(after)] == stability + after, reply[at:].hex()
        assert len(reply) <= len(before + own + after) + 4
    two = own + NUMBERS + binder(0x6000, client.spoken) + NUMBERS
    reply, objects = client.call(echo, ECHO, two, [0, len(own) + len(NUMBERS)])
    pointers = [struct.unpack_from("<Q", reply, at + 8)[0] for at in objects]
    assert pointers == [0x5000, 0x6000] and reply[-len(NUMBERS):] == NUMBERS


@pytest.mark.parametrize("level", OLD)
def test_clients(world, level):
    """Each release calls, is called back, and gets its objects back in its own form."""
    client, echo = world.linked(*(["--level", level] if level == "31" else []))
    client.speak(level)
    check_echo(client, echo)
    own = binder(0x5000, level)
    answer = client.call(echo, CALL_BACK, own, [0])[0]
    assert answer == struct.pack("<i", 1042), answer
    # The next object with the same address is another one.
    assert client.call(echo, CALL_BACK, binder(0x7000, level), [0])[0] == answer
    # The service, in the form of the release, returns as the same handle.
    itself = struct.pack("<IIQQ", HANDLE, 0, echo, 0) + own[24:] + NUMBERS
    reply, objects = client.call(echo, ECHO, itself, [0])
    assert struct.unpack_from("<IIQ", reply)[::2] == (HANDLE, echo) and objects
    assert reply.endswith(NUMBERS)
    assert len(client.call(echo, BYTES, struct.pack("<i", 64))[0]) == 64


def test_clients_of_two_releases(world):
    """Over the same link: each is answered in its own form."""
    world.linked()
    clients = [connect(world, level) for level in ("28", "36", "29")]
    for _ in range(3):
        for client, echo in clients:
            check_echo(client, echo)
            own = binder(0x5000, client.spoken)
            assert client.call(echo, CALL_BACK, own, [0])[0] == struct.pack("<i", 1042)


@pytest.mark.parametrize("level", OLD)
def test_services(world, level):
    """A service of an older release is exported with its level, which its calls cannot show."""
    client, echo = world.linked(level=level, exported=("--level", level))
    check_echo(client, echo)
    own = binder(0x5000, client.spoken)
    assert client.call(echo, CALL_BACK, own, [0])[0] == struct.pack("<i", 1042)


def test_a_level_that_is_none(world):
    code, text = world.server.outcome("export", NAME, "--listen", world.tls, "--level", "27")
    assert code == 2 and "27 is no API level" in text, text


def test_what_looks_like_an_object(world):
    """Words of numbers cross as they are, whatever release they are from."""
    world.linked()
    words = struct.pack("<12I", HANDLE, 0, 5, 0, 6, 0, 1, 1, 7, 0, 12, 0)
    words += struct.pack("<6I", BINDER, 0, 5, 0, 6, 0)
    for level in ("28", "29", "36"):
        client, echo = connect(world, level)
        assert client.call(echo, ECHO, words)[0] == words
