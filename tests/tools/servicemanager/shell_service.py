# SPDX-License-Identifier: GPL-2.0
"""A service with shell commands, by raw ioctls: no library for Linux serves them.

  shell_service.py DEVICE NAME

Commands: `echo WORDS`, `cat`, `fail CODE TEXT` (writes to the error output), `die`, `mute` (no
result), `flood` (output without end). A dump has no end either.
"""
import ctypes
import os
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "daemon"))
import binder_client as raw    # pylint: disable=wrong-import-position
from parcels import CODES, Parcel, Reply    # pylint: disable=wrong-import-position

LEVEL = "36"
TF_ONE_WAY, TF_STATUS_CODE = 1, 8
INTERFACE, SHELL, PING, DUMP = 0x5F4E5446, 0x5F434D44, 0x5F504E47, 0x5F444D50
OBJECT_SIZE = 24
BR_INCREFS, BR_ACQUIRE = 0x80107207, 0x80107208
DONE = {BR_INCREFS: 0x40106308, BR_ACQUIRE: 0x40106309}


class Service(raw.Client):
    """One object, registered by name."""

    def send(self, command, target, code, flags, parcel):
        """Sends a transaction and answers what the driver asks meanwhile."""
        data = ctypes.create_string_buffer(parcel.data, len(parcel.data) or 1)
        offsets = struct.pack(f"<{len(parcel.offsets)}Q", *parcel.offsets)
        kept = ctypes.create_string_buffer(offsets, len(offsets) or 1)
        return self.exchange(struct.pack("<I", command) + raw.TRANSACTION.pack(
            target, 0, code, flags, 0, 0, len(parcel.data), len(offsets),
            ctypes.addressof(data), ctypes.addressof(kept)))

    def exchange(self, commands):
        codes = self.write_read(commands, 4096)
        answers = b"".join(struct.pack("<I", DONE[code]) + argument
                           for code, argument in codes if code in DONE)
        if answers:
            self.write_read(answers, 0)
        return codes

    def register(self, name):
        parcel = Parcel(LEVEL).string(name).binder(0x1000).int(0).int(8)
        codes = self.send(raw.BC_TRANSACTION, 0, CODES[LEVEL]["add"], 0, parcel)
        while not any(code == raw.BR_REPLY for code, _ in codes):
            codes = self.exchange(b"")

    def serve(self, calls=-1):
        self.write_read(struct.pack("<I", raw.BC_ENTER_LOOPER), 0)
        while True:
            for code, argument in self.exchange(b""):
                if code == raw.BR_TRANSACTION:
                    self.handle(argument)

    def handle(self, argument):
        code = raw.TRANSACTION.unpack(argument)[2]
        data = self.data_of(argument)
        reply, flags = Parcel(LEVEL, None), 0
        if code == INTERFACE:
            reply.string("anybinder.test.IShell")
        elif code == SHELL:
            self.shell(data)
        elif code == DUMP:
            file, = struct.unpack_from("<I", data, 8)
            flood(file)
            os.close(file)
        elif code != PING:
            reply.int(-74)
            flags = TF_STATUS_CODE
        self.send(raw.BC_REPLY, 0, 0, flags, reply)
        self.write_read(raw.free_buffer(argument), 0)

    def shell(self, data):
        files = [struct.unpack_from("<I", data, OBJECT_SIZE * at + 8)[0] for at in range(3)]
        request = Reply(LEVEL, data)
        request.at = 3 * OBJECT_SIZE
        words = [request.string() for _ in range(request.int())]
        assert request.handle() is None, "a callback"
        receiver = request.handle()
        result = run(words, *files)
        for file in files:
            os.close(file)
        if result is not None:
            parcel = Parcel(LEVEL, "com.android.internal.os.IResultReceiver").int(result).int(-1)
            self.send(raw.BC_TRANSACTION, receiver, 1, TF_ONE_WAY, parcel)


def flood(file):
    """Writes until no one reads."""
    try:
        while os.write(file, b"x" * 65536):
            pass
    except BrokenPipeError:
        pass


def run(words, source, output, error):
    """The result of a command, None for no result."""
    if words[:1] == ["echo"]:
        os.write(output, (" ".join(words[1:]) + "\n").encode())
        return 0
    if words[:1] == ["cat"]:
        while chunk := os.read(source, 4096):
            os.write(output, chunk)
        return 0
    if words[:1] == ["fail"]:
        os.write(error, words[2].encode() + b"\n")
        return int(words[1])
    if words[:1] == ["flood"]:
        os.write(error, b"begun")
        flood(output)
    if words[:1] == ["die"]:
        os._exit(1)
    return None


def main():
    service = Service(sys.argv[1])
    service.register(sys.argv[2])
    service.serve()


if __name__ == "__main__":
    main()
