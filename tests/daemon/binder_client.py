# SPDX-License-Identifier: GPL-2.0
"""A minimal binder client for the tests of the daemon: raw ioctls through ctypes."""
import ctypes
import mmap
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
WRITE_READ = 0xC0306201
SET_CONTEXT_MGR = 0x40046207
THREAD_EXIT = 0x40046208
CTL_ADD = 0xC1086201
BC_TRANSACTION, BC_REPLY = 0x40406300, 0x40406301
BC_FREE_BUFFER, BC_ENTER_LOOPER = 0x40086303, 0x630C
BC_ACQUIRE, BC_REQUEST_DEATH_NOTIFICATION = 0x40046305, 0x400C630E
BR_DEAD_BINDER = 0x8008720F
BR_TRANSACTION, BR_REPLY = 0x80407202, 0x80407203
BR_FAILURES = {0x7205: "dead", 0x7211: "failed", 0x7212: "frozen"}
MAP_SIZE = (1 << 20) - 8192
TRANSACTION = struct.Struct("<QQIIiIQQQQ")


def ioctl(fd, number, argument):
    """ioctl(2), releasing the interpreter's lock; raises OSError."""
    if LIBC.ioctl(fd, ctypes.c_ulong(number), argument) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class Client:
    """One open of a device, with its buffer mapped."""
    retries = False    # whether an interrupted call is repeated

    def __init__(self, path, flags=0):
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags)
        self.map = mmap.mmap(self.fd, MAP_SIZE, mmap.MAP_PRIVATE, mmap.PROT_READ)
        self.base = self._find_base()
        self.write_read(b"", 64)    # the first call of a thread returns at once

    def _find_base(self):
        inode = os.fstat(self.fd).st_ino
        with open("/proc/self/maps", encoding="utf-8") as maps:
            for line in maps:
                fields = line.split()
                if int(fields[4]) == inode:
                    return int(fields[0].split("-")[0], 16)
        raise LookupError("the mapping is not there")

    def close(self):
        self.map.close()
        os.close(self.fd)

    def write_read(self, commands, room, read_at=None):
        """One BINDER_WRITE_READ. Returns the return codes read: [(code, argument bytes)]."""
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

    def data_of(self, transaction):
        """The payload of a transaction or reply that was read."""
        fields = TRANSACTION.unpack(transaction)
        at = fields[8] - self.base
        return self.map[at:at + fields[6]]

    def call(self, payload, offsets=(), flags=0):
        """Calls handle 0 and returns the reply's payload; raises RuntimeError."""
        keep = ctypes.create_string_buffer(payload, len(payload) or 1)
        keep_offsets = (ctypes.c_uint64 * len(offsets))(*offsets)
        commands = transaction(BC_TRANSACTION, keep, len(payload), keep_offsets, flags)
        while True:
            for code, argument in self.write_read(commands, 256):
                if code in BR_FAILURES:
                    raise RuntimeError(BR_FAILURES[code])
                if code == BR_REPLY:
                    data = self.data_of(argument)
                    self.write_read(free_buffer(argument), 0)
                    return data
            commands = b""

    def become_manager(self):
        ioctl(self.fd, SET_CONTEXT_MGR, ctypes.create_string_buffer(4))
        self.write_read(struct.pack("<I", BC_ENTER_LOOPER), 0)

    def serve(self, calls=-1):
        """Replies to that many calls (-1: no limit) with their own payload."""
        while calls:
            for code, argument in self.write_read(b"", 256):
                if code == BR_TRANSACTION:
                    data = self.data_of(argument)
                    keep = ctypes.create_string_buffer(data, len(data) or 1)
                    self.write_read(free_buffer(argument)
                                    + transaction(BC_REPLY, keep, len(data)), 256)
                    calls -= 1


def transaction(command, keep, size, offsets=None, flags=0):
    """To handle 0, or a reply, with code 1; `offsets`: an array of the positions of objects."""
    offsets_size = ctypes.sizeof(offsets) if offsets else 0
    offsets_at = ctypes.addressof(offsets) if offsets_size else 0
    return struct.pack("<I", command) + TRANSACTION.pack(
        0, 0, 1, flags, 0, 0, size, offsets_size, ctypes.addressof(keep), offsets_at)


def free_buffer(argument):
    return struct.pack("<IQ", BC_FREE_BUFFER, TRANSACTION.unpack(argument)[8])


def watch_handle(handle):
    """Commands that take a reference to a handle and request its death notification."""
    return (struct.pack("<II", BC_ACQUIRE, handle)
            + struct.pack("<IIQ", BC_REQUEST_DEATH_NOTIFICATION, handle, 1))


def parse(stream):
    """Splits a read buffer; the size of each argument is encoded in its return code."""
    codes = []
    while stream:
        code = struct.unpack_from("<I", stream)[0]
        size = (code >> 16) & 0x3FFF
        codes.append((code, stream[4:4 + size]))
        stream = stream[4 + size:]
    return codes


class Trap:
    """A page whose first access blocks until the trap is closed (userfaultfd)."""

    def __init__(self):
        self.fd = LIBC.syscall(323, os.O_CLOEXEC)
        if self.fd < 0:
            raise PermissionError("no userfaultfd")
        self.page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        hold = ctypes.c_char.from_buffer(self.page)
        self.address = ctypes.addressof(hold)
        del hold
        ioctl(self.fd, 0xC018AA3F, ctypes.create_string_buffer(struct.pack("<3Q", 0xAA, 0, 0)))
        ioctl(self.fd, 0xC020AA00, ctypes.create_string_buffer(
            struct.pack("<4Q", self.address, 4096, 1, 0)))
