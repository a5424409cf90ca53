# SPDX-License-Identifier: GPL-2.0
"""The victims of the attacks: one that calls, one that gets files, one that waits for death
notifications, one that reads reports; and the server that the first two call.

A victim is a process of a user of its own. It does its one thing at intervals, from before an
attack until after it, and measures how long each takes.
"""
import contextlib
import math
import mmap
import os
import select
import signal
import struct
import time

from anybinder import driver
from anybinder.driver import (
    ACCEPTS_FDS, BC_REPLY, BC_TRANSACTION, BR_DEAD_BINDER, BR_REPLY, BR_TRANSACTION, FILE, OBJECT,
    TF_ACCEPT_FDS, Bytes, Client)

BC_DEAD_BINDER_DONE = 0x40086310
FILE_REQUEST = b"a file, please"

# How long an answer may take before the victim counts as stopped.
STOPPED_S = 30


def serve(ready, path):
    """Context manager of the device. Replies to a call with its payload, or with a file."""
    manager = Client(path)
    manager.become_manager(ACCEPTS_FDS)
    with open(os.devnull, "rb") as file:
        ready()
        while True:
            for code, argument in manager.write_read(b"", 256):
                if code == BR_TRANSACTION:
                    answer(manager, argument, file.fileno())


def answer(manager, argument, fd):
    content = Bytes(manager.data_of(argument))
    if content.data == FILE_REQUEST:
        content = Bytes(OBJECT.pack(FILE, 0, fd, 0), [0])
    reply, _keep = driver.encode(BC_REPLY, content, code=1)
    manager.write_read(driver.free_buffer(argument) + reply, 256)


def calls(path):
    client = Client(path)
    return lambda: client.call(b"hello")


def files(path):
    """Gets a file in a reply."""
    client = Client(path)

    def get():
        commands, _keep = driver.encode(BC_TRANSACTION, Bytes(FILE_REQUEST), code=1,
                                        flags=TF_ACCEPT_FDS)
        while True:
            for code, argument in client.write_read(commands, 256):
                if code in driver.BR_FAILURES:
                    raise RuntimeError(driver.BR_FAILURES[code])
                if code == BR_REPLY:
                    fd = OBJECT.unpack_from(client.data_of(argument))[2]
                    assert os.fstat(fd).st_rdev == os.stat(os.devnull).st_rdev, "another file"
                    os.close(fd)
                    client.write_read(driver.free_buffer(argument), 0)
                    return
            commands = b""

    return get


def deaths(path):
    """The death notification of a context manager of another device, made for the purpose. The time
    that making it takes counts too: it consists of opens."""
    device = os.path.join(os.path.dirname(path), "vndbinder")

    def die():
        with contextlib.closing(Client(device)) as client:
            with contextlib.closing(Client(device)) as manager:
                manager.become_manager()
                client.write_read(driver.watch_handle(0), 0)
            while BR_DEAD_BINDER not in [code for code, _ in client.write_read(b"", 256)]:
                pass
            client.write_read(struct.pack("<IQ", BC_DEAD_BINDER_DONE, 1), 0)

    return die


def reports(path):
    """What the driver says about this process."""
    Client.kept = Client(path)
    report = os.path.join(os.path.dirname(path), "binder_logs/proc", str(os.getpid()))

    def read():
        with open(report, "rb") as file:
            assert b"proc %d" % os.getpid() in file.read()

    return read


# Each with the interval in s.
KINDS = {"calls": (calls, 0.002), "files": (files, 0.02), "deaths": (deaths, 0.05),
         "reports": (reports, 0.02)}


class Result:
    """How long each thing took, in ms, sorted; how many failed; whether the last never ended."""

    def __init__(self, seconds=(), failed=0, stopped=False):
        self.ms = sorted(1000 * s for s in seconds)
        self.failed = failed
        self.stopped = stopped

    def quantile(self, part):
        return self.ms[max(0, math.ceil(part * len(self.ms)) - 1)]

    @property
    def worst(self):
        return self.ms[-1]

    def as_json(self):
        return {"count": len(self.ms), "failed": self.failed, "stopped": self.stopped,
                "p50_ms": self.quantile(.5), "p99_ms": self.quantile(.99), "worst_ms": self.worst}

    def __str__(self):
        return (f"{len(self.ms)} times, p50 {self.quantile(.5):.2f}, p99 {self.quantile(.99):.2f}, "
                f"worst {self.worst:.2f} ms" + (f", {self.failed} failed" if self.failed else "")
                + (", then stopped" if self.stopped else ""))


def work(ready, kind, path, stop, output, begun):
    """The process of a victim: does its thing until @stop is closed at the other end. The time when
    the present one began is in @begun; 0: none."""
    function, period = KINDS[kind]
    do = function(path)
    do()
    ready()
    with os.fdopen(output, "wb") as file:
        while not select.select([stop], [], [], period)[0]:
            begin = time.monotonic()
            begun[:8] = struct.pack("d", begin)
            try:
                do()
                sign = 1
            except (OSError, RuntimeError):
                sign = -1
            file.write(struct.pack("d", sign * (time.monotonic() - begin)))
            begun[:8] = bytes(8)


class Victim:
    """One of KINDS, at work while the block runs. @run_as(function, *args) is a context manager
    that runs function(ready, *args) in a process of the victim's user and yields its pid."""

    def __init__(self, path, run_as, kind="calls"):
        self.path = path
        self.kind = kind
        self.run_as = run_as
        self.begun = mmap.mmap(-1, 8)
        self.seen = None    # the Result, after the block

    def __enter__(self):
        self.output, output = os.pipe()
        stop, self.stop = os.pipe()

        def begin(ready):
            os.close(self.stop)
            os.close(self.output)
            work(ready, self.kind, self.path, stop, output, self.begun)

        self.process = self.run_as(begin)
        self.pid = self.process.__enter__()
        os.close(output)
        os.close(stop)
        return self

    def _read(self):
        """All that the process wrote, and whether it ended."""
        text = b""
        end = time.monotonic() + STOPPED_S
        while select.select([self.output], [], [], max(0, end - time.monotonic()))[0]:
            more = os.read(self.output, 1 << 16)
            if not more:
                return text, True
            text += more
        return text, False

    def __exit__(self, *error):
        os.close(self.stop)
        text, ended = self._read()
        times = [s for (s,) in struct.iter_unpack("d", text[:len(text) // 8 * 8])]
        begun = struct.unpack("d", self.begun[:8])[0]
        if not ended and begun:
            times.append(time.monotonic() - begun)
        self.seen = Result([abs(s) for s in times], sum(s < 0 for s in times), not ended)
        os.close(self.output)
        if not ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.process.__exit__(*error)
