# SPDX-License-Identifier: Apache-2.0
"""A raw client of android.os.IServiceManager, at each of its levels (see parcel).

The numbers are those of the releases: up to Android 10 the enum in IServiceManager.h, from 11 on
the order of declaration in IServiceManager.aidl of android-11.0.0_r1, 12.0.0_r1, 13.0.0_r1,
14.0.0_r1, 15.0.0_r6, 16.0.0_r1 and 17.0.0_r1. They are written down here once more, not taken from
the program.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .driver import Call, Content, Failed, Peer
from .parcel import NEWEST, OLD, Parcel, Reader

DESCRIPTOR = "android.os.IServiceManager"

A10 = {"get": 1, "check": 2, "add": 3, "list": 4}
A11 = {**A10, "watch": 5, "unwatch": 6, "declared": 7, "watch_clients": 8, "unregister": 9}
A12 = {**A11, "instances": 8, "updatable": 9, "watch_clients": 10, "unregister": 11, "debug": 12}
A13 = {**A12, "connection": 10, "watch_clients": 11, "unregister": 12, "debug": 13}
A14 = {**A13, "names": 10, "connection": 11, "watch_clients": 12, "unregister": 13, "debug": 14}
A15 = {"get": 1, "get2": 2, "check": 3, "add": 4, "list": 5, "watch": 6, "unwatch": 7,
       "declared": 8, "instances": 9, "updatable": 10, "names": 11, "connection": 12,
       "watch_clients": 13, "unregister": 14, "debug": 15}
A16 = {"get": 1, "get2": 2, "check": 3, "check2": 4, "add": 5, "list": 6, "watch": 7,
       "unwatch": 8, "declared": 9, "instances": 10, "updatable": 11, "names": 12,
       "connection": 13, "watch_clients": 14, "unregister": 15, "debug": 16, "access": 17}

CODES = {"28": A10, "29": A10, "30": A11, "31": A12, "33": A13, "34": A14, "35-r6": A15,
         "35-r20": A15, "36": A16}
LEVELS = list(CODES)
# Pointers of an object that is registered, and of a callback.
SERVICE, CALLBACK = 0x1000, 0x2000
# Statuses and exceptions of libbinder.
INVALID_OPERATION, PERMISSION_DENIED = -38, -1
BAD_TYPE, FDS_NOT_ALLOWED = -2147483647, -2147483641
NOT_ENOUGH_DATA, UNKNOWN_TRANSACTION = -61, -74
BAD_VALUE, UNEXPECTED_NULL = -22, -0x80000000 + 8
SECURITY, ILLEGAL_ARGUMENT, ILLEGAL_STATE, UNSUPPORTED_OPERATION = -1, -3, -5, -7


def read_service(reader: Reader, method: str) -> int | None:
    """The result of a lookup, by the method's type at the level of the reader."""
    if reader.is_old:
        return reader.handle() if len(reader.data) >= 24 else None
    assert reader.i32() == 0, "an exception"
    if method in ("get2", "check2") or (method == "check" and reader.level.startswith("35")):
        assert (reader.i32(), reader.i32()) == (1, 0), "not the first member of the union"
        if reader.level != "35-r6":
            assert reader.i32() == 1
            assert reader.i32() == len(reader.data) - reader.at + 4, "the size of the parcelable"
    return reader.handle()


def put_access(parcel: Parcel, name: str, permission: str = "find", sid: str = "u:r:app:s0",
               uid: int = 0) -> Parcel:
    """What checkServiceAccess takes: a parcelable that says who, a name, and what."""
    who = Parcel().string(sid).i32(os.getpid()).i32(uid).data
    return parcel.i32(1).i32(4 + len(who)).raw(who).string(name).string(permission)


class Client(Peer):
    """Calls the service manager; its objects take one-way calls, for next_received()."""

    def __init__(self, path: str | os.PathLike, level: str = NEWEST, word: bytes = b"SYST"):
        super().__init__(path)
        self.level = level
        self.word = word

    def incoming(self, call: Call) -> Any:
        """One-way calls are read as parcels; calls with a reply are for derived classes."""
        return Reader(call.data, self.level)

    def send_to_manager(self, code: int, content: Content) -> Reader:
        """Calls the service manager; returns the reply."""
        return Reader(self.release(self.transact(0, code, content)).data, self.level)

    def ask(self, method: str, fill: Callable[[Parcel], Any] = lambda parcel: parcel) -> Reader:
        """Calls a method by its name, with the arguments that @fill writes."""
        parcel = Parcel(self.level, DESCRIPTOR, self.word)
        fill(parcel)
        return self.send_to_manager(CODES[self.level][method], parcel)

    def done(self, method: str, fill: Callable[[Parcel], Any]) -> int:
        """A call without a result; returns its exception."""
        return self.ask(method, fill).i32()

    def add(self, name: str, pointer: int = SERVICE, priority: int = 8) -> int:
        return self.done("add", lambda p: p.string(name).binder(pointer).i32(0).i32(priority))

    def find(self, name: str, method: str = "check") -> int | None:
        """The handle of a service, which has a reference; None if there is none."""
        parcel = Parcel(self.level, DESCRIPTOR, self.word).string(name)
        reply = self.transact(0, CODES[self.level][method], parcel)
        self.release(reply, keep_handles=True)
        return read_service(Reader(reply.data, self.level), method)

    def watch_name(self, name: str, pointer: int = CALLBACK) -> int:
        """Registers a callback for registrations of a name."""
        return self.done("watch", lambda p: p.string(name).binder(pointer))

    def access(self, name: str, **asked: Any) -> int:
        """The exception with which access is refused, 0 if it is granted (see put_access)."""
        reply = self.ask("access", lambda p: put_access(p, name, **asked))
        exception = reply.i32()
        assert exception or reply.i32() == 1, "refused by a value"
        return exception

    def names(self) -> list[str | None]:
        """All services."""
        if self.level in OLD:
            found: list[str | None] = []
            while True:
                try:
                    found.append(self.ask("list", lambda p: p.i32(len(found)).i32(15)).string())
                except Failed:
                    return found
        reply = self.ask("list", lambda p: p.i32(15))
        assert reply.i32() == 0
        return [reply.string() for _ in range(reply.i32())]
