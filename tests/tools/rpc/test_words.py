# SPDX-License-Identifier: GPL-2.0
"""Our commands with programs of a libbinder that is not Android's: it writes another word into the
header of a call, and refuses calls with any other word."""
import struct

import pytest
from anybinder.driver import HANDLE, Failed, acquire
from anybinder.parcel import NEWEST, Parcel, Reader
from anybinder.servicemanager import BAD_TYPE, CODES, DESCRIPTOR, SERVICE, UNKNOWN_TRANSACTION

from echo import CALL_BACK, COUNT, COUNTED, ECHO, INTERFACE, Peer, binder
from machines import NAME

DEVICE = "vndbinder"    # `up` starts no service manager there
MANAGER = 0
STABILITY = 0x0C
METHODS = {code: method for method, code in CODES[NEWEST].items()}


class Host(Peer):
    """A service manager of such a libbinder, which has an echo service itself."""

    def __init__(self, path, word, lists):
        super().__init__(path, word=word)
        self.manager_header = Parcel(NEWEST, DESCRIPTOR, word).data
        self.become_manager()
        self.services = {NAME: None}    # handles
        self.lists = lists

    def interface_of(self, call):
        return DESCRIPTOR if call.head.target == MANAGER else INTERFACE

    def answer(self, call):
        if call.head.target != MANAGER:
            self.body(call)
            return super().answer(call)
        if not call.data.startswith(self.manager_header):
            raise Failed(BAD_TYPE)
        reader = Reader(call.data)
        reader.at = len(self.manager_header)
        return self.manage(METHODS.get(call.code), reader)

    def manage(self, method, reader):
        if method in ("get", "check"):
            return self.found(reader.string())
        if method == "add":
            return self.register(reader.string(), reader)
        if method in ("instances", "names", "connection"):
            return Parcel().i32(0).i32(0)
        if method == "debug" and self.lists:
            return self.listed()
        raise Failed(UNKNOWN_TRANSACTION)

    def found(self, name):
        """The reply to a lookup."""
        reply = Parcel().i32(0)
        if name not in self.services:
            return reply.null()
        handle = self.services[name]
        return reply.binder(SERVICE) if handle is None else reply.handle(handle)

    def register(self, name, reader):
        kind, _, handle, _, stability = struct.unpack_from("<IIQQI", reader.data, reader.at)
        if kind != HANDLE or stability != STABILITY:
            raise Failed(BAD_TYPE)
        self.write_read(acquire(handle), 0)
        self.services[name] = handle
        return Parcel().i32(0)

    def listed(self):
        """The names and processes of the services: an array of parcelables."""
        reply = Parcel().i32(0).i32(len(self.services))
        for name in self.services:
            one = Parcel().string(name).i32(4711).data
            reply.i32(1).i32(4 + len(one)).raw(one)
        return reply


def host(world, word, lists=True):
    def serve(ready):
        served = Host(world.server.path(DEVICE), word.encode(), lists)
        ready()
        served.serve_until_killed()

    return world.server.fork(serve)


def command(machine, *words, status=0):
    code, text = machine.outcome(*words, "--device", DEVICE)
    assert code == status, f"{words}: {code} {text}"
    return text


@pytest.mark.parametrize("word", ["UNKN", "VNDR", "RECO"])
def test_commands(world, word):
    host(world, word)
    text = command(world.server, "list")
    assert NAME in text and "4711" in text, text
    assert f"header word {word}" in text, text
    assert INTERFACE in command(world.server, "ping", NAME)
    assert INTERFACE in command(world.server, "check", NAME)
    assert INTERFACE in command(world.server, "interface", NAME)
    assert "is registered" in command(world.server, "wait", NAME)
    command(world.server, "check", "absent", status=6)
    text = command(world.server, "call", NAME, str(ECHO), "i32", "123456", "--reply", "i32")
    assert "123456" in text, text
    # One-way, and without asking the service.
    for _ in range(3):
        command(world.server, "call", NAME, str(COUNT), "--oneway", "--interface",
                INTERFACE)
    text = command(world.server, "call", NAME, str(COUNTED), "--reply", "i32")
    assert "i32: 3\n" in text, text


def test_no_command_needs_the_list_to_find_one(world):
    """The list may be too long to be received, or refused."""
    host(world, "UNKN", lists=False)
    text = command(world.server, "list", status=7)
    assert "does not list its services" in text and "anybinder check NAME" in text, text
    for words in (["ping", NAME], ["check", NAME], ["interface", NAME], ["wait", NAME]):
        assert INTERFACE in command(world.server, *words)
    text = command(world.server, "call", NAME, str(ECHO), "i32", "5", "--reply", "i32")
    assert "i32: 5" in text, text


def test_links(world):
    """From such programs to others, and from others to such programs."""
    path = world.socket_path()
    host(world, "UNKN")
    export = world.export("--device", DEVICE, listen=f"unix://{path}")
    link = world.link(name="far", address=f"unix://{path}")
    client = world.client.peer()
    assert client.call(client.find("far"), ECHO, b"word")[0] == b"word"
    for why, *words in (("a link passes no dump on", "dump", "far"),
                        ("a link passes no shell commands on", "shell", "far"),
                        ("unix://", "call", "far", str(ECHO), "file", "/dev/null")):
        code, text = world.client.outcome(*words)
        assert code == 7 and why in text, text
    link.end()
    export.end()
    # The service is the client machine's; the link registers it with the other libbinder's manager.
    world.client.echo("near")
    words = ["export", "near", "--listen", f"unix://{path}"]
    world.client.anybinder(*words, ready="exported at")
    world.server.anybinder("link", "near", f"unix://{path}", "--device", DEVICE,
                                  ready="linked to")
    assert "near" in command(world.server, "list")
    assert INTERFACE in command(world.server, "ping", "near")
    text = command(world.server, "call", "near", str(ECHO), "i32", "77", "--reply", "i32")
    assert "i32: 77" in text, text


def test_links_of_programs_whose_manager_takes_any_word(world):
    """The word of a call is that of the service's program; of a call back, that of the client's."""
    world.linked(word=b"UNKN")
    for word in (b"UNKN", b"SYST"):
        client = world.client.peer(word=word)
        far = client.find(NAME)
        assert client.call(far, ECHO, b"word")[0] == b"word"
        assert client.call(far, CALL_BACK, binder(0x5000), [0])[0] == struct.pack("<i", 1042)
