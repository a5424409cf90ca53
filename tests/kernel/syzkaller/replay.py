#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""replay.py CORPUS DIR [--mount]: plays programs of corpus.go, each in a process of its own.

DIR has the devices of the peer in fuzz/; those in binderfs/ are the program's own: with --mount,
each has a new binderfs there, and some are played at a time. An empty line is between two programs.
Their lines, whose numbers are hexadecimal:

    # TEXT              nothing
    @ADDRESS WORD...    memory: 00ff is two bytes, *8 eight zero bytes, "TEXT" its bytes, @40 the
                        address 40 in eight bytes, r2/4:1 result 2 in four (in 14: its digits), or 1
                        if there is none
    r2 < ADDRESS SIZE   result 2 is what is there when the next call is over
    [r1 =] CALL WORD... a system call, with numbers, addresses and results (r2:1)

A call that sleeps after CALL_S goes on beside the ones that follow.
"""
import ctypes
import fcntl
import os
import pathlib
import re
import signal
import struct
import sys
import threading
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from anybinder.process import (  # noqa: E402
    CLONE_NEWNS, LIBC, MS_PRIVATE, MS_REC, PR_SET_PDEATHSIG)

DATA, DATA_BYTES = 0x200000000000, 16 << 20
PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_FIXED_NOREPLACE = 3, 0x100022
CALL_S = 0.05
PROGRAM_S = 60
AT_A_TIME = 4
THREADS_MAX = 16
BINDER_CTL_ADD = 0xc1086201
# The numbers of x86-64.
CALLS = {
    "close": 3, "dup": 32, "epoll_create1": 291, "epoll_ctl": 233, "epoll_wait": 232,
    "getdents64": 217, "getpid": 39, "ioctl": 16, "madvise": 28, "mmap": 9, "mprotect": 10,
    "munmap": 11, "openat": 257, "pipe2": 293, "pread64": 17, "read": 0, "renameat": 264,
    "unlinkat": 263,
}
RESULT = re.compile(r"r([0-9a-f]+)(?:/([0-9a-f]+))?:([0-9a-f]+)")
LIBC.syscall.restype = ctypes.c_long


class Vector(ctypes.Structure):
    """struct iovec"""
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def access_memory(function, address, data):
    """By a system call: the memory may be gone, or be a buffer of the driver."""
    here, there = Vector(ctypes.addressof(data), len(data)), Vector(address, len(data))
    function(os.getpid(), ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there),
             ctypes.c_ulong(1), ctypes.c_ulong(0))


def is_asleep(thread):
    stat = pathlib.Path(f"/proc/self/task/{thread.native_id}/stat").read_text(encoding="utf-8")
    return stat.rpartition(")")[2].split()[0] == "S"


class Caller(threading.Thread):
    """Makes one call after the other."""

    def __init__(self):
        super().__init__(daemon=True)
        self.begin, self.ended = threading.Semaphore(0), threading.Semaphore(0)
        self.busy, self.call = False, None
        self.start()

    def run(self):
        while self.begin.acquire():
            self.call()
            self.ended.release()

    def make(self, call):
        """Returns when the call is over, or sleeps. On a slow machine, it may take long without
        sleeping."""
        self.call, self.busy = call, True
        self.begin.release()
        while not self.ended.acquire(timeout=CALL_S):
            if is_asleep(self):
                self.busy = not self.ended.acquire(blocking=False)
                return
        self.busy = False

    def is_busy(self):
        self.busy = self.busy and not self.ended.acquire(blocking=False)
        return self.busy


class Program:
    """Results, threads, and where results are read when the next call is over."""

    def __init__(self):
        self.results, self.reads, self.callers = {}, [], []

    def value(self, word):
        if word[0] == "@":
            return DATA + int(word[1:], 16)
        if word[0] == "r":
            number, _, other = RESULT.fullmatch(word).groups()
            return self.results.get(number, int(other, 16))
        return int(word, 16)

    def bytes_of(self, word):
        """The bytes of a word of a memory line."""
        if word[0] == '"':
            return word.strip('"').encode()
        if word[0] == "*":
            return bytes(int(word[1:], 16))
        if word[0] not in "@r":
            return bytes.fromhex(word)
        size = int(RESULT.fullmatch(word)[2] or "8", 16) if word[0] == "r" else 8
        value = self.value(word)
        return b"%020d" % value if size == 20 else struct.pack("<Q", value)[:size]

    def write_memory(self, address, words):
        data = b"".join(map(self.bytes_of, words))
        access_memory(LIBC.process_vm_writev, DATA + int(address, 16),
                      ctypes.create_string_buffer(data, len(data)))

    def call(self, name, words, result):
        numbers = [ctypes.c_ulong(self.value(word)) for word in words + ["0"] * (6 - len(words))]
        reads, self.reads = self.reads, []

        def make():
            value = LIBC.syscall(ctypes.c_long(CALLS[name]), *numbers)
            if value == -1:
                return
            if result:
                self.results[result] = value % 2**64
            for number, address, size in reads:
                data = (ctypes.c_char * size)()
                access_memory(LIBC.process_vm_readv, address, data)
                self.results[number] = int.from_bytes(data.raw, "little")

        caller = next((each for each in self.callers if not each.is_busy()), None)
        if not caller and len(self.callers) < THREADS_MAX:
            caller = Caller()
            self.callers.append(caller)
        if caller:
            caller.make(make)

    def line(self, text):
        first, *words = text.split()
        if first == "#":
            return
        if first[0] == "@":
            self.write_memory(first[1:], words)
        elif words and words[0] == "<":
            self.reads.append((first[1:], DATA + int(words[1], 16), int(words[2], 16)))
        elif words and words[0] == "=":
            self.call(words[1], words[2:], first[1:])
        else:
            self.call(first, words, None)


def mount_own():
    assert not LIBC.unshare(CLONE_NEWNS)
    assert not LIBC.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    assert not LIBC.mount(b"binder", b"binderfs", b"binder", ctypes.c_ulong(0), None)


def add_devices():
    """Makes the devices again that a program before has removed."""
    control = os.open("binderfs/binder-control", os.O_RDONLY)
    for name in (b"binder", b"hwbinder", b"vndbinder"):
        try:
            fcntl.ioctl(control, BINDER_CTL_ADD, struct.pack("256sII", name, 0, 0))
        except FileExistsError:
            pass
    os.close(control)


def play(text, mounts):
    """In a process of its own."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    (mount_own if mounts else add_devices)()
    assert LIBC.mmap(DATA, DATA_BYTES, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_FIXED_NOREPLACE, -1,
                     0) == DATA
    program = Program()
    for line in text.splitlines():
        program.line(line)


def start(text, mounts):
    pid = os.fork()
    if pid:
        return pid
    status = 2
    try:
        play(text, mounts)
        status = 0
    except BaseException:    # pylint: disable=broad-exception-caught
        traceback.print_exc()
    finally:
        os._exit(status)    # whatever its threads wait for


def end_one(running):
    """Waits for a program, which is killed if it is too slow; returns whether it was played."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            running.remove(pid)
            return status == 0
        if not signal.sigtimedwait([signal.SIGCHLD], PROGRAM_S):
            for each in running:
                os.kill(each, signal.SIGKILL)


def main(corpus, directory, *options):
    mounts = options == ("--mount",)
    programs = pathlib.Path(corpus).read_text(encoding="ascii").strip("\n").split("\n\n")
    os.chdir(directory)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    running, played = set(), 0
    for text in programs:
        if len(running) == (AT_A_TIME if mounts else 1):
            played += end_one(running)
        running.add(start(text, mounts))
    while running:
        played += end_one(running)
    print(f"play: {len(programs)} programs, {len(programs) - played} of them not played to the end")
    return played != len(programs)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
