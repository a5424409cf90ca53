# SPDX-License-Identifier: Apache-2.0
"""HIDL's parcels, written by hand, and a raw client of its service manager, which also serves."""
from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import parcel as parcels
from .driver import BINDER, BUFFER, HANDLE, Call, Content, Failed, Peer

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


class Parcel(parcels.Parcel):
    """What a client or a service of HIDL writes: words, and objects that point to buffers."""

    def __init__(self, interface: str | None = None):
        super().__init__(parcels.OLD[0])    # where no word follows a binder
        self.buffers: list[tuple[int, bytes]] = []    # position of the object, content
        if interface:
            self.data = interface.encode() + b"\0"
            self.data += b"\0" * (-len(self.data) % 4)

    def buffer(self, content: bytes, parent: tuple[int, int] | None = None) -> int:
        """Appends a buffer object; returns its number.

        parent: the number of another buffer, and where in it the address of this one stands
        """
        number = len(self.offsets)
        self.offsets.append(len(self.data))
        self.buffers.append((len(self.data), content))
        self.data += struct.pack("<IIQQQQ", BUFFER, parent is not None, 0, len(content),
                                 *(parent or (0, 0)))
        return number

    def string(self, text: str) -> "Parcel":
        data = text.encode()
        number = self.buffer(struct.pack("<QQ", 0, len(data)))
        self.buffer(data + b"\0", (number, 0))
        return self

    def strings(self, texts: Sequence[str]) -> "Parcel":
        number = self.buffer(struct.pack("<QQ", 0, len(texts)))
        array = self.buffer(b"".join(struct.pack("<QQ", 0, len(text)) for text in texts),
                            (number, 0))
        for place, text in enumerate(texts):
            self.buffer(text.encode() + b"\0", (array, 16 * place))
        return self

    def null(self) -> "Parcel":
        self.data += struct.pack("<IIQQ", BINDER, 0, 0, 0)
        return self


class Reader(parcels.Reader):
    """Reads a transaction, whose buffer is not freed yet; the addresses in it are those of the
    client's mapping."""

    def __init__(self, call: Call):
        super().__init__(call.data, parcels.OLD[0])
        self.client = call.client
        self.offsets = call.offsets

    def interface(self) -> str:
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at:end].decode()
        self.at = (end + 4) & ~3
        return text

    def buffer(self) -> bytes:
        assert self.at in self.offsets, "no object"
        kind, _, address, size, _, _ = struct.unpack_from("<IIQQQQ", self.data, self.at)
        assert kind == BUFFER, hex(kind)
        self.at += 40
        at = address - self.client.base
        return self.client.map[at:at + size]

    def text(self, length: int) -> str:
        content = self.buffer()
        assert len(content) == length + 1 and content[-1] == 0
        return content[:-1].decode()

    def string(self) -> str:
        return self.text(struct.unpack("<QQ", self.buffer())[1])

    def strings(self) -> list[str]:
        count = struct.unpack("<QQ", self.buffer())[1]
        array = self.buffer()
        assert len(array) == 16 * count
        return [self.text(struct.unpack_from("<QQ", array, 16 * place)[1])
                for place in range(count)]

    def handle(self) -> int | None:
        """The handle, or the own object's pointer; None for null."""
        kind, _, value, _ = struct.unpack_from("<IIQQ", self.data, self.at)
        is_object = self.at in self.offsets
        self.at += 24
        assert kind == (HANDLE if is_object and kind == HANDLE else BINDER)
        return value if is_object else None


class Client(Peer):
    """Calls the service manager of HIDL. An own object has a chain of interfaces; without it a
    question about it is not answered."""

    def __init__(self, path: str | os.PathLike, chain: Sequence[str] | None = None):
        super().__init__(path)
        self.chain = chain
        self.asked = 0    # questions for the chain that came

    def incoming(self, call: Call) -> Any:
        if call.is_oneway:
            return self.read_notification(Reader(call))
        assert call.code == CHAIN, hex(call.code)
        self.asked += 1
        if self.chain is None:
            while True:    # never replies
                time.sleep(100)
        return self.answer_chain()

    def answer_chain(self) -> Content:
        """The reply to the question for the chain."""
        assert self.chain is not None
        return Parcel().i32(0).strings(self.chain)

    @staticmethod
    def read_notification(reader: Reader) -> tuple:
        interface = reader.interface()
        if interface.endswith("IServiceNotification"):
            return reader.string(), reader.string(), reader.i32()
        assert interface == "android.hidl.manager@1.2::IClientCallback", interface
        return reader.handle(), reader.i32()

    def ask(self, code: int, parcel: Parcel, read: Callable[[Reader], Any] = lambda reply: None,
            keep_handles: bool = False) -> Any:
        """Calls the service manager. Returns what @read makes of the reply after its status."""
        reply = self.transact(0, code, parcel, flags=0)
        reader = Reader(reply)
        try:
            if status := reader.i32():
                raise Failed(status)
            return read(reader)
        finally:
            self.release(reply, keep_handles)

    def call_method(self, method: str, fill: Callable[[Parcel], Any] = lambda parcel: parcel,
                    read: Callable[[Reader], Any] = lambda reply: None) -> Any:
        """Calls a method by its name, with the arguments that @fill writes."""
        parcel = Parcel(MANAGER.replace("1.0", VERSIONS[method]))
        fill(parcel)
        return self.ask(CODES[method], parcel, read)

    def ask_base(self, code: int, read: Callable[[Reader], Any] = lambda reply: None) -> Any:
        """Calls a method that every interface has."""
        return self.ask(code, Parcel(BASE), read)

    def is_done(self, method: str, fill: Callable[[Parcel], Any]) -> bool:
        """A call that returns whether it did what was asked for."""
        return self.call_method(method, fill, Reader.i32) == 1

    def add(self, instance: str, pointer: int, chain: Sequence[str]) -> bool:
        return self.is_done("add_with_chain",
                            lambda p: p.string(instance).binder(pointer).strings(chain))

    def add_unasked(self, instance: str, pointer: int) -> bool:
        """Adds a service that the service manager has to ask for its interfaces."""
        return self.is_done("add", lambda p: p.string(instance).binder(pointer))

    def get(self, interface: str, instance: str, keep_handle: bool = False) -> int | None:
        parcel = Parcel(MANAGER).string(interface).string(instance)
        return self.ask(CODES["get"], parcel, Reader.handle, keep_handle)

    def names(self) -> list[str]:
        return self.call_method("list", read=Reader.strings)
