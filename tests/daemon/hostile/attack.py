# SPDX-License-Identifier: GPL-2.0
"""What the attacks share: users, a file system that does not answer, victims."""
import contextlib
import ctypes
import encodings.idna  # noqa: F401 (a user may have no access to the library later)
import errno
import mmap
import os
import select
import signal
import struct
import sys
import time

from anybinder import driver
from anybinder.driver import Client
from anybinder.process import LIBC, is_mounted, until

# Users without an account: nothing else runs as them.
ATTACKER, VICTIM, OTHER = 61011, 61012, 61013

# No victim's call may take longer. An honest load of the same size stays far below, but the machine
# may be busy; an attack that works stops the victim for good, or for as long as it lasts.
WORST_S = 2.5

FLUSH, POLL, READ = 25, 40, 15


def as_user(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


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
        options = f"fd={fuse},rootmode=40000,user_id={ATTACKER},group_id={ATTACKER},allow_other"
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


class Attackers:
    """Child processes that a file system may keep in the kernel until it is ended."""

    def __init__(self, files=None):
        self.files = files
        self.pids = []

    def __enter__(self):
        return self

    def add(self, function, *args, uid=ATTACKER):
        pid = os.fork()
        if not pid:
            try:
                if uid:
                    as_user(uid)
                function(*args)
            except BaseException as error:    # pylint: disable=broad-except
                if getattr(error, "errno", 0) not in (errno.ECONNABORTED, errno.ENOTCONN):
                    print(f"attacker: {type(error).__name__}: {error}", file=sys.stderr)
            finally:
                os._exit(0)
        self.pids.append(pid)
        return pid

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        if self.files:
            self.files.end()
        for pid in self.pids:
            os.waitpid(pid, 0)
        self.pids = []

    def __exit__(self, *_):
        self.end()


def wait_for(fd, size, seconds=20):
    """Reads what a child writes; it may have failed, and the parent has the other end too."""
    assert select.select([fd], [], [], seconds)[0], "a child did not respond"
    return os.read(fd, size)


def serve_calls(path, ready):
    """A context manager that answers every call with its own payload, for ever."""
    manager = Client(path)
    manager.become_manager(driver.ACCEPTS_FDS)
    os.write(ready, b"x")
    manager.serve()


class Victim:
    """A service and its clients, all of one honest user."""

    def __init__(self, daemon, uid=VICTIM):
        self.path = daemon.path("binder")
        self.uid = uid
        ready, notify = os.pipe()
        self.service = Attackers()
        self.service.add(serve_calls, self.path, notify, uid=uid)
        os.close(notify)
        assert wait_for(ready, 1) == b"x", "the victim's service did not start"
        os.close(ready)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.service.end()

    def calls(self, seconds):
        """Calls every 2 ms; returns the worst call in seconds, or fails if one never returned."""
        ready, notify = os.pipe()

        def call():
            client = Client(self.path)
            worst = 0.0
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                begin = time.monotonic()
                assert client.call(b"x" * 100) == b"x" * 100
                worst = max(worst, time.monotonic() - begin)
                time.sleep(0.002)
            os.write(notify, struct.pack("<d", worst))

        with Attackers() as attackers:
            attackers.add(call, uid=self.uid)
            os.close(notify)
            os.set_blocking(ready, False)
            end = time.monotonic() + seconds + 10
            got = b""
            while len(got) < 8 and time.monotonic() < end:
                with contextlib.suppress(BlockingIOError):
                    got += os.read(ready, 8)
                time.sleep(0.01)
            os.close(ready)
        assert len(got) == 8, "the victim's call did not return"
        return struct.unpack("<d", got)[0]

    def is_served(self, seconds=1.0):
        worst = self.calls(seconds)
        assert worst < WORST_S, f"a call of the victim took {worst:.2f} s"
        return worst


def file_objects(numbers):
    """Data and offsets of a transaction with these descriptors."""
    data = b"".join(driver.OBJECT.pack(driver.FILE, 0, number, 0) for number in numbers)
    return data, struct.pack(f"<{len(numbers)}Q", *range(0, 24 * len(numbers), 24))


def send_file(client, numbers, handle=0, one_way=False, room=256):
    """A call with these descriptors. Returns the return codes."""
    data, offsets = file_objects(numbers)
    keep = ctypes.create_string_buffer(data, len(data))
    keep_offsets = ctypes.create_string_buffer(offsets, len(offsets))
    commands = struct.pack("<I", driver.BC_TRANSACTION) + driver.TRANSACTION.pack(
        handle, 0, 1, 0x10 | one_way, 0, 0, len(data), len(offsets), ctypes.addressof(keep),
        ctypes.addressof(keep_offsets))
    return [code for code, _ in client.write_read(commands, room)]


def send_file_that_is_dropped(client, number):
    """The second descriptor does not exist: the driver takes the first and drops it again."""
    return send_file(client, [number, 999999])


def end_daemon(daemon, how, within_s=30.0):
    """The daemon must be gone, threads and all, and its mount with it or usable by the next."""
    os.kill(daemon.pid, how)
    end = time.monotonic() + within_s
    while not is_gone(daemon.pid):
        assert time.monotonic() < end, f"the daemon lives {within_s} s after signal {how}"
        time.sleep(0.01)
    until(lambda: not is_mounted(daemon.mnt))


def is_gone(pid):
    """Also of a zombie that has no thread left."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        return state == "X" or (state == "Z" and len(os.listdir(f"/proc/{pid}/task")) <= 1)
    except OSError:
        return True
