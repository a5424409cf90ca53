# SPDX-License-Identifier: GPL-2.0
"""HIDL's parcels, written by hand, and a raw client that sends and serves them."""
import ctypes
import struct
import time

import harness
from harness import TF_ONE_WAY, Failed, raw

MANAGER = "android.hidl.manager@1.0::IServiceManager"
BASE = "android.hidl.base@1.0::IBase"
METHODS = ("get", "add", "transport", "list", "list_by", "watch", "dump", "passthrough", "unwatch",
           "watch_clients", "unwatch_clients", "add_with_chain", "manifest", "unregister")
CODES = {name: number for number, name in enumerate(METHODS, 1)}
# The newer methods belong to newer interfaces.
VERSIONS = {name: "1.1" if number == 9 else "1.2" if number > 9 else "1.0"
            for name, number in CODES.items()}
CHAIN, DESCRIPTOR, HASHES, PING, INFO, DEBUG = (
    struct.unpack(">I", b"\x0f" + name)[0] for name in (b"CHN", b"DSC", b"HSH", b"PNG", b"REF",
                                                        b"DBG"))
BINDER, HANDLE, BUFFER = 0x73622A85, 0x73682A85, 0x70742A85
BC_TRANSACTION_SG, BC_REPLY_SG = 0x40486311, 0x40486312
BC_ACQUIRE, BC_RELEASE = 0x40046305, 0x40046306


class Parcel:
    def __init__(self, interface=None):
        self.data = b""
        self.offsets = []
        self.buffers = []    # position of the object, bytes
        if interface:
            self.data = interface.encode() + b"\0"
            self.data += b"\0" * (-len(self.data) % 4)

    def int(self, value):
        self.data += struct.pack("<i", value)
        return self

    def buffer(self, content, parent=None):
        """Appends a buffer object; returns its number."""
        number = len(self.offsets)
        self.offsets.append(len(self.data))
        self.buffers.append((len(self.data), content))
        self.data += struct.pack("<IIQQQQ", BUFFER, parent is not None, 0, len(content),
                                 *(parent or (0, 0)))
        return number

    def string(self, text):
        text = text.encode()
        number = self.buffer(struct.pack("<QQ", 0, len(text)))
        self.buffer(text + b"\0", (number, 0))
        return self

    def strings(self, texts):
        number = self.buffer(struct.pack("<QQ", 0, len(texts)))
        array = self.buffer(b"".join(struct.pack("<QQ", 0, len(text)) for text in texts),
                            (number, 0))
        for place, text in enumerate(texts):
            self.buffer(text.encode() + b"\0", (array, 16 * place))
        return self

    def object(self, kind, value):
        self.offsets.append(len(self.data))
        self.data += struct.pack("<IIQQ", kind, 0x100, value, value if kind == BINDER else 0)
        return self

    def binder(self, pointer):
        return self.object(BINDER, pointer)

    def handle(self, handle):
        return self.object(HANDLE, handle)

    def null(self):
        self.data += struct.pack("<IIQQ", BINDER, 0, 0, 0)
        return self

    def command(self, is_reply, keep, code=0, flags=0):
        """The bytes of the command. What they point to is added to @keep."""
        data = bytearray(self.data)
        for at, content in self.buffers:
            kept = ctypes.create_string_buffer(content, len(content) or 1)
            keep.append(kept)
            if at + 16 <= len(data):
                struct.pack_into("<Q", data, at + 8, ctypes.addressof(kept))
        size = sum((len(content) + 7) & ~7 for _, content in self.buffers)
        filled = Parcel()
        filled.data, filled.offsets = data, self.offsets
        number = BC_REPLY_SG if is_reply else BC_TRANSACTION_SG
        return harness.command(number, keep, filled, code, flags) + struct.pack("<Q", size)


class Reader:
    """Reads a transaction; the addresses in it are those of the client's mapping."""

    def __init__(self, client, transaction):
        fields = raw.TRANSACTION.unpack(transaction)
        self.client = client
        self.data = client.data_of(transaction)
        at = fields[9] - client.base
        self.offsets = struct.unpack(f"<{fields[7] // 8}Q", client.map[at:at + fields[7]])
        self.at = 0

    def int(self):
        self.at += 4
        return struct.unpack_from("<i", self.data, self.at - 4)[0]

    def interface(self):
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at:end].decode()
        self.at = (end + 4) & ~3
        return text

    def buffer(self):
        assert self.at in self.offsets, "no object"
        kind, _, address, size, _, _ = struct.unpack_from("<IIQQQQ", self.data, self.at)
        assert kind == BUFFER, hex(kind)
        self.at += 40
        at = address - self.client.base
        return self.client.map[at:at + size]

    def text(self, length):
        content = self.buffer()
        assert len(content) == length + 1 and content[-1] == 0
        return content[:-1].decode()

    def string(self):
        return self.text(struct.unpack("<QQ", self.buffer())[1])

    def strings(self):
        count = struct.unpack("<QQ", self.buffer())[1]
        array = self.buffer()
        assert len(array) == 16 * count
        return [self.text(struct.unpack_from("<QQ", array, 16 * place)[1])
                for place in range(count)]

    def handle(self):
        """The handle, or the own object's pointer; None for null."""
        kind, _, value, _ = struct.unpack_from("<IIQQ", self.data, self.at)
        is_object = self.at in self.offsets
        self.at += 24
        assert kind == (HANDLE if is_object and kind == HANDLE else BINDER)
        return value if is_object else None


class Client(harness.Client):
    """Calls the service manager of HIDL. An own object has a chain of interfaces; without it a
    question about it is not answered."""

    def __init__(self, path):
        super().__init__(path)
        self.chain = None
        self.asked = 0

    def incoming(self, argument, keep):
        fields = raw.TRANSACTION.unpack(argument)
        free = raw.free_buffer(argument)
        if fields[3] & TF_ONE_WAY:
            self.received.append(self.read_notification(Reader(self, argument)))
            return free
        assert fields[2] == CHAIN, hex(fields[2])
        self.asked += 1
        if self.chain is None:
            while True:    # never replies
                time.sleep(100)
        return free + self.answer_chain().command(True, keep)

    def answer_chain(self):
        return Parcel().int(0).strings(self.chain)

    def read_notification(self, reader):
        interface = reader.interface()
        if interface.endswith("IServiceNotification"):
            return reader.string(), reader.string(), reader.int()
        assert interface == "android.hidl.manager@1.2::IClientCallback", interface
        return reader.handle(), reader.int()

    def send(self, code, parcel):
        """Calls the service manager; returns a reader of the reply after its status."""
        keep = []
        argument, is_status = self.transact(parcel.command(False, keep, code))
        reply = Reader(self, argument)
        self.last = raw.free_buffer(argument)
        status = reply.int()
        if is_status or status:
            self.free()
            raise Failed(status)
        return reply

    def free(self, commands=b""):
        self.write_read(commands + self.last, 0)

    def call(self, method, fill=lambda parcel: parcel, read=lambda reply: None):
        interface = MANAGER.replace("1.0", VERSIONS[method])
        reply = self.send(CODES[method], fill(Parcel(interface)))
        result = read(reply)
        self.free()
        return result

    def ask_base(self, code, read=lambda reply: None):
        reply = self.send(code, Parcel(BASE))
        result = read(reply)
        self.free()
        return result

    def is_done(self, method, fill):
        return self.call(method, fill, Reader.int) == 1

    def add(self, instance, pointer, chain):
        return self.is_done("add_with_chain",
                            lambda p: p.string(instance).binder(pointer).strings(chain))

    def get(self, interface, instance, keep=False):
        reply = self.send(CODES["get"], Parcel(MANAGER).string(interface).string(instance))
        handle = reply.handle()
        self.free(struct.pack("<II", BC_ACQUIRE, handle) if keep and handle else b"")
        return handle

    def list(self):
        return self.call("list", read=Reader.strings)
