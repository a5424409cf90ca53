# SPDX-License-Identifier: GPL-2.0
"""Stops servers of a daemon at the messages of a hand-over, and kills one of them there (ptrace).

The tracer is a process of its own. It follows the server, and all processes that the supervisor
starts, from system call to system call, so the programs are those that are shipped.
"""
import contextlib
import ctypes
import json
import os
import platform
import signal
import struct
from typing import NamedTuple

from anybinder.driver import LIBC

PTRACE_CONT, PTRACE_SYSCALL = 7, 24
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_SYSCALL_INFO = 0x4206, 0x4207, 0x420E
SYSGOOD, FORK, VFORK, CLONE, EXEC = 0x1, 0x2, 0x4, 0x8, 0x10
EVENT_EXEC = 4
WALL = 0x40000000
ENTRY, EXIT = 1, 2
# sendto(2), sendmsg(2), recvmsg(2)
SENDTO, SENDMSG, RECVMSG = {"aarch64": (206, 211, 212)}.get(platform.machine(), (44, 46, 47))

PEER_SIZE = 256    # struct peer_message
PEER = {1: "HELLO", 2: "STATE", 3: "FILES", 4: "READY", 5: "REFUSED", 6: "COMMIT"}
CONTROL_FD = 3    # server_msg.h
CONTROL = {2: "SERVES", 4: "GAVE"}
PATIENCE_S = 20


# The first server, its successor, and those that follow crashes.
SERVERS = "old", "new", "third", "fourth"


class Point(NamedTuple):
    """The process @at is about to send @kind, has sent it, or has received it: then @victim is
    killed, and @at goes on when it has ended. START: the program begins."""
    kind: str
    when: str    # before, sent, received
    at: str      # of SERVERS, as @victim
    victim: str


def ptrace(request, tid, address=0, data=0):
    if LIBC.ptrace(request, tid, address, data) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class Tracer:
    """@edits: {kind: (offset, bytes)}, what is written over a message before it is sent."""

    def __init__(self, supervisor, server, points, edits):
        self.supervisor = supervisor
        self.names = {server: "old"}
        self.points = list(points)
        self.edits = edits
        self.seen = []      # (name, kind, when)
        self.tasks = {}     # of each traced thread the process
        self.calls = {}     # of a thread in sendmsg or recvmsg: the address of its message
        self.held = []      # (thread, victim): goes on when that has ended
        self.waiting = []   # at the other side of a point's message, until that was met
        options = SYSGOOD | FORK | VFORK | CLONE | EXEC
        ptrace(PTRACE_SEIZE, supervisor, 0, options)
        self.tasks[supervisor] = supervisor
        for tid in map(int, os.listdir(f"/proc/{server}/task")):
            ptrace(PTRACE_SEIZE, tid, 0, options)
            self.tasks[tid] = server
            ptrace(PTRACE_INTERRUPT, tid)    # from now on its system calls are seen

    # ---- memory --------------------------------------------------------------------------------

    @staticmethod
    def read(tid, address, size):
        with open(f"/proc/{tid}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)

    def memory_of(self, tid, number, arguments):
        """Address and size of the memory of that system call's message."""
        if number == SENDTO:
            return arguments[1:]
        iov, count = struct.unpack("<QQ", self.read(tid, arguments[1] + 16, 16))
        return struct.unpack("<QQ", self.read(tid, iov, 16)) if count else (0, 0)

    def kind_of(self, tid, number, arguments):
        address, size = self.memory_of(tid, number, arguments)
        if size == PEER_SIZE and number != SENDTO:
            return PEER.get(struct.unpack("<I", self.read(tid, address, 4))[0])
        if number == SENDTO and arguments[0] == CONTROL_FD and size > 8:
            return CONTROL.get(struct.unpack("<II", self.read(tid, address, 8))[1])
        return None

    def edit(self, tid, number, arguments, kind):
        offset, data = self.edits[kind]
        address, _ = self.memory_of(tid, number, arguments)
        with open(f"/proc/{tid}/mem", "r+b", buffering=0) as memory:
            os.pwrite(memory.fileno(), data, address + offset)

    # ---- stops -----------------------------------------------------------------------------------

    def name_of(self, tid):
        return self.names.setdefault(self.tasks[tid], SERVERS[len(self.names) % len(SERVERS)])

    def is_message(self, tid, kind, when):
        """True: the thread does not go on now."""
        name = self.name_of(tid)
        self.seen.append((name, kind, when))
        if not self.points or self.points[0][:3] != (kind, when, name):
            if self.points and self.points[0].kind == kind and \
                    {when, self.points[0].when} == {"sent", "received"}:
                self.waiting.append(tid)
            return tid in self.waiting
        victim = self.points.pop(0).victim
        pid = next(pid for pid, called in self.names.items() if called == victim)
        with contextlib.suppress(ProcessLookupError):    # it has just ended
            os.kill(pid, signal.SIGKILL)
        threads, self.waiting = (tid, *self.waiting), []
        if pid in self.tasks.values():
            self.held += [(thread, pid) for thread in threads]
            return True
        for thread in threads[1:]:
            self.go_on(thread)
        return False

    def at_system_call(self, tid):
        """True: the thread does not go on now."""
        info = ctypes.create_string_buffer(88)
        ptrace(PTRACE_SYSCALL_INFO, tid, len(info), ctypes.addressof(info))
        if info.raw[0] == ENTRY:
            number, *arguments = struct.unpack_from("<QQQQ", info.raw, 24)
            if number not in (SENDTO, SENDMSG, RECVMSG):
                return False
            self.calls[tid] = number, arguments
            kind = None if number == RECVMSG else self.kind_of(tid, number, arguments)
            if kind in self.edits:
                self.edit(tid, number, arguments, kind)
            return bool(kind) and self.is_message(tid, kind, "before")
        number, arguments = self.calls.pop(tid, (0, ()))
        if not number or struct.unpack_from("<q", info.raw, 24)[0] <= 0:
            return False
        kind = self.kind_of(tid, number, arguments)
        return bool(kind) and self.is_message(tid, kind,
                                              "received" if number == RECVMSG else "sent")

    def at_stop(self, tid, status):
        if tid not in self.tasks:    # a new process or thread
            with open(f"/proc/{tid}/status", encoding="ascii") as file:
                self.tasks[tid] = next(int(line.split()[1]) for line in file
                                       if line.startswith("Tgid:"))
        event, sig = status >> 16, os.WSTOPSIG(status)
        held = False
        if event:
            held = event == EVENT_EXEC and self.is_message(tid, "START", "before")
            sig = 0
        elif sig == signal.SIGTRAP | 0x80:
            held = self.at_system_call(tid)
            sig = 0
        if not held:
            self.go_on(tid, sig)

    def go_on(self, tid, sig=0):
        ptrace(PTRACE_CONT if tid == self.supervisor else PTRACE_SYSCALL, tid, 0, sig)

    def at_end(self, tid):
        pid = self.tasks.pop(tid, None)
        if pid in self.tasks.values():
            return
        for held, victim in self.held:
            if victim == pid and held in self.tasks:
                with contextlib.suppress(ProcessLookupError):
                    self.go_on(held)
        self.held = [pair for pair in self.held if pair[1] != pid]

    def follow(self, until):
        """Until @until() says so, after all points were met and their victims have ended."""
        while self.points or self.held or not until(self):
            tid, status = os.waitpid(-1, WALL)
            if not os.WIFSTOPPED(status):
                self.at_end(tid)
                continue
            # killed meanwhile: its end is reported
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                self.at_stop(tid, status)


def has_served(tracer):
    """A server serves that is not the first; or it has told why it still does."""
    return any(when == "sent" and kind in CONTROL.values() for _, kind, when in tracer.seen)


class Traced:
    """In a `with`: the daemon's servers are traced; then they are told to hand over."""

    def __init__(self, daemon, server, points=(), edits=None):
        self.result, self.write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(self.write)
            assert os.read(self.result, 1) == b"r", "the servers cannot be traced"
            return
        status = 1
        try:
            # a file of the daemon that it has would be flushed as it ends, by servers that it stops
            os.closerange(3, self.write)
            os.closerange(self.write + 1, 1 << 16)
            signal.alarm(PATIENCE_S)
            tracer = Tracer(daemon.pid, server, points, edits or {})
            os.write(self.write, b"r")
            tracer.follow((lambda _: True) if points else has_served)
            os.write(self.write, json.dumps([tracer.seen, tracer.names]).encode())
            status = 0
        finally:
            os._exit(status)

    def end(self):
        """What was seen: [(process, kind, when)], and the servers: {name: pid}."""
        with open(self.result, "rb") as file:
            data = file.read()
        os.waitpid(self.pid, 0)
        assert data, "a message did not come, or the tracer has failed"
        seen, names = json.loads(data)
        return [tuple(entry) for entry in seen], {name: int(pid) for pid, name in names.items()}
