# SPDX-License-Identifier: GPL-2.0
"""Raw binder clients and an echo service, for the tests of links."""
import ctypes
import os
import pathlib
import select
import struct
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "tests/daemon"), str(TOP / "tests/tools/servicemanager")]
import binder_client as raw    # pylint: disable=wrong-import-position
from parcels import CODES, HANDLE, BINDER, Parcel, Reply    # pylint: disable=wrong-import-position

LEVEL = "36"
INTERFACE = "anybinder.test.IEcho"
CALLBACK = "anybinder.test.ICallback"
TF_ONE_WAY, TF_STATUS_CODE, TF_ACCEPT_FDS = 1, 8, 0x10
BR_DONE = {0x80107207: 0x40106308, 0x80107208: 0x40106309}
INTERFACE_TRANSACTION, PING_TRANSACTION = struct.unpack(">2I", b"_NTF_PNG")
FD = 0x66642A85
ECHO, CALL_BACK, SLEEP, BYTES, COUNT, COUNTED, OPEN = range(1, 8)


class Failed(Exception):
    """The transaction failed; its argument is the status, or what the driver returned."""


def header(descriptor, level=LEVEL):
    return Parcel(level, descriptor).data


def binder(pointer):
    return struct.pack("<IIQQ", BINDER, 0x100, pointer, pointer) + struct.pack("<I", 0x0C)


class Peer(raw.Client):
    """A process that calls, and serves its own objects while it waits."""

    def __init__(self, path, level=LEVEL):
        super().__init__(path)
        self.level = level
        self.dead = []
        self.count = 0
        self.write_read(struct.pack("<I", raw.BC_ENTER_LOOPER), 0)

    def offsets_of(self, argument):
        fields = raw.TRANSACTION.unpack(argument)
        at = fields[9] - self.base
        return struct.unpack(f"<{fields[7] // 8}Q", self.map[at:at + fields[7]])

    def send(self, command, target, code, data, offsets, flags):
        """Writes a call or a reply; returns what was read."""
        kept = ctypes.create_string_buffer(data, len(data) or 1)
        table = struct.pack(f"<{len(offsets)}Q", *offsets)
        kept_table = ctypes.create_string_buffer(table, len(table) or 1)
        return self.write_read(struct.pack("<I", command) + raw.TRANSACTION.pack(
            target, 0, code, flags, 0, 0, len(data), len(table), ctypes.addressof(kept),
            ctypes.addressof(kept_table)), 4096)

    def handle(self, codes):
        """Serves what is among the codes; returns the answer to a call of ours, if it is there."""
        answer = None
        for code, argument in codes:
            if code in BR_DONE:
                self.write_read(struct.pack("<I", BR_DONE[code]) + argument, 0)
            elif code == raw.BR_DEAD_BINDER:
                self.dead.append(struct.unpack("<Q", argument)[0])
            elif code == raw.BR_TRANSACTION:
                self.serve_one(argument)
            elif code in raw.BR_FAILURES:
                raise Failed(raw.BR_FAILURES[code])
            elif code == raw.BR_REPLY:
                answer = argument
            elif code == 0x7206 and answer is None:    # BR_TRANSACTION_COMPLETE
                self.completed = True
        return answer

    def transact(self, target, code, data, offsets=(), flags=TF_ACCEPT_FDS):
        """Returns the data and the offsets of the reply; its handles are kept."""
        self.completed = False
        codes = self.send(raw.BC_TRANSACTION, target, code, data, offsets, flags)
        while True:
            answer = self.handle(codes)
            if flags & TF_ONE_WAY and self.completed:
                return b"", ()
            if answer is not None:
                break
            codes = self.write_read(b"", 4096)
        reply, objects = self.data_of(answer), self.offsets_of(answer)
        for at in objects:
            kind, _, number, _ = struct.unpack_from("<IIQQ", reply, at)
            if kind == HANDLE:
                self.write_read(struct.pack("<II", raw.BC_ACQUIRE, number), 0)
        self.write_read(raw.free_buffer(answer), 0)
        if raw.TRANSACTION.unpack(answer)[3] & TF_STATUS_CODE:
            raise Failed(struct.unpack("<i", reply)[0])
        return reply, objects

    def find(self, name, method="get"):
        """The handle of a service, or None."""
        request = Parcel(LEVEL).string(name)
        reply, _ = self.transact(0, CODES[LEVEL][method], request.data)
        return Reply(LEVEL, reply).service(method)

    def union(self, name):
        """Which member of the union getService2 returns."""
        reply, _ = self.transact(0, CODES[LEVEL]["get2"], Parcel(LEVEL).string(name).data)
        return struct.unpack_from("<3i", reply)[2]

    def add(self, name, pointer=0x1000):
        request = Parcel(LEVEL).string(name).binder(pointer).int(0).int(8)
        reply, _ = self.transact(0, CODES[LEVEL]["add"], request.data, request.offsets)
        assert Reply(LEVEL, reply).int() == 0

    def call(self, target, code, arguments=b"", offsets=(), **options):
        start = header(INTERFACE, self.level)
        moved = [len(start) + at for at in offsets]
        return self.transact(target, code, start + arguments, moved, **options)

    def watch(self, target):
        self.write_read(raw.watch_handle(target), 0)

    def wait_death(self, seconds=30):
        until = time.monotonic() + seconds
        while not self.dead and time.monotonic() < until:
            if select.select([self.fd], [], [], 1)[0]:
                self.handle(self.write_read(b"", 4096))
        return bool(self.dead)

    def reply(self, data, offsets=(), flags=0):
        self.handle(self.send(raw.BC_REPLY, 0, 0, data, offsets, flags))

    def serve_one(self, argument):
        fields = raw.TRANSACTION.unpack(argument)
        data, objects = self.data_of(argument), self.offsets_of(argument)
        pointer, code, is_oneway = fields[0], fields[2], fields[3] & TF_ONE_WAY
        if code == INTERFACE_TRANSACTION:
            name = INTERFACE if pointer == 0x1000 else CALLBACK
            self.reply(Parcel("36", "").string(name).data)
        elif code == PING_TRANSACTION:
            self.reply(b"")
        elif pointer != 0x1000:
            start = header(CALLBACK, self.level)
            assert data.startswith(start), "a header of another Android release"
            self.reply(struct.pack("<i", 1000 + struct.unpack_from("<i", data, len(start))[0]))
        elif not is_oneway:
            assert data.startswith(header(INTERFACE, self.level)), "a header of another release"
            start = len(header(INTERFACE, self.level))
            self.echo(code, data[start:], [at - start for at in objects])
        else:
            self.count += 1
        self.write_read(raw.free_buffer(argument), 0)

    def echo(self, code, data, objects):
        """The methods of the service."""
        if code == ECHO:
            self.reply(data, objects)
        elif code in (SLEEP, BYTES) and len(data) != 4:
            self.reply(struct.pack("<i", -22), flags=TF_STATUS_CODE)
        elif code == CALL_BACK:
            kind, _, target = struct.unpack_from("<IIQ", data.ljust(16, b"\0"))
            if kind != HANDLE:
                self.reply(struct.pack("<i", -22), flags=TF_STATUS_CODE)
                return
            try:
                start = header(CALLBACK, self.level)
                answer, _ = self.transact(target, 1, start + struct.pack("<i", 42))
                self.reply(answer)
            except Failed:
                self.reply(struct.pack("<i", -38), flags=TF_STATUS_CODE)
        elif code == SLEEP:
            time.sleep(struct.unpack("<i", data)[0])
            self.reply(b"")
        elif code == BYTES:
            self.reply(bytes(max(0, min(struct.unpack("<i", data)[0], 2 << 20))))
        elif code == COUNTED:
            self.reply(struct.pack("<i", self.count))
        elif code == OPEN:
            file = os.open("/dev/null", os.O_RDONLY)
            self.reply(struct.pack("<IIQQ", FD, 0, file, 0), [0])
            os.close(file)
        else:
            self.reply(struct.pack("<i", -74), flags=TF_STATUS_CODE)


def serve(path, level, names):
    """Registers the echo service and serves it until it is killed."""
    peer = Peer(path, level)
    for name in names:
        peer.add(name)
    print("ready", flush=True)
    while True:
        peer.handle(peer.write_read(b"", 4096))


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3:])
