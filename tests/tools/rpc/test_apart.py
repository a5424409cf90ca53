# SPDX-License-Identifier: GPL-2.0
"""What peers that nobody knows take from others, and services of one export that die and return."""
import contextlib
import os
import pathlib
import selectors
import signal
import socket
import struct
import threading
import time

import pytest
from anybinder.driver import Failed
from anybinder.process import PATIENCE_S, children_of, memory_kib, threads_of, until

from echo import CALL_BACK, ECHO, SLEEP, Peer, binder
from machines import NAME, OTHER

# Of a ClientHello, and what is none.
BEGINNINGS = (b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n")


class Idle(threading.Thread):
    """Holds connections that do not show who they are, and opens another as soon as one ends."""

    def __init__(self, world, count, total=None):
        super().__init__()
        self.world, self.count, self.total = world, count, total
        self.opened = 0
        self.is_over = threading.Event()
        self.failure = None

    def open(self, selector):
        one = socket.socket()
        one.settimeout(10)
        one.connect((self.world.server.address, self.world.port))
        with contextlib.suppress(OSError):
            one.send(BEGINNINGS[self.opened % len(BEGINNINGS)])
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ)
        self.opened += 1

    def is_done(self):
        return self.total is not None and self.opened >= self.total

    def work(self, selector):
        while not self.is_over.is_set() and not self.is_done():
            if len(selector.get_map()) < self.count:
                self.open(selector)
                continue
            for key, _ in selector.select(0.1):
                data = b""
                with contextlib.suppress(OSError):
                    data = key.fileobj.recv(4096)
                if not data:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()

    def run(self):
        with self.world.client.network(), selectors.DefaultSelector() as selector:
            try:
                self.work(selector)
            except OSError as error:
                self.failure = error
            for key in list(selector.get_map().values()):
                key.fileobj.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()
        assert self.failure is None, self.failure


def call(client, name):
    assert client.call(client.find(name), ECHO, b"word")[0] == b"word"


def test_unknown_peers_do_not_use_up_the_places(world):
    """Connections that say nothing, renewed as they end, from the address of the link itself."""
    world.server.echo(NAME)
    world.export("--max-connections", "8")
    with Idle(world, 70) as idle:
        until(lambda: idle.opened > 70 or idle.failure)
        # A handshake has 5 s at most, a link that says nothing has as long as it wants.
        world.link("--threads", "2")
        call(world.client.peer(), NAME)


@pytest.mark.parametrize("connections", [
    2000, pytest.param(10000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_many_connections(world, connections):
    """They cost the export no more than those that may be in a handshake do."""
    world.server.echo(NAME)
    export = world.export()
    link = world.link("--once")
    before = memory_kib(export.pid)
    threads = memory = 0
    client = world.client.peer()
    with Idle(world, 300, connections) as idle:
        while idle.is_alive():
            threads = max(threads, threads_of(export.pid))
            memory = max(memory, memory_kib(export.pid))
            call(client, NAME)
            time.sleep(0.01)
    assert idle.opened == connections and threads < 64 + 60 and memory - before < 65536
    assert link.poll() is None, link.log()


def test_slow_calls_of_one_user_leave_a_way_to_others(world):
    """More of them than are made over a link at a time."""
    client, echo = world.linked("--threads", "2", threads=8)
    seconds = 8

    def call_slowly(ready):
        slow = Peer(world.client.path())
        handle = slow.find(NAME)
        ready()
        slow.call(handle, SLEEP, struct.pack("<i", seconds))

    for _ in range(6):
        world.client.fork(call_slowly, uid=70001)
    until(lambda: threads_of(children_of(world.made.pid)[0]) > 6)    # the calls have come
    begin = time.monotonic()
    assert client.call(echo, ECHO, b"word")[0] == b"word"
    assert time.monotonic() - begin < seconds / 2


class Nested(Peer):
    """Calls the service from its callback."""

    def answer(self, call):
        handle = self.find(NAME)
        assert self.call(handle, ECHO, b"word")[0] == b"word"
        return super().answer(call)


def test_a_call_within_a_call_waits_for_no_turn(world):
    """The link makes one call at a time."""
    world.linked("--threads", "1", threads=4)
    client = Nested(world.client.path())
    world.client.peers.append(client)
    handle = client.find(NAME)
    for _ in range(3):
        assert client.call(handle, CALL_BACK, binder(0x5000), [0])[0] == struct.pack("<i", 1042)


def test_expired_certificates(world):
    """One that an authority signed is refused; a pin says that a certificate is the right one."""
    pathlib.Path(world.path("index")).write_text("", encoding="utf-8")
    pathlib.Path(world.path("ca.conf")).write_text(
        "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nnew_certs_dir=.\npolicy=any\n"
        "default_md=sha256\nrand_serial=yes\nunique_subject=no\n[any]\ncommonName=supplied\n",
        encoding="utf-8")
    for name in ("server", "client"):
        world.openssl("ca", "-batch", "-config", "ca.conf", "-cert", "ca.pem", "-keyfile", "ca.key",
                      "-startdate", "200101000000Z", "-enddate", "210101000000Z", "-notext",
                      "-in", f"signed-{name}.csr", "-out", f"expired-{name}.pem",
                      "-extfile", "names")
        key = pathlib.Path(world.path(f"signed-{name}.key")).read_bytes()
        pathlib.Path(world.path(f"expired-{name}.key")).write_bytes(key)
    authority = ["--ca", world.path("ca.pem")]

    def attempt(own, *options):
        return world.client.outcome("link", NAME, world.tls, "--once", "--patience", "20",
                                "--server-name", "other.machine", *world.own(own), *options)

    def export(own):
        words = ["export", NAME, "--listen", world.tls, *world.own(own), *authority]
        return world.server.anybinder(*words, ready="exported at")

    world.server.echo(NAME)
    exported = export("signed-server")
    code, text = attempt("expired-client", *authority)
    assert code == 7 and "No link to" in text, text
    assert "expired" in exported.log().lower()
    exported.end()
    export("expired-server")
    code, text = attempt("signed-client", *authority)
    assert code == 7 and "expired" in text.lower(), text
    words = ["link", NAME, world.tls, *world.own("signed-client"), "--pin",
             world.fingerprint("expired-server")]
    world.client.anybinder(*words, ready="linked to")


def test_services_live_apart(world):
    """One of an export dies: the others' sessions go on, and it comes back."""
    one, two = world.server.echo(NAME), world.server.echo(OTHER)
    export = world.export(names=(NAME, OTHER))
    until(lambda: export.log().count("exported at") == 2)
    world.link(name="a", address=f"{world.tls}#{NAME}")
    world.link(name="b", address=f"{world.tls}#{OTHER}")
    client, watcher = world.client.peer(), world.client.peer()
    first, second = watcher.find("a"), watcher.find("b")
    watcher.watch(first)
    watcher.watch(second)
    kept = client.find("b")
    one.end()
    assert watcher.wait_death() and watcher.dead == [first], watcher.dead
    for _ in range(3):
        assert client.call(kept, ECHO, b"word")[0] == b"word"
    # It is looked for, and comes back; the other one has noticed nothing.
    one = world.server.echo(NAME)
    until(lambda: client.find("a"))
    call(client, "a")
    assert client.call(kept, ECHO, b"word")[0] == b"word"
    assert watcher.dead == [first], watcher.dead
    # The last one ends the listening.
    one.end()
    two.end()
    until(lambda: export.log().count("died") == 3)
    world.server.echo(OTHER)
    until(lambda: client.find("b"))
    call(client, "b")
    assert export.poll() is None, export.log()


def test_a_service_that_is_not_there_yet(world):
    """The others are exported, and the link to it waits."""
    world.server.echo(OTHER)
    export = world.export(names=(NAME, OTHER))
    until(lambda: f"waiting for the service {NAME}" in export.log())
    world.client.anybinder(*world.link_words(name="a", address=f"{world.tls}#{NAME}"),
                           ready="does not live")
    world.link(name="b", address=f"{world.tls}#{OTHER}")
    client = world.client.peer()
    call(client, "b")
    assert client.find("a") is None
    world.server.echo(NAME)
    until(lambda: client.find("a"))
    call(client, "a")


def exchange(path, version):
    """What libbinder says to get the root object of a server, in its bytes: the version that the
    server answers with, and the reply."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(30)
        one.connect(path)
        stream = one.makefile("rb")
        # RpcConnectionHeader: the newest version that it knows, no options, a new session.
        one.sendall(struct.pack("<IBB8xH", version, 0, 0, 0))
        agreed, = struct.unpack("<I4x", stream.read(8))
        # RpcOutgoingConnectionInit: calls will come.
        one.sendall(b"cci\0" + bytes(4))
        # RpcWireHeader and RpcWireTransaction: GET_ROOT of the address 0.
        body = struct.pack("<QIIQI12x", 0, 0, 0, 0, 0)
        one.sendall(struct.pack("<II8x", 0, len(body)) + body)
        command, size = struct.unpack("<II8x", stream.read(16))
        reply = stream.read(size)
        assert command == 1
        return agreed, reply


def answers(machine, name):
    """Whether there is a service that answers."""
    try:
        client = machine.peer()
        handle = client.find(name)
        return handle is not None and client.call(handle, ECHO, b"word")[0] == b"word"
    except (Failed, OSError):
        return False


def test_a_full_disk(world):
    """Both ends go on where their messages cannot be written."""
    address = f"unix://{world.socket_path()}"
    with open("/dev/full", "wb") as full:
        quiet = {"stdout": full, "stderr": full}
        ends = [world.server.anybinder("export", NAME, "--listen", address, **quiet),
                world.client.anybinder("link", NAME, address, **quiet)]
    for _ in range(2):
        echo = world.server.echo(NAME)
        until(lambda: answers(world.client, NAME))
        echo.end()
        until(lambda: not answers(world.client, NAME))
    assert [one.poll() for one in ends] == [None, None]


def test_a_server_of_the_daemon_that_crashes(world):
    """A link opens the device again, an export ends with a sentence."""
    world.server.echo(NAME)
    export = world.export()
    world.link()
    assert answers(world.client, NAME)
    os.kill(world.client.server_pid(), signal.SIGKILL)
    until(lambda: answers(world.client, NAME))
    os.kill(world.server.server_pid(), signal.SIGKILL)
    assert export.wait(PATIENCE_S) == 4 and "The device is gone" in export.log(), export.log()


@pytest.mark.parametrize("offered, wanted, length", [
    (0, 0, 4), (1, 1, 20), (2, 2, 20), (3, 2, 20), (0xF0000000, 2, 20)])
def test_wire_versions(world, offered, wanted, length):
    """Both ends take the lower version: 1 with libbinder of android16-release, whose next is 2."""
    path = world.socket_path()
    world.server.echo(NAME)
    world.export(listen=f"unix://{path}")
    agreed, reply = exchange(path, offered)
    assert agreed == wanted
    # RpcWireReply, and a parcel with a binder: its presence, its address, its stability.
    parcel = reply[length:]
    assert struct.unpack_from("<i", reply) == (0,) and len(reply) > length + 12, reply.hex()
    assert struct.unpack_from("<i", parcel)[0] == 1 and any(parcel[4:12]), reply.hex()
    if length == 20:
        assert struct.unpack_from("<I", reply, 4)[0] >= 16, reply.hex()
