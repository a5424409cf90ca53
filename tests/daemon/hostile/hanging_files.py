# SPDX-License-Identifier: GPL-2.0
"""A file system that does not answer."""
import ctypes
import errno
import mmap
import os
import signal
import struct

from anybinder.process import LIBC

FLUSH, POLL, READ = 25, 40, 15


class HangingFiles:
    """A FUSE mount of one file, PATH/file, whose server never answers the requests @hanging.

    @content repeats in each page. @later: the requests are answered until hang() is called.
    @daemon_only: those of other processes are answered.
    """

    def __init__(self, path, hanging, content=bytes(4096), later=False, daemon_only=False):
        self.path = path
        self.shared = mmap.mmap(-1, 4096)    # hanging?, numbers of requests that hang
        self.shared[0] = not later
        self.file = os.path.join(path, "file")
        os.mkdir(path)
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
        if LIBC.mount(b"hanging", path.encode(), b"fuse", 6, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")
        self.pid = os.fork()
        if not self.pid:
            try:
                self._serve(fuse, hanging, content, daemon_only)
            finally:
                os._exit(0)
        os.close(fuse)

    def _serve(self, fuse, hanging, content, daemon_only):
        while True:
            try:
                request = os.read(fuse, 1 << 17)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            opcode, uid = struct.unpack_from("<4xI16xI", request)
            if opcode in hanging and self.shared[0] and not (daemon_only and uid):
                at = 8 if uid else 4
                struct.pack_into("<I", self.shared, at, 1 + struct.unpack_from("<I", self.shared,
                                                                               at)[0])
            elif opcode not in (2, 36, 42):    # FORGET and INTERRUPT have no answer
                answer_file_request(fuse, request, content)

    def hang(self):
        self.shared[0] = 1

    def hung(self):
        """How many requests of the daemon, which runs as root, do not get an answer."""
        return struct.unpack_from("<I", self.shared, 4)[0]

    def hung_of_users(self):
        return struct.unpack_from("<I", self.shared, 8)[0]

    def end(self):
        """The server dies: all requests end."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            LIBC.umount2(self.path.encode(), 2)
            self.pid = 0


def file_attributes(node):
    mode = {1: 0o040755, 2: 0o100777}[node]
    return struct.pack("<6Q10I", node, 1 << 20, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_file_request(fuse, request, content):
    opcode, unique, node = struct.unpack_from("<4xIQQ", request)
    out = b""
    if opcode == 26:
        out = struct.pack("<4I2H2I", 7, 31, 1 << 16, 0, 16, 12, 4096, 1).ljust(64, b"\0")
    elif opcode == 1:
        out = struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + file_attributes(2)
    elif opcode == 3:
        out = struct.pack("<Q2I", 60, 0, 0) + file_attributes(node)
    elif opcode in (14, 27):
        out = struct.pack("<Q2I", 0, 0, 0)
    elif opcode == READ:
        out = content * (struct.unpack_from("<I", request, 40 + 16)[0] // len(content))
    os.write(fuse, struct.pack("<IiQ", 16 + len(out), 0, unique) + out)
