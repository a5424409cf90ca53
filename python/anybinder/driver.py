# SPDX-License-Identifier: Apache-2.0
"""Raw clients of a Binder device: ioctls through ctypes, and the one encoder of commands.

The driver is spoken to in its own words (linux/android/binder.h): commands BC_* are written, return
codes BR_* are read, and what they carry lies in a buffer that the driver maps into the client.
"""
from __future__ import annotations

import collections
import ctypes
import dataclasses
import mmap
import os
import select
import struct
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .process import LIBC, PATIENCE_S

WRITE_READ = 0xC0306201
SET_CONTEXT_MGR, SET_CONTEXT_MGR_EXT = 0x40046207, 0x4018620D
THREAD_EXIT = 0x40046208
FREEZE = 0x400C620E
CTL_ADD = 0xC1086201

BC_TRANSACTION, BC_REPLY = 0x40406300, 0x40406301
BC_TRANSACTION_SG, BC_REPLY_SG = 0x40486311, 0x40486312
BC_FREE_BUFFER, BC_ENTER_LOOPER = 0x40086303, 0x630C
BC_ACQUIRE, BC_RELEASE, BC_REQUEST_DEATH_NOTIFICATION = 0x40046305, 0x40046306, 0x400C630E

BR_TRANSACTION, BR_REPLY, BR_TRANSACTION_COMPLETE = 0x80407202, 0x80407203, 0x7206
BR_DEAD_BINDER, BR_NOOP = 0x8008720F, 0x720C
BR_INCREFS, BR_ACQUIRE = 0x80107207, 0x80107208
BR_FAILURES = {0x7205: "dead", 0x7211: "failed", 0x7212: "frozen"}
# What the driver is answered when it takes a reference to an object.
DONE = {BR_INCREFS: 0x40106308, BR_ACQUIRE: 0x40106309}

TF_ONE_WAY, TF_STATUS_CODE, TF_ACCEPT_FDS, TF_CLEAR_BUF = 1, 8, 0x10, 0x20
BINDER, HANDLE, FILE, BUFFER = 0x73622A85, 0x73682A85, 0x66642A85, 0x70742A85
ACCEPTS_FDS = 0x100    # of an object: calls to it may carry descriptors
OBJECT = struct.Struct("<IIQQ")    # flat_binder_object, binder_fd_object
# Of libbinder: every object answers these.
PING, INTERFACE, DUMP, SHELL = struct.unpack(">4I", b"_PNG_NTF_DMP_CMD")

MAP_SIZE = (1 << 20) - 8192
READ_SIZE = 4096
TRANSACTION = struct.Struct("<QQIIiIQQQQ")
EMPTY = b""


class Failed(Exception):
    """A transaction failed. Its argument is the status that was returned, or "dead", "failed" or
    "frozen". A handler that raises it with a status replies with that."""


class Transaction(NamedTuple):
    """struct binder_transaction_data."""
    target: int
    cookie: int
    code: int
    flags: int
    sender_pid: int
    sender_euid: int
    data_size: int
    offsets_size: int
    data_at: int
    offsets_at: int

    @classmethod
    def of(cls, argument: bytes) -> "Transaction":
        return cls(*TRANSACTION.unpack(argument[:TRANSACTION.size]))


class Content(Protocol):
    """What a transaction carries: see parcel.Parcel, hidl.Parcel and Bytes."""
    data: bytes
    offsets: Sequence[int]


@dataclasses.dataclass
class Bytes:
    """The content of a transaction as plain bytes, and the positions of the objects in them."""
    data: bytes = b""
    offsets: Sequence[int] = ()


@dataclasses.dataclass
class Call:
    """A call that came, or a reply: what it carries is copied out of the buffer."""
    client: "Client"
    argument: bytes
    head: Transaction
    data: bytes
    offsets: tuple[int, ...]

    @property
    def code(self) -> int:
        return self.head.code

    @property
    def is_oneway(self) -> bool:
        return bool(self.head.flags & TF_ONE_WAY)

    @property
    def is_status(self) -> bool:
        return bool(self.head.flags & TF_STATUS_CODE)


def ioctl(fd: int, number: int, argument: Any) -> None:
    """ioctl(2), releasing the interpreter's lock; raises OSError."""
    if LIBC.ioctl(fd, ctypes.c_ulong(number), argument) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def address_of(memory: Any) -> int:
    """Where an object with the buffer protocol is in memory. ctypes has this for writable ones."""
    view = (ctypes.c_void_p * 10)()    # a Py_buffer, which begins with the address
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(memory), view, 0)
    address = view[0]
    ctypes.pythonapi.PyBuffer_Release(view)
    return address


# ---- the encoder -------------------------------------------------------------------------------

def encode(command: int, content: Content, target: int = 0, code: int = 0,
           flags: int = 0) -> tuple[bytes, list[Any]]:
    """The bytes of BC_TRANSACTION or BC_REPLY, and what they point to, which has to be kept until
    they are written. Content with buffers (HIDL's) is sent by the _SG command of the same name."""
    data, keep = bytearray(content.data), []
    buffers = getattr(content, "buffers", ())
    for at, part in buffers:
        keep.append(ctypes.create_string_buffer(part, len(part) or 1))
        if at + 16 <= len(data):
            struct.pack_into("<Q", data, at + 8, ctypes.addressof(keep[-1]))
    offsets = struct.pack(f"<{len(content.offsets)}Q", *content.offsets)
    kept = [ctypes.create_string_buffer(bytes(part), len(part) or 1) for part in (data, offsets)]
    body = TRANSACTION.pack(target, 0, code, flags, 0, 0, len(data), len(offsets),
                            *map(ctypes.addressof, kept))
    if hasattr(content, "buffers"):
        command = {BC_TRANSACTION: BC_TRANSACTION_SG, BC_REPLY: BC_REPLY_SG}[command]
        body += struct.pack("<Q", sum((len(part) + 7) & ~7 for _, part in buffers))
    return struct.pack("<I", command) + body, keep + kept


def free_buffer(argument: bytes) -> bytes:
    """BC_FREE_BUFFER of a transaction or reply that was read."""
    return struct.pack("<IQ", BC_FREE_BUFFER, Transaction.of(argument).data_at)


def acquire(handle: int) -> bytes:
    return struct.pack("<II", BC_ACQUIRE, handle)


def watch_handle(handle: int) -> bytes:
    """Commands that take a reference to a handle and request its death notification, whose cookie
    is 1."""
    return (acquire(handle)
            + struct.pack("<IIQ", BC_REQUEST_DEATH_NOTIFICATION, handle, 1))


def parse(stream: bytes) -> list[tuple[int, bytes]]:
    """Splits a read buffer; the size of each argument is encoded in its return code."""
    codes = []
    while stream:
        code = struct.unpack_from("<I", stream)[0]
        size = (code >> 16) & 0x3FFF
        codes.append((code, stream[4:4 + size]))
        stream = stream[4 + size:]
    return codes


# ---- clients -----------------------------------------------------------------------------------

class Client:
    """One open of a device, with its buffer mapped."""
    retries = False    # whether an interrupted call is repeated

    def __init__(self, path: str | os.PathLike, flags: int = 0):
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags)
        self.map = mmap.mmap(self.fd, MAP_SIZE, mmap.MAP_PRIVATE, mmap.PROT_READ)
        self.base = address_of(self.map)
        self.write_read(b"", 64)    # the first call of a thread returns at once

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self.map.close()
        os.close(self.fd)

    def write_read(self, commands: bytes, room: int,
                   read_at: int | None = None) -> list[tuple[int, bytes]]:
        """One BINDER_WRITE_READ. Returns the return codes read: [(code, argument bytes)].

        room: the size of the read buffer in bytes; with 0 nothing is read
        read_at: the address of the read buffer, if it is not one of this function
        """
        out = ctypes.create_string_buffer(commands, len(commands) or 1)
        into = ctypes.create_string_buffer(room or 1)
        arg = ctypes.create_string_buffer(struct.pack(
            "<6Q", len(commands), 0, ctypes.addressof(out), room, 0,
            read_at or ctypes.addressof(into)))
        while True:
            try:
                ioctl(self.fd, WRITE_READ, arg)
                break
            except InterruptedError:
                # As libbinder does: the argument says what was written already.
                if not self.retries:
                    raise
        return parse(into.raw[:struct.unpack("<6Q", arg.raw[:48])[4]])

    def write_at(self, address: int, size: int = 64) -> int:
        """Writes commands that lie at an address. Returns how many bytes were consumed."""
        arg = ctypes.create_string_buffer(struct.pack("<6Q", size, 0, address, 0, 0, 0))
        ioctl(self.fd, WRITE_READ, arg)
        return struct.unpack_from("<6Q", arg.raw)[1]

    def data_of(self, argument: bytes) -> bytes:
        """The payload of a transaction or reply that was read."""
        head = Transaction.of(argument)
        at = head.data_at - self.base
        return self.map[at:at + head.data_size]

    def offsets_of(self, argument: bytes) -> tuple[int, ...]:
        """The positions of the objects in it."""
        head = Transaction.of(argument)
        at = head.offsets_at - self.base
        return struct.unpack(f"<{head.offsets_size // 8}Q",
                             self.map[at:at + head.offsets_size // 8 * 8])

    def call(self, payload: bytes, offsets: Sequence[int] = (), flags: int = 0) -> bytes:
        """Calls handle 0 and returns the reply's payload; raises RuntimeError."""
        commands, keep = encode(BC_TRANSACTION, Bytes(payload, offsets), 0, 1, flags)
        while True:
            for code, argument in self.write_read(commands, 256):
                if code in BR_FAILURES:
                    raise RuntimeError(BR_FAILURES[code])
                if code == BR_REPLY:
                    data = self.data_of(argument)
                    self.write_read(free_buffer(argument), 0)
                    return data
            commands = b""
            del keep[:]

    def become_manager(self, flags: int = 0) -> None:
        """Manages the device.

        flags: of its object, as ACCEPTS_FDS
        """
        if flags:
            ioctl(self.fd, SET_CONTEXT_MGR_EXT,
                  ctypes.create_string_buffer(OBJECT.pack(BINDER, flags, 0, 0)))
        else:
            ioctl(self.fd, SET_CONTEXT_MGR, ctypes.create_string_buffer(4))
        self.enter_looper()

    def enter_looper(self) -> None:
        self.write_read(struct.pack("<I", BC_ENTER_LOOPER), 0)

    def freeze(self, pid: int, timeout_ms: int = 100, on: bool = True) -> None:
        """Freezes a process, as Android's system server does those of apps in the background."""
        ioctl(self.fd, FREEZE, ctypes.create_string_buffer(struct.pack("<3I", pid, on, timeout_ms)))

    def serve(self, calls: int = -1) -> None:
        """Replies to that many calls (-1: no limit) with their own payload."""
        while calls:
            for code, argument in self.write_read(b"", 256):
                if code == BR_TRANSACTION:
                    reply, _keep = encode(BC_REPLY, Bytes(self.data_of(argument)), code=1)
                    self.write_read(free_buffer(argument) + reply, 256)
                    calls -= 1


class Peer(Client):
    """A client with one thread that also serves objects, whenever it reads from the driver."""
    retries = True

    def __init__(self, path: str | os.PathLike):
        super().__init__(path)
        self.received: list[Any] = []    # what incoming() returned for one-way calls
        self.dead: list[int] = []    # the cookies of the death notifications that came
        self._codes: collections.deque[tuple[int, bytes]] = collections.deque()
        self._sent = 0    # transactions and replies whose BR_TRANSACTION_COMPLETE is due
        self.enter_looper()

    def incoming(self, call: Call) -> Any:
        """Takes a call. Returns the Content of the reply, or raises Failed with a status; for a
        one-way call, what next_received() returns."""
        raise NotImplementedError

    def send(self, command: int, content: Content, target: int = 0, code: int = 0,
             flags: int = 0, then: bytes = b"") -> None:
        """Writes a transaction or a reply, and the commands @then."""
        commands, _keep = encode(command, content, target, code, flags)
        self._sent += 1
        self.write_read(commands + then, 0)

    def handle(self) -> tuple[int, bytes]:
        """Reads one return code and does what it asks for; returns it."""
        while not self._codes:
            self._codes.extend(self.write_read(b"", READ_SIZE))
        code, argument = self._codes.popleft()
        if code in DONE:
            self.write_read(struct.pack("<I", DONE[code]) + argument, 0)
        elif code == BR_DEAD_BINDER:
            self.dead.append(struct.unpack("<Q", argument)[0])
        elif code == BR_TRANSACTION:
            self._serve(self.call_of(argument))
        elif code == BR_TRANSACTION_COMPLETE or code in BR_FAILURES:
            self._sent = max(0, self._sent - 1)
        return code, argument

    def call_of(self, argument: bytes) -> Call:
        return Call(self, argument, Transaction.of(argument), self.data_of(argument),
                    self.offsets_of(argument))

    def _serve(self, call: Call) -> None:
        flags, reply = 0, None
        try:
            reply = self.incoming(call)
        except Failed as failed:
            reply, flags = Bytes(struct.pack("<i", failed.args[0])), TF_STATUS_CODE
        if call.is_oneway:
            self.received.append(reply)
            self.write_read(free_buffer(call.argument), 0)
        else:
            # Its buffer holds the handles of a call, which may be in the reply.
            self.send(BC_REPLY, reply or Bytes(), flags=flags, then=free_buffer(call.argument))

    def transact(self, target: int, code: int, content: Content = Bytes(),
                 flags: int = TF_ACCEPT_FDS) -> Call:
        """Calls an object, and serves own ones meanwhile. Returns the reply, whose buffer stays
        until release(); a one-way call has none. Raises Failed."""
        self.send(BC_TRANSACTION, content, target, code, flags)
        while True:
            got, argument = self.handle()
            if got in BR_FAILURES:
                raise Failed(BR_FAILURES[got])
            if flags & TF_ONE_WAY and not self._sent:
                return Call(self, EMPTY, Transaction(*[0] * 10), EMPTY, ())
            if got == BR_REPLY:
                break
        reply = self.call_of(argument)
        if reply.is_status:
            self.release(reply)
            raise Failed(struct.unpack("<i", reply.data)[0])
        return reply

    def release(self, reply: Call, keep_handles: bool = False) -> Call:
        """Frees the buffer of a reply, and returns it.

        keep_handles: the handles in it get a reference first
        """
        if keep_handles:
            for at in reply.offsets:
                kind, _, handle = struct.unpack_from("<IIQ", reply.data, at)
                if kind == HANDLE:
                    self.write_read(acquire(handle), 0)
        if reply.argument:
            self.write_read(free_buffer(reply.argument), 0)
        return reply

    def watch(self, handle: int) -> None:
        """Requests a death notification, see @dead; its cookie is the handle."""
        self.write_read(acquire(handle) + struct.pack(
            "<IIQ", BC_REQUEST_DEATH_NOTIFICATION, handle, handle), 0)

    def _wait(self, is_there: Any, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not is_there():
            left = end - time.monotonic()
            if left <= 0:
                return False
            if self._codes or select.select([self.fd], [], [], left)[0]:
                self.handle()
        return True

    def wait_death(self, seconds: float = PATIENCE_S) -> bool:
        """Whether a death notification is there, or comes in time."""
        return self._wait(lambda: self.dead, seconds)

    def next_received(self, seconds: float = PATIENCE_S) -> Any:
        """The next one-way call to an object of this process, None if there is none in time."""
        return self.received.pop(0) if self._wait(lambda: self.received, seconds) else None

    def serve_until_killed(self) -> None:
        while True:
            self.handle()


class Trap:
    """Pages whose first access blocks until the trap is closed or somebody answers the fault
    (userfaultfd)."""

    def __init__(self, pages: int = 1) -> None:
        self.fd = LIBC.syscall(323, os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise PermissionError("no userfaultfd")
        self.memory = mmap.mmap(-1, pages * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        hold = ctypes.c_char.from_buffer(self.memory)
        self.address = ctypes.addressof(hold)
        del hold
        ioctl(self.fd, 0xC018AA3F, ctypes.create_string_buffer(struct.pack("<3Q", 0xAA, 0, 0)))
        ioctl(self.fd, 0xC020AA00, ctypes.create_string_buffer(
            struct.pack("<4Q", self.address, len(self.memory), 1, 0)))
