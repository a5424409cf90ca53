# SPDX-License-Identifier: GPL-2.0
"""Our commands with programs of a libbinder that is not Android's: it writes another word into the
header of a call, and refuses calls with any other word.

  words_test.py ANYBINDER    the program; TEST=NAME runs one test
"""
import struct
import sys

import peer
from link_test import NAME, end, main
from peer import COUNT, ECHO, HANDLE, Parcel, Peer, Reply

BAD_TYPE, UNKNOWN_TRANSACTION = -2147483647, -74
DEVICE = "vndbinder"    # `up` starts no service manager there
OWN = 0x1000


class Host(Peer):
    """A service manager of such a libbinder, which has an echo service itself."""

    def __init__(self, path, word, lists):
        super().__init__(path)
        self.word = struct.pack(">4s", word.encode())[::-1]
        self.become_manager()
        self.services = {NAME: None}
        self.lists = lists == "lists"

    def own_header(self, descriptor):
        data = Parcel("36", descriptor).data
        return data[:8] + self.word + data[12:]

    def status(self, status):
        self.reply(struct.pack("<i", status), flags=peer.TF_STATUS_CODE)

    def found(self, name):
        """The reply to a lookup."""
        if name not in self.services:
            parcel = Parcel("36", "").int(0).null()
        elif self.services[name] is None:
            parcel = Parcel("36", "").int(0).binder(OWN)
        else:
            parcel = Parcel("36", "").int(0)
            parcel.offsets.append(4)
            parcel.data += struct.pack("<IIQQI", HANDLE, 0, self.services[name], 0, 0x0C)
        self.reply(parcel.data, parcel.offsets)

    def add(self, name, reader):
        kind, _, handle, _ = struct.unpack_from("<IIQQ", reader.data, reader.at)
        if kind != HANDLE or struct.unpack_from("<I", reader.data, reader.at + 24)[0] != 0x0C:
            return self.status(BAD_TYPE)
        self.write_read(struct.pack("<II", peer.raw.BC_ACQUIRE, handle), 0)
        self.services[name] = handle
        return self.reply(struct.pack("<i", 0))

    def list(self):
        parcel = Parcel("36", "").int(0).int(len(self.services))
        for name in self.services:
            one = Parcel("36", "").string(name).int(4711).data
            parcel.int(1).int(4 + len(one))
            parcel.data += one
        self.reply(parcel.data)

    def manage(self, code, data):
        start = self.own_header("android.os.IServiceManager")
        if not data.startswith(start):
            return self.status(BAD_TYPE)
        reader = Reply("36", data[len(start):])
        if code in (1, 3):
            return self.found(reader.string())
        if code == 5:
            return self.add(reader.string(), reader)
        if code in (9, 12, 13):
            return self.reply(struct.pack("<2i", 0, 0))
        if code == 16 and self.lists:
            return self.list()
        return self.status(UNKNOWN_TRANSACTION)

    def serve_one(self, argument):
        fields = peer.raw.TRANSACTION.unpack(argument)
        data, objects = self.data_of(argument), self.offsets_of(argument)
        pointer, code, is_oneway = fields[0], fields[2], fields[3] & peer.TF_ONE_WAY
        start = self.own_header(peer.INTERFACE)
        if code == peer.INTERFACE_TRANSACTION:
            name = peer.INTERFACE if pointer == OWN else "android.os.IServiceManager"
            self.reply(Parcel("36", "").string(name).data)
        elif code == peer.PING_TRANSACTION:
            self.reply(b"")
        elif pointer != OWN:
            self.manage(code, data)
        elif not data.startswith(start):
            if not is_oneway:
                self.status(BAD_TYPE)
        elif is_oneway:
            self.count += 1
        else:
            self.echo(code, data[len(start):], [at - len(start) for at in objects])
        self.write_read(peer.raw.free_buffer(argument), 0)


def host(world, word, lists="lists"):
    device = f"{world.server.directory}/mount/{DEVICE}"
    return world.server.start([sys.executable, __file__, sys.argv[1], "host", device, word,
                               lists],
                              "ready")


def command(machine, *words, status=0):
    code, text = machine.run(*words, "--device", DEVICE)
    assert code == status, f"{words}: {code} {text}"
    return text


def test_commands(world):
    for word in ("UNKN", "VNDR", "RECO"):
        job = host(world, word)
        text = command(world.server, "list")
        assert NAME in text and "4711" in text, text
        assert f"header word {word}" in text, text
        assert peer.INTERFACE in command(world.server, "ping", NAME)
        assert peer.INTERFACE in command(world.server, "check", NAME)
        assert peer.INTERFACE in command(world.server, "interface", NAME)
        assert "is registered" in command(world.server, "wait", NAME)
        command(world.server, "check", "absent", status=6)
        text = command(world.server, "call", NAME, str(ECHO), "i32", "123456", "--reply", "i32")
        assert "123456" in text, text
        # One-way, and without asking the service.
        for _ in range(3):
            command(world.server, "call", NAME, str(COUNT), "--oneway", "--interface",
                    peer.INTERFACE)
        text = command(world.server, "call", NAME, str(peer.COUNTED), "--reply", "i32")
        assert "i32: 3\n" in text, text
        end(job)


def test_no_command_needs_the_list_to_find_one(world):
    """The list may be too long to be received, or refused."""
    job = host(world, "UNKN", "refuses")
    text = command(world.server, "list", status=7)
    assert "does not list its services" in text and "anybinder check NAME" in text, text
    for words in (["ping", NAME], ["check", NAME], ["interface", NAME], ["wait", NAME]):
        assert peer.INTERFACE in command(world.server, *words)
    text = command(world.server, "call", NAME, str(ECHO), "i32", "5", "--reply", "i32")
    assert "i32: 5" in text, text
    end(job)


def test_links(world):
    """From such programs to others, and from others to such programs."""
    path = world.path("words.socket")
    job = host(world, "UNKN")
    export = world.export("--device", DEVICE, listen=f"unix://{path}")
    link = world.link(name="far", address=f"unix://{path}")
    client = world.client.peer()
    assert client.call(client.find("far"), ECHO, b"word")[0] == b"word"
    client.close()
    for why, *words in (("a link passes no dump on", "dump", "far"),
                        ("a link passes no shell commands on", "shell", "far"),
                        ("unix://", "call", "far", str(ECHO), "file", "/dev/null")):
        code, text = world.client.run(*words)
        assert code == 7 and why in text, text
    end(link, export)
    # The service is the client machine's; the link registers it with the other libbinder's manager.
    echo = world.client.echo("near")
    words = ["export", "near", "--listen", f"unix://{path}"]
    export = world.client.anybinder(*words, ready="exported at")
    link = world.server.anybinder("link", "near", f"unix://{path}", "--device", DEVICE,
                                  ready="linked to")
    assert "near" in command(world.server, "list")
    assert peer.INTERFACE in command(world.server, "ping", "near")
    text = command(world.server, "call", "near", str(ECHO), "i32", "77", "--reply", "i32")
    assert "i32: 77" in text, text
    end(link, export, echo, job)


def serve(*words):
    served = Host(*words)
    print("ready", flush=True)
    while True:
        served.handle(served.write_read(b"", 4096))


if __name__ == "__main__":
    if sys.argv[2:3] == ["host"]:
        serve(*sys.argv[3:])
    sys.exit(main(globals()))
