# SPDX-License-Identifier: GPL-2.0
"""Parcels for android.os.IServiceManager as libbinder of each Android release writes them.

The numbers are those of the releases: up to Android 10 the enum in IServiceManager.h, from 11 on
the order of declaration in IServiceManager.aidl of android-11.0.0_r1, 12.0.0_r1, 13.0.0_r1,
14.0.0_r1, 15.0.0_r6 and 16.0.0_r1. They are written down here once more, not taken from the
program.
"""
import struct

DESCRIPTOR = "android.os.IServiceManager"
# Another user, that a test becomes, may not read Python's library of codecs.
ENCODING = "utf-16-le"
"".encode(ENCODING)
SYST, = struct.unpack("<i", b"TSYS")
HANDLE, BINDER, FILE = 0x73682A85, 0x73622A85, 0x66642A85
SYSTEM = 0x0C

OLD = {"get": 1, "check": 2, "add": 3, "list": 4}
A11 = {**OLD, "watch": 5, "unwatch": 6, "declared": 7, "watch_clients": 8, "unregister": 9}
A12 = {**A11, "instances": 8, "updatable": 9, "watch_clients": 10, "unregister": 11, "debug": 12}
A13 = {**A12, "connection": 10, "watch_clients": 11, "unregister": 12, "debug": 13}
A14 = {**A13, "names": 10, "connection": 11, "watch_clients": 12, "unregister": 13, "debug": 14}
A15 = {"get": 1, "get2": 2, "check": 3, "add": 4, "list": 5, "watch": 6, "unwatch": 7,
       "declared": 8, "instances": 9, "updatable": 10, "names": 11, "connection": 12,
       "watch_clients": 13, "unregister": 14, "debug": 15}
A16 = {"get": 1, "get2": 2, "check": 3, "check2": 4, "add": 5, "list": 6, "watch": 7,
       "unwatch": 8, "declared": 9, "instances": 10, "updatable": 11, "names": 12,
       "connection": 13, "watch_clients": 14, "unregister": 15, "debug": 16}

CODES = {"28": OLD, "29": OLD, "30": A11, "31": A12, "33": A13, "34": A14, "35-r6": A15,
         "35-r20": A15, "36": A16}
LEVELS = list(CODES)


class Parcel:
    """What a client of a level writes."""

    def __init__(self, level, descriptor=DESCRIPTOR):
        self.level = level
        self.is_old = level in ("28", "29")
        self.data = b""
        self.offsets = []
        if descriptor:
            self.int(0x400000 if self.is_old else -0x80000000)
            if level != "28":
                self.int(-1)
            if not self.is_old:
                self.int(SYST)
            self.string(descriptor)

    def int(self, value):
        self.data += struct.pack("<i", value)
        return self

    def string(self, text):
        units = text.encode(ENCODING)
        self.int(len(units) // 2)
        self.data += units + b"\0\0"
        self.data += b"\0" * (-len(self.data) % 4)
        return self

    def _stability(self):
        if self.level == "31":
            self.int(SYSTEM << 24 | 1)
        elif not self.is_old:
            self.int(SYSTEM)

    def binder(self, pointer):
        """An object of this process."""
        self.offsets.append(len(self.data))
        self.data += struct.pack("<IIQQ", BINDER, 0x100, pointer, pointer)
        self._stability()
        return self

    def file(self, number):
        self.offsets.append(len(self.data))
        self.data += struct.pack("<IIQQ", FILE, 0, number, 0)
        return self

    def null(self):
        self.data += struct.pack("<IIQQ", BINDER, 0, 0, 0)
        return self.int(0)


class Reply:
    """What a client of a level reads."""

    def __init__(self, level, data):
        self.level = level
        self.is_old = level in ("28", "29")
        self.data = data
        self.at = 0

    def int(self):
        value, = struct.unpack_from("<i", self.data, self.at)
        self.at += 4
        return value

    def string(self):
        length = self.int()
        if length == -1:
            return None
        text = self.data[self.at:self.at + 2 * length].decode(ENCODING)
        self.at += (2 * (length + 1) + 3) & ~3
        return text

    def handle(self):
        """The handle of a binder, None for null."""
        kind, _, value, _ = struct.unpack_from("<IIQQ", self.data, self.at)
        self.at += 24
        assert kind in (HANDLE, BINDER), hex(kind)
        stability = {"31": SYSTEM << 24 | 1}.get(self.level, SYSTEM)
        is_null = kind == BINDER and value == 0
        if not self.is_old:
            assert self.int() == (stability if not is_null else stability & 0xff
                                  if self.level == "31" else 0)
        return None if is_null else value

    def service(self, method):
        """The result of a lookup, by the method's type at this level."""
        if self.is_old:
            return self.handle() if len(self.data) >= 24 else None
        assert self.int() == 0, "an exception"
        if method in ("get2", "check2") or (method == "check" and self.level.startswith("35")):
            assert (self.int(), self.int()) == (1, 0), "not the first member of the union"
            if self.level != "35-r6":
                assert self.int() == 1
                assert self.int() == len(self.data) - self.at + 4, "the size of the parcelable"
        return self.handle()
