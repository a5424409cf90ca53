# SPDX-License-Identifier: GPL-2.0
"""The bytes of RPC Binder, in both directions, against the format written down once more: this is
RpcWireFormat.h of libbinder, at its wire versions 0 to 2."""
import contextlib
import socket
import struct
import threading

import pytest
from anybinder.driver import BC_RELEASE, INTERFACE as INTERFACE_TRANSACTION, TF_ONE_WAY
from anybinder.process import until

from echo import CALL_BACK, CALLBACK, COUNT, COUNTED, ECHO, INTERFACE, binder as binder_of
from machines import NAME

TRANSACT, REPLY, DEC_STRONG = range(3)
GET_ROOT, GET_MAX_THREADS, GET_SESSION_ID = range(3)
NOBODY = (0, 0)
INCOMING = 1            # RPC_CONNECTION_OPTION_INCOMING
CREATED, FOR_SERVER = 1, 2    # of an address
SESSION = bytes(range(32))
STABILITY = 0x0C    # SYSTEM
INIT = b"cci\0" + bytes(4)
VERSIONS = range(3)
ROOT, GIVEN = (CREATED | FOR_SERVER, 1), (CREATED | FOR_SERVER, 2)
OBJECT = (CREATED, 77)    # of a client
GIVE = 100    # a method that returns an object


def string16(text):
    units = text.encode("utf-16-le") + b"\0\0"
    return struct.pack("<i", len(text)) + units + bytes(-len(units) % 4)


def binder(address, stability):
    return struct.pack("<iIIi", 1, *address, stability)


class Wire:
    """One end of a connection; each message that comes is compared with what the format says that
    such a message is, byte by byte."""

    def __init__(self, one, version=0):
        self.one = one
        self.one.settimeout(60)
        self.stream = one.makefile("rb")
        self.version = version

    def read(self, size):
        data = self.stream.read(size)
        if len(data) < size:
            raise EOFError(f"{len(data)} bytes of {size}")
        return data

    def close(self):
        self.stream.close()
        self.one.close()

    # ---- what the format says ----

    def positions(self, data, objects):
        """The size of the parcel and what follows it."""
        table = struct.pack(f"<{len(objects)}I", *objects) if self.version >= 2 else b""
        return len(data) if self.version >= 1 else 0, data + table

    def transaction(self, target, code, data=b"", objects=(), flags=0, number=0):
        size, data = self.positions(data, objects)
        body = struct.pack("<IIIIQI12x", *target, code, flags, number, size) + data
        return struct.pack("<II8x", TRANSACT, len(body)) + body

    def answer(self, data=b"", objects=(), status=0):
        size, data = self.positions(data, objects)
        start = struct.pack("<iI12x", status, size) if self.version >= 1 else \
            struct.pack("<i", status)
        return struct.pack("<II8x", REPLY, len(start + data)) + start + data

    @staticmethod
    def release(target, amount=1):
        return struct.pack("<II8xIIII", DEC_STRONG, 16, *target, amount, 0)

    def size_of_reply(self):
        return 20 if self.version >= 1 else 4

    # ---- what comes ----

    def next(self):
        """A message as it came: its command, all of its bytes, and the fields of its body."""
        head = self.read(16)
        command, size = struct.unpack("<II8x", head)
        assert size < 1 << 20, head.hex()
        body = self.read(size)
        return command, head + body, body

    def released(self, whole, body):
        """Which address a DEC_STRONG releases."""
        *target, amount = struct.unpack_from("<3I", body)
        assert whole == self.release(target, amount) and amount, whole.hex()
        return tuple(target)

    def next_reply(self):
        """The addresses that calls had are released before it, or later."""
        command, whole, body = self.next()
        while command == DEC_STRONG:
            self.released(whole, body)
            command, whole, body = self.next()
        return whole

    def expect(self, wanted):
        got = self.next_reply()
        assert got == wanted, f"got {got.hex()}\nwanted {wanted.hex()}"


def opened(path, version):
    """A session with a server, as a client of that version begins it."""
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    wire = Wire(one, version)
    one.sendall(struct.pack("<IBB8xH", version, 0, 0, 0))
    got = wire.read(8)
    assert got == struct.pack("<I4x", version), got.hex()
    one.sendall(INIT)
    return wire


def root_of(wire):
    """Its address and stability, as the server chose them."""
    wire.one.sendall(wire.transaction(NOBODY, GET_ROOT))
    _, whole, body = wire.next()
    options, number, stability = struct.unpack("<4xIIi", body[wire.size_of_reply():][:16])
    assert options == CREATED | FOR_SERVER and number, body.hex()
    assert whole == wire.answer(binder((options, number), stability), [0]), whole.hex()
    return options, number


def call_back(wire, target):
    """A call with an object of this end, which is called before the reply comes."""
    token = string16(INTERFACE)
    wire.one.sendall(wire.transaction(target, CALL_BACK, token + binder(OBJECT, STABILITY),
                                      [len(token)]))
    called = 0
    while True:
        command, whole, body = wire.next()
        if command == REPLY:
            break
        if command == DEC_STRONG:
            assert wire.released(whole, body) in (OBJECT, target), whole.hex()
            continue
        code, = struct.unpack_from("<8xI", body)
        if code == INTERFACE_TRANSACTION:
            assert whole == wire.transaction(OBJECT, code), whole.hex()
            wire.one.sendall(wire.answer(string16(CALLBACK)))
            continue
        assert whole == wire.transaction(OBJECT, 1, string16(CALLBACK)
                                         + struct.pack("<i", 42)), whole.hex()
        called += 1
        wire.one.sendall(wire.answer(struct.pack("<i", 7)))
    assert called == 1
    assert whole == wire.answer(struct.pack("<i", 7)), whole.hex()


def counted(wire, target):
    """One-way calls that the service has taken; a call may overtake them."""
    wire.one.sendall(wire.transaction(target, COUNTED, string16(INTERFACE)))
    reply = wire.next_reply()
    count, = struct.unpack("<i", reply[-4:])
    assert reply == wire.answer(struct.pack("<i", count)), reply.hex()
    return count


@pytest.mark.parametrize("version", VERSIONS)
def test_export(world, version):
    """What an export says to a client of each version."""
    path = world.socket_path()
    world.server.echo(NAME)
    world.export("--threads", "3", listen=f"unix://{path}")
    token = string16(INTERFACE)
    wire = opened(path, version)
    wire.one.sendall(wire.transaction(NOBODY, GET_MAX_THREADS))
    wire.expect(wire.answer(struct.pack("<i", 3)))
    wire.one.sendall(wire.transaction(NOBODY, GET_SESSION_ID))
    _, whole, body = wire.next()
    assert whole == wire.answer(struct.pack("<i", 32) + body[-32:]) and any(body[-32:])
    target = root_of(wire)
    wire.one.sendall(wire.transaction(target, INTERFACE_TRANSACTION))
    wire.expect(wire.answer(token))
    for number in range(3):
        wire.one.sendall(wire.transaction(target, COUNT, token, flags=TF_ONE_WAY, number=number))
    wire.one.sendall(wire.transaction(target, ECHO, token + b"word"))
    wire.expect(wire.answer(b"word"))
    until(lambda: counted(wire, target) == 3)
    if version == 2:    # the others do not say where objects are
        call_back(wire, target)
    wire.one.sendall(wire.release(target))
    wire.close()


@pytest.mark.parametrize("listed", [(), (0,), (1,), (0, 1)], ids=str)
def test_what_a_binder_is_the_table_says(world, listed):
    """Two times the same words at wire version 2: those whose positions are in the table are
    objects and come back as such, the others are numbers."""
    path = world.socket_path()
    world.server.echo(NAME)
    world.export(listen=f"unix://{path}")
    token, words = string16(INTERFACE), binder(OBJECT, STABILITY)
    wire = opened(path, 2)
    target = root_of(wire)
    at = [len(words) * number for number in listed]
    wire.one.sendall(wire.transaction(target, ECHO, token + 2 * words,
                                      [len(token) + one for one in at]))
    wire.expect(wire.answer(2 * words, at))
    wire.close()


class Server(threading.Thread):
    """A server of one session, of a version of its own. Keeps what it was called."""

    def __init__(self, path, version):
        super().__init__(daemon=True)
        self.version = version
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.calls = []
        self.released = []
        self.failures = []
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        wire = Wire(one, self.version)
        try:
            self.begin(wire)
            while True:
                self.take(wire, *wire.next())
        except (EOFError, ConnectionError):
            pass
        except Exception as error:    # pylint: disable=broad-except
            self.failures.append(error)

    def begin(self, wire):
        head = wire.read(16)
        options, size = struct.unpack("<4xBx8xH", head)
        # The first connection says the newest version that it knows, the others the one agreed on.
        version = self.version if size else 2
        assert head == struct.pack("<IBB8xH", version, options, 0, size), head.hex()
        if size:
            assert wire.read(size) == SESSION and options == INCOMING, head.hex()
            wire.one.sendall(INIT)
            return
        assert not options, head.hex()
        wire.one.sendall(struct.pack("<I4x", self.version))
        assert wire.read(8) == INIT

    def take(self, wire, command, whole, body):
        if command == DEC_STRONG:
            self.released.append(wire.released(whole, body))
            return
        assert command == TRANSACT, whole.hex()
        *target, code, flags, number = struct.unpack_from("<IIIIQ", body)
        data = body[40:]
        objects = [len(string16(INTERFACE))] if code == CALL_BACK and any(target) else []
        if objects:
            assert data[-4:] == struct.pack("<I", *objects), data.hex()
            data = data[:-4]
        # Every byte is one of these fields.
        wanted = wire.transaction(target, code, data, objects, flags, number)
        assert whole == wanted, f"got {whole.hex()}\nwanted {wanted.hex()}"
        if tuple(target) == NOBODY:
            wire.one.sendall(self.of_session(wire, code))
        elif code == INTERFACE_TRANSACTION:
            wire.one.sendall(wire.answer(string16(INTERFACE)))
        else:
            self.calls.append((tuple(target), code, flags, number, data))
            self.method(wire, code, flags, data)

    @staticmethod
    def of_session(wire, code):
        if code == GET_ROOT:
            return wire.answer(binder(ROOT, STABILITY), [0])
        if code == GET_MAX_THREADS:
            return wire.answer(struct.pack("<i", 1))
        return wire.answer(struct.pack("<i", len(SESSION)) + SESSION)

    @staticmethod
    def method(wire, code, flags, data):
        data = data[len(string16(INTERFACE)):]
        if code == GIVE:
            wire.one.sendall(wire.answer(binder(GIVEN, STABILITY), [0]))
        elif code == CALL_BACK:
            target = struct.unpack_from("<II", data, 4)
            assert target[0] == CREATED and data == binder(target, STABILITY), data.hex()
            wire.one.sendall(wire.transaction(target, 1, string16(CALLBACK)
                                              + struct.pack("<i", 42)))
            wire.expect(wire.answer(struct.pack("<i", 1042)))
            wire.one.sendall(wire.answer(struct.pack("<i", 1042)) + wire.release(target))
        elif not flags & TF_ONE_WAY:
            wire.one.sendall(wire.answer(data))


def exchange_objects(client, echo, server):
    data, _ = client.call(echo, CALL_BACK, binder_of(0x3000), [0])
    assert data == struct.pack("<i", 1042)
    data, _ = client.call(echo, GIVE)
    given, = struct.unpack_from("<8xI", data)
    client.write_read(struct.pack("<II", BC_RELEASE, given), 0)
    until(lambda: GIVEN in server.released)


@pytest.mark.parametrize("version", VERSIONS)
def test_link(world, version):
    """What a link says to a server of each version."""
    token = string16(INTERFACE)
    path = world.socket_path()
    server = Server(path, version)
    link = world.link("--once", "--threads", "1", address=f"unix://{path}")
    client = world.client.peer()
    echo = client.find(NAME)
    assert client.call(echo, ECHO, b"word")[0] == b"word"
    for _ in range(3):
        client.call(echo, COUNT, flags=TF_ONE_WAY)
    assert client.call(echo, ECHO, b"last")[0] == b"last"
    until(lambda: len(server.calls) == 5 or server.failures)
    assert sorted(server.calls) == sorted(
        [(ROOT, ECHO, 0, 0, token + b"word"), (ROOT, ECHO, 0, 0, token + b"last")]
        + [(ROOT, COUNT, 1, number, token) for number in range(3)]), server.calls
    if version == 2:
        exchange_objects(client, echo, server)
    link.end()
    server.socket.close()
    assert not server.failures, server.failures
