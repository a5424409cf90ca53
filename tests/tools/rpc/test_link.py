# SPDX-License-Identifier: GPL-2.0
"""Services of one machine on another one: `anybinder export` and `anybinder link`."""
import contextlib
import os
import random
import signal
import socket
import struct
import threading

import pytest
from anybinder.driver import BINDER, FILE, HANDLE, TF_ONE_WAY, Failed, acquire
from anybinder.process import PATIENCE_S, children_of, memory_kib, until
from anybinder.servicemanager import (BAD_TYPE, FDS_NOT_ALLOWED, INVALID_OPERATION,
                                      PERMISSION_DENIED, UNKNOWN_TRANSACTION)

from echo import BYTES, CALL_BACK, COUNT, COUNTED, ECHO, INTERFACE, OPEN, SLEEP, binder, header
from machines import NAME, OTHER

# Of frames and parcels: the driver's limit is about a megabyte.
CUTS, LIES = 40, 40
MANY = 6000    # binders of a call
EVERY = pytest.mark.parametrize("at_every_byte", [
    False, pytest.param(True, marks=[pytest.mark.long, pytest.mark.timeout(900)])],
    ids=["some cuts", "every cut"])


def refused(call, status):
    with pytest.raises(Failed) as failed:
        call()
    assert failed.value.args[0] == status


def test_plain_parcels(world):
    client, echo = world.linked()
    for size in (0, 4, 8, 12, 60, 4096, 4100, 100000, 1000000):
        data = random.Random(size).randbytes(size)
        reply, _ = client.call(echo, ECHO, data)
        assert reply == data, size
    # Not what it looks like: types of objects, and a present binder of RPC.
    words = struct.pack("<12I", HANDLE, 0, 5, 0, 6, 0, 1, 1, 7, 0, 12, 0)
    assert client.call(echo, ECHO, words)[0] == words
    for _ in range(50):
        client.call(echo, COUNT, flags=TF_ONE_WAY)
    until(lambda: client.call(echo, COUNTED)[0] == struct.pack("<i", 50))
    refused(lambda: client.call(echo, 99), UNKNOWN_TRANSACTION)


def test_binders(world):
    """A binder comes back as what it was, and can be called on the way."""
    client, echo = world.linked()
    own = binder(0x5000)
    for before in (b"", struct.pack("<3i", 7, -1, 30)):
        reply, objects = client.call(echo, ECHO, before + own, [len(before)])
        kind, _, pointer, _ = struct.unpack_from("<IIQQ", reply, len(before))
        assert objects == (len(before),) and kind == BINDER and pointer == 0x5000
    assert client.call(echo, CALL_BACK, own, [0])[0] == struct.pack("<i", 1042)
    two = binder(0x5000) + binder(0x6000)
    reply, objects = client.call(echo, ECHO, two, [0, 28])
    pointers = [struct.unpack_from("<Q", reply, at + 8)[0] for at in objects]
    assert pointers == [0x5000, 0x6000]
    # The service itself, sent to itself, comes back as the same handle.
    itself = struct.pack("<IIQQI", HANDLE, 0, echo, 0, 0x0C)
    reply, objects = client.call(echo, ECHO, itself, [0])
    assert struct.unpack_from("<IIQ", reply)[::2] == (HANDLE, echo) and objects


def test_a_call_with_many_binders(world):
    """What copies it looks at each word once: the other end of the link is not kept waiting."""
    client, echo = world.linked("--patience", "10", exported=("--patience", "10"))
    pointers = list(range(0x5000, 0x5000 + 16 * MANY, 16))
    data = b"".join(map(binder, pointers))
    reply, objects = client.call(echo, ECHO, data, range(0, len(data), len(binder(0))))
    assert [struct.unpack_from("<Q", reply, at + 8)[0] for at in objects] == pointers


def test_what_cannot_cross_is_refused(world):
    client, echo = world.linked("--max-size", "50000")
    null = os.open("/dev/null", os.O_RDONLY)
    file = struct.pack("<IIQQ", FILE, 0, null, 0)
    refused(lambda: client.call(echo, ECHO, file, [0]), FDS_NOT_ALLOWED)
    refused(lambda: client.call(echo, ECHO, file + bytes(8), [0]), FDS_NOT_ALLOWED)
    refused(lambda: client.call(echo, OPEN), FDS_NOT_ALLOWED)
    os.close(null)
    client.write_read(acquire(0), 0)
    manager = struct.pack("<IIQQI", HANDLE, 0, 0, 0, 0x0C)
    refused(lambda: client.call(echo, ECHO, manager, [0]), PERMISSION_DENIED)
    inside = struct.pack("<2i", 1, 32) + binder(0x5000)
    refused(lambda: client.call(echo, ECHO, inside, [8]), INVALID_OPERATION)
    client.call(echo, ECHO, bytes(49000))
    for call in (ECHO, BYTES):
        data = bytes(51000) if call == ECHO else struct.pack("<i", 51000)
        with pytest.raises(Failed):
            client.call(echo, call, data)
    refused(lambda: client.call_raw(echo, ECHO, header("another.IFace")), BAD_TYPE)
    text = world.made.log()
    assert "a file cannot cross a link" in text, text


def test_death_and_return(world):
    client, echo = world.linked()
    client.watch(echo)
    world.service.end()
    assert client.wait_death()
    world.server.echo(NAME)
    again = world.client.peer()
    until(lambda: again.find(NAME))
    assert again.call(again.find(NAME), ECHO, b"back")[0] == b"back"
    # A link that is killed is a death, too.
    again.watch(again.find(NAME))
    pids = children_of(world.made.pid)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert pids and again.wait_death()
    until(lambda: world.client.peer().find(NAME))


def test_certificates(world):
    world.server.echo(NAME)
    export = world.export()
    pin = ["--pin", world.fingerprint("server")]
    link = ["link", NAME, world.tls, "--once", "--patience", "20"]
    wrong = {
        "another server": [*world.own("client"), "--pin", world.fingerprint("stranger")],
        "another authority": [*world.own("client"), "--ca", world.path("ca.pem")],
        "a stranger": [*world.own("stranger"), *pin],
        "no certificate": pin,
    }
    for why, options in wrong.items():
        code, text = world.client.outcome(*link, *options)
        assert code == 7 and "No link to" in text, f"{why}: {code} {text}"
    assert world.fingerprint("stranger") in export.log()


def test_certificates_of_an_authority(world):
    """The name in the certificate has to be right as well."""
    world.server.echo(NAME)
    words = ["export", NAME, "--listen", world.tls, *world.own("signed-server"), "--ca",
             world.path("ca.pem")]
    world.server.anybinder(*words, ready="exported at")
    link = ["link", NAME, world.tls, "--once", "--patience", "20"]
    signed = [*world.own("signed-client"), "--ca", world.path("ca.pem")]
    code, text = world.client.outcome(*link, *signed)
    assert code == 7, "a certificate for another name is accepted"
    code, text = world.client.outcome(*link, *world.own("client"), "--ca", world.path("ca.pem"),
                                  "--server-name", "other.machine")
    assert code == 7, "a client that the authority did not sign is accepted"
    named = ["link", NAME, world.tls, *signed, "--server-name", "other.machine"]
    world.client.anybinder(*named, ready="linked to")


def test_rules(world):
    """Of two services the rules name one."""
    rules = f"cert={world.fingerprint('client')} {OTHER}\n"
    world.server.echo(NAME, OTHER)
    world.export(names=(NAME, OTHER), rules=rules)
    world.link(name="a", address=f"{world.tls}#{OTHER}")
    world.link(name="b", address=f"{world.tls}#{NAME}")
    client = world.client.peer()
    assert client.call(client.find("a"), ECHO, b"word")[0] == b"word"
    refused(lambda: client.call(client.find("b"), ECHO, b"word"), PERMISSION_DENIED)
    code, text = world.client.outcome(*world.link_words("--once", address=f"{world.tls}#none"))
    assert code == 6 and "has no service none" in text, text


def test_where_a_service_lives(world):
    world.linked()
    for words in (["list"], ["ping", NAME], ["call", NAME, str(BYTES), "i32", "8"]):
        code, text = world.client.outcome(*words)
        assert code == 0 and f"over {world.tls}" in text, text
        code, text = world.client.outcome(*words, "--json")
        wanted = f'"link": "{world.tls}"' if words[0] != "call" else world.tls
        assert code == 0 and wanted in text, text
    code, text = world.server.outcome("ping", NAME)
    assert code == 0 and "over" not in text, text


def test_accessor(world):
    """A client of Android 16 connects by itself, one that does not know accessors need not."""
    client, echo = world.linked("--accessor")
    assert client.union(NAME) == 1
    assert client.call(echo, ECHO, b"old!")[0] == b"old!"
    code, text = world.client.outcome("ping", NAME)
    assert code == 0 and INTERFACE in text, text


def test_only_an_accessor(world):
    """What only an accessor leads to can be called by who knows accessors, and by no others."""
    world.server.echo(NAME)
    world.export()
    link = world.link("--accessor=only")
    client = world.client.peer()
    assert client.find(NAME) is None and client.union(NAME) == 1
    code, text = world.client.outcome("list")
    assert code == 0 and f"android.os.IAccessor/{NAME} over {world.tls}" in text, text
    for words in (["ping", NAME], ["call", NAME, str(BYTES), "i32", "8"],
                  ["call", NAME, str(ECHO), "i32", "1", "null", "s16", "text"]):
        code, text = world.client.outcome(*words)
        assert code == 0 and f"over {world.tls}" in text, text
    assert "8 bytes" in world.client.outcome("call", NAME, str(BYTES), "i32", "8")[1]
    code, text = world.client.outcome("call", NAME, str(ECHO), "file", "/dev/null")
    assert code and "cannot be sent to a service that only an accessor" in text, text
    code, text = world.client.outcome("watch", NAME, "--count", "1")
    assert code == 0 and "present" in text and f"android.os.IAccessor/{NAME}" in text, text
    link.end()
    code, text = world.client.outcome("ping", NAME)
    assert code == 6, text


def test_lost_cable(world):
    if not world.has_cable:
        pytest.skip("no network namespaces")
    client, echo = world.linked("--patience", "2", exported=("--patience", "2"))
    client.watch(echo)
    world.server.do("ip", "link", "set", "cable", "down")
    assert client.wait_death(2 * PATIENCE_S)
    world.server.do("ip", "link", "set", "cable", "up")
    again = world.client.peer()
    until(lambda: again.find(NAME), 2 * PATIENCE_S)
    assert again.call(again.find(NAME), ECHO, b"back")[0] == b"back"


def test_an_answer_that_does_not_come(world):
    """A call that is not answered within --patience ends the link, which is made again."""
    client, echo = world.linked("--patience", "1")
    client.watch(echo)
    with pytest.raises(Failed):
        client.call(echo, SLEEP, struct.pack("<i", 5))
    assert client.wait_death()
    until(lambda: world.client.peer().find(NAME))


def test_silent_peers(world):
    """They are cut off, and do not keep others out for longer than --patience."""
    world.server.echo(NAME)
    world.export("--max-connections", "8", "--patience", "1")
    with contextlib.ExitStack() as stack:
        with world.client.network():
            sockets = [stack.enter_context(socket.create_connection((world.server.address,
                                                                     world.port)))
                       for _ in range(30)]
        for one in sockets[::2]:
            one.send(b"\x16\x03")
        world.link("--threads", "2")
        client = world.client.peer()
        assert client.call(client.find(NAME), ECHO, b"word")[0] == b"word"


class Recorder:
    """A Unix socket in front of another; keeps what the first connection carried, per direction."""

    def __init__(self, path, target):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.target = target
        self.streams = []
        self.threads = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.listener.accept()
                other = socket.socket(socket.AF_UNIX)
                other.connect(self.target)
                streams = (bytearray(), bytearray())
                self.streams.append(streams)
                for pair, kept in zip(((one, other), (other, one)), streams):
                    pump = threading.Thread(target=self.pump, args=(*pair, kept), daemon=True)
                    pump.start()
                    self.threads.append(pump)

    def join(self):
        """Waits until both ends of every connection have hung up."""
        self.listener.close()
        for pump in self.threads:
            pump.join()

    @staticmethod
    def pump(source, sink, kept):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                kept += data
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def lies(stream, seed, at_every_byte):
    """The stream cut at some bytes, or at every one, and with words that are too large, negative
    or any."""
    numbers = random.Random(seed)
    points = range(len(stream)) if at_every_byte else sorted(
        numbers.sample(range(len(stream)), min(CUTS, len(stream))))
    for point in points:
        yield bytes(stream[:point])
    for _ in range(LIES):
        at = numbers.randrange(len(stream) // 4) * 4
        word = numbers.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80",
                               b"\0\0\0\0", b"\1\0\0\0", numbers.randbytes(4)])
        yield bytes(stream[:at]) + word + bytes(stream[at + 4:])


def record(world):
    """What a link says and is told: connecting, looking up, one call with a binder. Returns the
    export and its socket as well."""
    server, front = world.socket_path(), world.socket_path()
    world.server.echo(NAME)
    export = world.export("--patience", "2", listen=f"unix://{server}")
    recorder = Recorder(front, server)
    link = world.link("--threads", "1", address=f"unix://{front}")
    client = world.client.peer()
    own = binder(0x5000)
    client.call(client.find(NAME), ECHO, own + bytes(8), [0])
    client.call(client.find(NAME), CALL_BACK, own, [0])
    link.end()
    recorder.join()
    return export, server, recorder.streams[0]


@EVERY
def test_clients_that_lie(world, at_every_byte):
    """Every lie ends its own session at most; the others go on, and nothing grows."""
    export, path, (said, _) = record(world)
    before = memory_kib(export.pid)
    for lie in lies(said, 1, at_every_byte):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            one.settimeout(0.05)
            with contextlib.suppress(OSError):
                one.sendall(lie)
                while one.recv(65536):
                    pass
        assert export.poll() is None, export.log()
    world.link(address=f"unix://{path}")
    client = world.client.peer()
    assert client.call(client.find(NAME), ECHO, b"word")[0] == b"word"
    assert memory_kib(export.pid) < before + 65536, "the export grew"


@EVERY
def test_servers_that_lie(world, at_every_byte):
    """Every lie ends the link with a sentence."""
    _, _, (_, told) = record(world)
    path = world.socket_path()
    found = list(lies(told, 2, at_every_byte))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        for lie in found[::len(found) // 10 or 1]:
            link = world.client.anybinder(*world.link_words(
                "--once", "--patience", "1", "--threads", "1", address=f"unix://{path}"))
            with listener.accept()[0] as one, contextlib.suppress(OSError):
                one.sendall(lie)
                # The link says how it begins, before it can know what it is told.
                one.recv(65536)
            listener.settimeout(0.2)
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()
            listener.settimeout(None)
            assert link.wait(PATIENCE_S) in (6, 7), link.log()
