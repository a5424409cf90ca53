# SPDX-License-Identifier: GPL-2.0
"""An echo service and its client, of any Android release: one class, since a client serves its own
objects while it waits."""
import collections
import copy
import os
import struct
import threading
import time

from anybinder.driver import FILE, HANDLE, TF_ACCEPT_FDS, Bytes, Failed
from anybinder.parcel import NEWEST, Parcel, value_of
from anybinder.service import Server
from anybinder.servicemanager import CODES, DESCRIPTOR, INVALID_OPERATION, SERVICE

INTERFACE = "anybinder.test.IEcho"
CALLBACK = "anybinder.test.ICallback"
BAD_VALUE = -22
ECHO, CALL_BACK, SLEEP, BYTES, COUNT, COUNTED, OPEN = range(1, 8)
LARGEST = 2 << 20


def header(descriptor, level=NEWEST, word=b"SYST"):
    return Parcel(level, descriptor, word).data


def binder(pointer, level=NEWEST):
    """An object of the process that sends it."""
    return Parcel(level).binder(pointer).data


def number_of(data):
    """The number that is all of the arguments."""
    if len(data) != 4:
        raise Failed(BAD_VALUE)
    return struct.unpack("<i", data)[0]


class Peer(Server):
    """Calls echo services of a release, and is one. Its other objects are callbacks. It takes calls
    with the header word of its libbinder only."""

    def __init__(self, path, level=NEWEST, word=b"SYST"):
        super().__init__(path, INTERFACE, {
            ECHO: self.echo, CALL_BACK: self.call_back, BYTES: self.make_bytes, SLEEP: self.sleep,
            COUNTED: lambda call: struct.pack("<i", self.count), OPEN: self.open}, word=word)
        self.speak(level)
        self.count = 0    # one-way calls that came

    def speak(self, level):
        """Writes and reads the headers and objects of a release from now on; the lookup is not
        what is tested."""
        self.spoken = level
        self.header = header(INTERFACE, level, self.word)

    def interface_of(self, call):
        return INTERFACE if call.head.target == SERVICE else CALLBACK

    def answer(self, call):
        if call.head.target != SERVICE:
            start = header(CALLBACK, self.spoken, self.word)
            assert call.data.startswith(start), "a header of another Android release or libbinder"
            return Bytes(struct.pack("<i", 1000 + number_of(call.data[len(start):])))
        if call.is_oneway:
            self.count += 1
            return None
        return super().answer(call)

    # ---- the methods ----

    def echo(self, call):
        return Bytes(self.body(call), [at - len(self.header) for at in call.offsets])

    def call_back(self, call):
        kind, target = value_of(self.body(call).ljust(16, b"\0"))
        if kind != HANDLE:
            raise Failed(BAD_VALUE)
        arguments = header(CALLBACK, self.spoken, self.word) + struct.pack("<i", 42)
        try:
            return self.release(self.transact(target, 1, Bytes(arguments))).data
        except Failed:
            return INVALID_OPERATION

    def sleep(self, call):
        time.sleep(number_of(self.body(call)))
        return b""

    def make_bytes(self, call):
        return bytes(max(0, min(number_of(self.body(call)), LARGEST)))

    @staticmethod
    def open(call):
        del call
        return Bytes(struct.pack("<IIQQ", FILE, 0, os.open("/dev/null", os.O_RDONLY), 0), [0])

    def serve_in_threads(self, count):
        """Has so many threads more serve calls, each as this object does."""
        for _ in range(count):
            other = copy.copy(self)
            other._codes, other.answers = collections.deque(), {
                ECHO: other.echo, CALL_BACK: other.call_back, SLEEP: other.sleep}
            threading.Thread(target=other.serve_in_thread, daemon=True).start()

    def serve_in_thread(self):
        self.enter_looper()
        self.serve_until_killed()

    # ---- the client ----

    def call_raw(self, target, code, data, offsets=(), flags=TF_ACCEPT_FDS):
        """Returns the data of the reply, whose handles are kept, and where objects are in it."""
        reply = self.release(self.transact(target, code, Bytes(data, offsets), flags), True)
        return reply.data, reply.offsets

    def call(self, target, code, arguments=b"", offsets=(), **flags):
        """Calls a method of an echo service."""
        moved = [len(self.header) + at for at in offsets]
        return self.call_raw(target, code, self.header + arguments, moved, **flags)

    def union(self, name):
        """Which member of the union getService2 returns."""
        parcel = Parcel(NEWEST, DESCRIPTOR).string(name)
        data, _ = self.call_raw(0, CODES[NEWEST]["get2"], parcel.data)
        return struct.unpack_from("<3i", data)[2]
