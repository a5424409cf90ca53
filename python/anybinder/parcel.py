# SPDX-License-Identifier: Apache-2.0
"""Parcels as libbinder of each Android release writes and reads them.

A level is the name of an Android API level, "28" to "36", with "35-r6" and "35-r20" for two
releases of Android 15 that differ. Releases differ in the header of a call, and in the word that
follows a binder (its stability).
"""
from __future__ import annotations

import struct

from .driver import BINDER, FILE, HANDLE

# Another user, that a test becomes, may not read Python's library of codecs.
ENCODING = "utf-16-le"
"".encode(ENCODING)
SYSTEM = 0x0C    # the stability of services of the system
OLD = ("28", "29")
NEWEST = "36"


class Parcel:
    """What a client or a service of a level writes.

    descriptor: the interface whose header stands first, None for no header
    word: the header word of the libbinder, from Android 11 on
    """

    def __init__(self, level: str = NEWEST, descriptor: str | None = None, word: bytes = b"SYST"):
        self.level = level
        self.is_old = level in OLD
        self.data = b""
        self.offsets: list[int] = []
        if descriptor:
            self.i32(0x400000 if self.is_old else -0x80000000)
            if level != "28":
                self.i32(-1)
            if not self.is_old:
                self.data += word[::-1]
            self.string(descriptor)

    def i32(self, value: int) -> "Parcel":
        self.data += struct.pack("<i", value)
        return self

    def raw(self, data: bytes) -> "Parcel":
        """Bytes as they are, without a length."""
        self.data += data
        return self

    def string(self, text: str) -> "Parcel":
        units = text.encode(ENCODING)
        self.i32(len(units) // 2)
        self.data += units + b"\0\0"
        self.data += b"\0" * (-len(self.data) % 4)
        return self

    def _object(self, kind: int, flags: int, value: int, cookie: int = 0) -> None:
        self.offsets.append(len(self.data))
        self.data += struct.pack("<IIQQ", kind, flags, value, cookie)

    def _stability(self) -> "Parcel":
        if self.level == "31":
            self.i32(SYSTEM << 24 | 1)
        elif not self.is_old:
            self.i32(SYSTEM)
        return self

    def binder(self, pointer: int) -> "Parcel":
        """An object of this process."""
        self._object(BINDER, 0x100, pointer, pointer)
        return self._stability()

    def handle(self, handle: int) -> "Parcel":
        """An object of another process."""
        self._object(HANDLE, 0, handle)
        return self._stability()

    def file(self, number: int) -> "Parcel":
        """A file descriptor."""
        self._object(FILE, 0, number)
        return self

    def null(self) -> "Parcel":
        self.data += struct.pack("<IIQQ", BINDER, 0, 0, 0)
        return self.i32(0)


class Reader:
    """What a client or a service of a level reads. The header of a call is data like other."""

    def __init__(self, data: bytes, level: str = NEWEST):
        self.level = level
        self.is_old = level in OLD
        self.data = data
        self.at = 0

    def i32(self) -> int:
        value, = struct.unpack_from("<i", self.data, self.at)
        self.at += 4
        return value

    def string(self) -> str | None:
        length = self.i32()
        if length == -1:
            return None
        text = self.data[self.at:self.at + 2 * length].decode(ENCODING)
        self.at += (2 * (length + 1) + 3) & ~3
        return text

    def file(self) -> int:
        """A file descriptor, which the driver has made in this process."""
        kind, _, number, _ = struct.unpack_from("<IIQQ", self.data, self.at)
        self.at += 24
        assert kind == FILE, hex(kind)
        return number

    def handle(self) -> int | None:
        """The handle of a binder, or the pointer of an own object; None for null."""
        kind, _, value, _ = struct.unpack_from("<IIQQ", self.data, self.at)
        self.at += 24
        assert kind in (HANDLE, BINDER), hex(kind)
        stability = {"31": SYSTEM << 24 | 1}.get(self.level, SYSTEM)
        is_null = kind == BINDER and value == 0
        if not self.is_old:
            assert self.i32() == (stability if not is_null else stability & 0xff
                                  if self.level == "31" else 0)
        return None if is_null else value


def value_of(data: bytes, at: int = 0) -> tuple[int, int]:
    """The type of an object at a position, and its handle, pointer or file descriptor."""
    kind, _, value = struct.unpack_from("<IIQ", data, at)
    return kind, value
