# SPDX-License-Identifier: GPL-2.0
"""Objects of clients and services of older Android releases over links.

  dialect_test.py ANYBINDER    the program; TEST=NAME runs one test

Releases differ in the header of a call and in what follows a binder. The programs here write and
read the parcels of theirs, and check every header.
"""
import struct
import sys

import link_test
import peer
from link_test import NAME, end
from peer import BYTES, CALL_BACK, ECHO

OLD = ("28", "29", "31")
NUMBERS = struct.pack("<2i", 0, 7)
# Behind an object: not null, a size, a number, and what looks like no object.
MORE = struct.pack("<4i", 1, 12, 0x5000, 3)


def binder(level, pointer=0x5000):
    return peer.Parcel(level, None).binder(pointer).data


def connect(world, level):
    """A client of a release, and the handle of the service; the lookup is not what is tested."""
    client = world.client.peer()
    echo = client.find(NAME)
    client.level = level
    return client, echo


def check_echo(client, echo):
    """Objects return as themselves with the bytes around them."""
    own = binder(client.level)
    for before, after in ((b"", b""), (b"", NUMBERS), (NUMBERS, NUMBERS), (NUMBERS, MORE)):
        reply, objects = client.call(echo, ECHO, before + own + after, [len(before)])
        assert objects == (len(before),)
        kind, _, pointer, _ = struct.unpack_from("<IIQQ", reply, len(before))
        assert (kind, pointer) == (peer.BINDER, 0x5000)
        at = len(before) + 24
        assert reply[:len(before)] == before
        # The object's stability; at the end of a parcel, a word may follow that is not read.
        stability = own[24:]
        assert reply[at:at + len(stability) + len(after)] == stability + after, reply[at:].hex()
        assert len(reply) <= len(before + own + after) + 4
    two = own + NUMBERS + binder(client.level, 0x6000) + NUMBERS
    reply, objects = client.call(echo, ECHO, two, [0, len(own) + len(NUMBERS)])
    pointers = [struct.unpack_from("<Q", reply, at + 8)[0] for at in objects]
    assert pointers == [0x5000, 0x6000] and reply[-len(NUMBERS):] == NUMBERS


def test_clients(world):
    """Each release calls, is called back, and gets its objects back in its own form."""
    for level in OLD:
        options = ["--level", level] if level == "31" else []
        jobs = [world.server.echo(NAME), world.export(), world.link(*options)]
        client, echo = connect(world, level)
        check_echo(client, echo)
        own = binder(level)
        answer = client.call(echo, CALL_BACK, own, [0])[0]
        assert answer == struct.pack("<i", 1042), answer
        # The next object with the same address is another one.
        assert client.call(echo, CALL_BACK, binder(level, 0x7000), [0])[0] == answer
        # The service, in the form of the release, returns as the same handle.
        itself = struct.pack("<IIQQ", peer.HANDLE, 0, echo, 0) + own[24:] + NUMBERS
        reply, objects = client.call(echo, ECHO, itself, [0])
        assert struct.unpack_from("<IIQ", reply)[::2] == (peer.HANDLE, echo) and objects
        assert reply.endswith(NUMBERS)
        assert len(client.call(echo, BYTES, struct.pack("<i", 64))[0]) == 64
        client.close()
        end(*reversed(jobs))


def test_clients_of_two_releases(world):
    """Over the same link: each is answered in its own form."""
    jobs = [world.server.echo(NAME), world.export(), world.link()]
    clients = [connect(world, level) for level in ("28", "36", "29")]
    for _ in range(3):
        for client, echo in clients:
            check_echo(client, echo)
            own = binder(client.level)
            assert client.call(echo, CALL_BACK, own, [0])[0] == struct.pack("<i", 1042)
    for client, _ in clients:
        client.close()
    end(*reversed(jobs))


def test_services(world):
    """A service of an older release is exported with its level, which its calls cannot show."""
    for level in OLD:
        jobs = [world.server.echo(NAME, level=level), world.export("--level", level),
                world.link()]
        client, echo = connect(world, peer.LEVEL)
        check_echo(client, echo)
        own = binder(client.level)
        assert client.call(echo, CALL_BACK, own, [0])[0] == struct.pack("<i", 1042)
        client.close()
        end(*reversed(jobs))


def test_a_level_that_is_none(world):
    code, text = world.server.run("export", NAME, "--listen", world.tls, "--level", "27")
    assert code == 2 and "27 is no API level" in text, text


def test_what_looks_like_an_object(world):
    """Words of numbers cross as they are, whatever release they are from."""
    jobs = [world.server.echo(NAME), world.export(), world.link()]
    words = struct.pack("<12I", peer.HANDLE, 0, 5, 0, 6, 0, 1, 1, 7, 0, 12, 0)
    words += struct.pack("<6I", peer.BINDER, 0, 5, 0, 6, 0)
    for level in ("28", "29", "36"):
        client, echo = connect(world, level)
        assert client.call(echo, ECHO, words)[0] == words
        client.close()
    end(*reversed(jobs))


if __name__ == "__main__":
    sys.exit(link_test.main(globals()))
