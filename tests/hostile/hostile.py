# SPDX-License-Identifier: GPL-2.0
"""What the attacks share: a daemon, users, a victim that measures its calls, honest loads.

An attack is a script that imports this file. It starts the daemon named on its command line,
runs programs as several users, and prints what the victim saw with and without them. The bounds are
wide: they tell a victim that waits for other clients' calls from one that waits for their will.
"""
import contextlib
import ctypes
import math
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../host/fuse"))
import binder_client    # pylint: disable=wrong-import-position
from binder_client import Client    # pylint: disable=wrong-import-position

# Users without a name or a process on any ordinary machine.
SERVER, VICTIM, HONEST, ATTACKER = range(3900001, 3900005)
PERIOD_S = 0.002


class Result:
    """Latencies of the victim's calls, in ms."""

    def __init__(self, seconds):
        self.ms = sorted(1000 * s for s in seconds)

    def quantile(self, part):
        return self.ms[min(len(self.ms) - 1, math.ceil(part * len(self.ms)) - 1)]

    @property
    def worst(self):
        return self.ms[-1]

    def __str__(self):
        return (f"{len(self.ms)} calls, p50 {self.quantile(.5):.2f}, p99 {self.quantile(.99):.2f}, "
                f"worst {self.worst:.2f} ms")


@contextlib.contextmanager
def daemon(*options):
    """anybinderd with two workers and devices for all users. Yields the path of `binder`."""
    program = os.path.abspath(sys.argv[1])
    directory = tempfile.mkdtemp(prefix="hostile-")
    os.chmod(directory, 0o755)
    mnt = os.path.join(directory, "mnt")
    process = subprocess.Popen([program, mnt, "--foreground", "--mode=0666", "--threads=2",
                                *options])
    try:
        path = os.path.join(mnt, "binder")
        wait_until(lambda: os.path.exists(path), 10)
        yield path
    finally:
        process.terminate()
        try:
            process.wait(5)
        finally:
            process.kill()
            subprocess.run(["umount", "-l", mnt], check=False, capture_output=True)
            shutil.rmtree(directory, ignore_errors=True)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.005)


@contextlib.contextmanager
def user(uid, function, *args):
    """Runs function(ready, *args) in a process of that user until the end of the block; waits until
    it has called ready(). Yields the pid."""
    ready, notify = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setgid(uid)
            os.setuid(uid)
            signal.alarm(120)    # whatever happens to the test
            function(lambda: os.write(notify, b"x"), *args)
            status = 0
        finally:
            os._exit(status)
    os.close(notify)
    try:
        assert os.read(ready, 1) == b"x", f"the process of user {uid} failed"
        yield pid
    finally:
        os.close(ready)
        kill(pid)


def kill(pid, seconds=5):
    """Kills a child, which must be gone in that time."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: os.waitpid(pid, os.WNOHANG)[0], seconds)


def serve(ready, path):
    """Context manager of the device; replies to each call with its payload."""
    manager = Client(path)
    manager.become_manager()
    ready()
    manager.serve()


class Victim:
    """A process that makes a call each PERIOD_S, from before the block until after it."""

    def __init__(self, path):
        self.path = path
        self.seen = None    # the Result, after the block

    def __enter__(self):
        self.output, output = os.pipe()
        stop, self.stop = os.pipe()

        def work(ready):
            os.close(self.stop)
            client = Client(self.path)
            client.call(b"hello")
            ready()
            with os.fdopen(output, "wb") as file:
                while not select.select([stop], [], [], PERIOD_S)[0]:
                    begin = time.monotonic()
                    client.call(b"hello")
                    file.write(struct.pack("d", time.monotonic() - begin))

        self.process = user(VICTIM, work)
        self.process.__enter__()
        os.close(output)
        os.close(stop)
        return self

    def __exit__(self, *error):
        os.close(self.stop)
        with os.fdopen(self.output, "rb") as file:
            self.seen = Result(s for (s,) in struct.iter_unpack("d", file.read()))
        self.process.__exit__(*error)


def measure(path, seconds):
    with Victim(path) as victim:
        time.sleep(seconds)
    return victim.seen


def repeat(ready, path, words):
    """An honest load: short command streams without a pause."""
    client = Client(path)
    commands = struct.pack("<I", binder_client.BC_ENTER_LOOPER) * words
    ready()
    while True:
        client.write_read(commands, 0)


def many_times(size, total):
    """Maps a file of @size bytes as often as @total bytes need. Returns file and address."""
    libc = binder_client.LIBC
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    fd = os.memfd_create("stream")
    os.ftruncate(fd, size)
    at = libc.mmap(None, total, 0, 0x22, -1, 0)
    for offset in range(0, total, size):
        assert libc.mmap(at + offset, size, 3, 0x11, fd, 0) == at + offset
    return fd, at


def run(title, *tests):
    """Runs the tests, each a function named after what it shows; the last line counts them."""
    failed = 0
    for test in tests:
        try:
            test()
        except Exception as error:    # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {test.__name__}: {error!r}")
    print(f"{title}: {len(tests) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)
