# SPDX-License-Identifier: GPL-2.0
"""What the attacks share: a daemon, users, attackers, victims, honest loads, and the table.

An attack is a test that imports this file, starts a daemon, and runs programs as several users.
attack() measures what the victims see with and without them; table.py, which sets HOSTILE_TABLE to
a directory, makes a table of that. Without it, the bounds are wide: they tell a victim that waits
for other clients' calls from one that waits for their will.
"""
import contextlib
import encodings.idna  # noqa: F401 (a user may have no access to the library later)
import errno
import functools
import json
import os
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest
import victims
from anybinder import driver
from anybinder.driver import LIBC, Bytes, Client
from anybinder.process import (
    children_of, fork, is_mounted, is_running, memory_kib, program, ready_child, run_child,
    threads_of, until)
from served import Foreground
from victims import Result, serve  # noqa: F401 (part of this interface)

CLONE_NEWUSER = 0x10000000

# Users without a name or a process on any ordinary machine.
SERVER, VICTIM, HONEST, ATTACKER = range(3900001, 3900005)

TABLE = os.environ.get("HOSTILE_TABLE")
SECONDS = float(os.environ.get("HOSTILE_SECONDS", 8 if TABLE else 2))

# How much longer than beside an honest load a victim may have to wait. On a machine that runs other
# tests at the same time, a process may wait for a processor for a long time.
MARGIN_MS = 50 if TABLE else 1000
# How long a process may take to be gone once it was killed, and the daemon once it was told to end;
# on a busy machine, what never ends is told from what does.
ENDS_S = 2 if TABLE else 30
# How long the processes of an attack may take to be gone once all have been killed.
GROUP_ENDS_S = 20 if TABLE else 60
# A call to a process that cannot be looked at fails after a deadline of 3 s.
CALL_S = 10.0
# No other may take longer. An honest load of the same size stays far below, but the machine may be
# busy; an attack that works stops a victim for good, or for as long as it lasts.
WORST_S = 2.5
# What the daemon's memory may grow by in any case: stacks of threads, the allocator's arenas.
MEMORY_SLACK_KIB = 4096


# ---- processes ----------------------------------------------------------------------------------

class Daemon(Foreground):
    """With two workers and devices for all users, in a directory of its own."""

    def __init__(self, *options, **how):
        self.directory = tempfile.mkdtemp(prefix="hostile-")
        os.chmod(self.directory, 0o755)
        super().__init__(self.directory, "--mode=0666", "--threads=2", *options, **how)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(ENDS_S)
        finally:
            self.process.kill()
            subprocess.run(["umount", "-l", self.mnt], check=False, capture_output=True)
            shutil.rmtree(self.directory, ignore_errors=True)

    def end(self, seconds=ENDS_S):
        """SIGTERM. Returns the seconds until it was gone, its mount too; more than asked: it was
        not."""
        begin = time.monotonic()
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        took = time.monotonic() - begin
        return seconds + took if is_mounted(self.mnt) else took

    def memory_kib(self):
        """Resident memory of the daemon and of its helper processes."""
        total = 0
        for pid in family(self.process.pid):
            with contextlib.suppress(OSError):
                total += memory_kib(pid)
        return total


@contextlib.contextmanager
def daemon(*options):
    """Yields the path of `binder`."""
    with Daemon(*options) as it:
        yield it.path()


def family(pid):
    """A process and all that descend from it."""
    yield pid
    for child in children_of(pid):
        yield from family(child)


@contextlib.contextmanager
def every(seconds, function):
    """Calls it at intervals until the block ends, in a thread."""
    end = threading.Event()

    def repeat():
        while not end.wait(seconds):
            function()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def unless_it_has_ended(function, *args):
    """Calls it; that the daemon has ended is no error."""
    try:
        function(*args)
    except OSError as error:
        if error.errno not in (errno.ECONNABORTED, errno.ENOTCONN):
            raise


@contextlib.contextmanager
def user(uid, function, *args):
    """Runs function(ready, *args) in a process of that user until the end of the block; waits until
    it has called ready(). Yields the pid. It leads a process group, which is killed."""
    with ready_child(lambda ready: unless_it_has_ended(function, ready, *args), uid=uid) as pid:
        try:
            yield pid
        finally:
            kill(pid)


@contextlib.contextmanager
def exit_at_end():
    """For a forked process: it ends with the block, after a message if that fails."""
    status = 1
    try:
        yield
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException as error:    # pylint: disable=broad-except
        print(f"a process of the attack failed: {error!r}", flush=True)
    finally:
        os._exit(status)


def limit_files(most):
    """For a forked process: it and what it starts have @most descriptors. Those that the tests
    before it left open would count as well, and are closed; so is the file that pytest prints to
    instead of descriptor 1, which it captures, too."""
    sys.stdout.flush()
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def kill(pid, seconds=max(5, ENDS_S)):
    """Kills a child and its group; it must be gone in that time. The others of a group of thousands
    take longer, and the processors with them: they are waited for as well, so that what is measured
    next does not see their end."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        until(lambda: os.waitpid(pid, os.WNOHANG)[0], seconds)
    with contextlib.suppress(ProcessLookupError):
        until(lambda: os.killpg(pid, 0), GROUP_ENDS_S)


@contextlib.contextmanager
def users(*processes):
    """Several at once, each (uid, function, *args). Yields their pids; all must live until the end
    of the block, and then end within ENDS_S."""
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(user(*process)) for process in processes]
        yield pids
        assert all(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in pids), "no attack any more"
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for pid in pids:
            kill(pid, ENDS_S)


class Victim(victims.Victim):
    """One of victims.KINDS, of the user VICTIM."""

    def __init__(self, path, kind="calls"):
        def run_as(function, *args):
            return user(VICTIM, function, *args)

        super().__init__(path, run_as, kind)


def measure(path, seconds):
    """The calls of a victim during that time."""
    with Victim(path) as victim:
        time.sleep(seconds)
    return victim.seen


# ---- attackers ----------------------------------------------------------------------------------

class Attack:
    """Attackers of a daemon, which a file system may keep in the kernel until that is ended; what
    they have to say; and whether the others are served meanwhile.

    daemon: with a service of the user SERVER
    files: the file system, or None
    """

    def __init__(self, daemon, files=None):    # pylint: disable=redefined-outer-name
        self.daemon = daemon
        self.files = files
        self.pids = []
        self._said, self.say = os.pipe()

    def path(self, device="binder"):
        return self.daemon.path(device)

    def add(self, function, *args, uid=ATTACKER, wait=True):
        """Starts a process, which leads a group, and waits until it says that it is ready."""
        self.pids.append(fork(unless_it_has_ended, function, self, *args, uid=uid))
        if wait:
            self.expect(b"x")
        return self.pids[-1]

    def expect(self, word):
        assert wait_for(self._said, 1) == word, "the attacker did not get what it expects"

    def others_go_on(self, kinds=tuple(victims.KINDS)):
        """Victims are served in time, and files pass to the service."""
        if self.files:
            assert self.files.hung() or self.files.hung_of_users(), "nothing hangs: no attack"
        with contextlib.ExitStack() as stack:
            at_work = [stack.enter_context(Victim(self.path(), kind)) for kind in kinds]
            time.sleep(1)
        for one in at_work:
            seen = one.seen
            assert not (seen.stopped or seen.failed) and seen.worst < 1000 * WORST_S, \
                f"{one.kind}: {seen}"
        for _ in range(3):
            begin = time.monotonic()
            pass_a_file(self.path())
            took = time.monotonic() - begin
            assert took < CALL_S, f"passing a file took {took:.2f} s"

    def close(self):
        for pid in self.pids:
            for kill_one in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    kill_one(pid, signal.SIGKILL)
        if self.files:
            self.files.end()
        for pid in self.pids:
            os.waitpid(pid, 0)
        self.pids = []


def wait_for(fd, size, seconds=20):
    """Reads what a child writes; it may have failed, and the parent has the other end too."""
    assert select.select([fd], [], [], seconds)[0], "a child did not respond"
    return os.read(fd, size)


def send_file(client, numbers, one_way=False, room=256):
    """A call with these descriptors. Returns the return codes."""
    data = b"".join(driver.OBJECT.pack(driver.FILE, 0, number, 0) for number in numbers)
    commands, _keep = driver.encode(
        driver.BC_TRANSACTION, Bytes(data, range(0, len(data), driver.OBJECT.size)), code=1,
        flags=driver.TF_ACCEPT_FDS | one_way)
    return [code for code, _ in client.write_read(commands, room)]


def send_and_wait(client, numbers):
    """A call with these descriptors, which has to succeed."""
    codes = send_file(client, numbers)
    while driver.BR_REPLY not in codes:
        assert not set(codes) & set(driver.BR_FAILURES), [hex(code) for code in codes]
        codes = [code for code, _ in client.write_read(b"", 256)]


def pass_a_file(path):
    """An honest file, from another user to the service."""
    run_child(lambda: send_and_wait(Client(path), [os.pipe()[1]]), uid=HONEST)


def end_daemon(daemon, how, within_s=30.0):    # pylint: disable=redefined-outer-name
    """The daemon must be gone, threads and all, and its mount with it or usable by the next."""
    os.kill(daemon.pid, how)
    until(lambda: is_gone(daemon.pid), within_s, f"the daemon ends after signal {how}")
    until(lambda: not is_mounted(daemon.mnt))


def is_gone(pid):
    """Also of a zombie that has no thread left."""
    try:
        return not is_running(pid) and threads_of(pid) <= 1
    except OSError:
        return True


# ---- the programs in C: hostile-flood and hostile-uring ------------------------------------------

@functools.cache
def opened(name):
    """The descriptor by which a user executes a program: its path may be closed to the user."""
    return os.open(program(name), os.O_RDONLY)


def run_program(ready, path, executable, *args):
    """Runs it on a device that the victims do not use. For users()."""
    device = os.path.join(os.path.dirname(path), "hwbinder")
    with subprocess.Popen([f"/proc/self/fd/{executable}", device, *args], stdout=subprocess.PIPE,
                          pass_fds=[executable]) as process:
        assert process.stdout.readline() == b"begun\n"
        ready()
        time.sleep(1000)


def flood_by(user, kind, count):
    """A load of that user: see flood.c."""
    return lambda path: users((user, run_program, path, opened("hostile-flood"), kind, str(count)))


# ---- honest loads -------------------------------------------------------------------------------

def repeat(ready, path, words):
    """Short command streams without a pause."""
    client = Client(path)
    commands = struct.pack("<I", driver.BC_ENTER_LOOPER) * words
    ready()
    while True:
        client.write_read(commands, 0)


def many_times(size, total):
    """Maps a file of @size bytes as often as @total bytes need. Returns file and address."""
    fd = os.memfd_create("stream")
    os.ftruncate(fd, size)
    at = LIBC.mmap(None, total, 0, 0x22, -1, 0)
    for offset in range(0, total, size):
        assert LIBC.mmap(at + offset, size, 3, 0x11, fd, 0) == at + offset
    return fd, at


# ---- the table ----------------------------------------------------------------------------------

class Row:
    """What an attack did: for each kind of victim its Result alone, beside an honest load, beside
    the attack, and afterwards; the daemon's memory in KiB before, at most, and afterwards; how long
    it took to end under attack."""

    def __init__(self, number, title, margin_ms):
        self.number = number
        self.title = title
        self.margin_ms = margin_ms
        self.seen = {}    # by phase, then by kind
        self.memory = {}
        self.ended_s = None

    def check(self, memory=True):
        """The bounds that every attack must keep. In the table, a bound that is not kept is listed
        and fails the test as well."""
        missed = self.missed(memory)
        assert not missed, "; ".join(missed)

    def missed(self, memory=True):
        beside = self.seen.get("honest") or self.seen["alone"]
        texts = []
        for kind, result in self.seen["attacked"].items():
            if result.stopped or result.failed:
                texts.append(f"{kind}: {result}")
            elif result.worst > beside[kind].worst + self.margin_ms:
                texts.append(f"{kind}: {result.worst:.0f} ms, not {beside[kind].worst:.0f}")
        for kind, result in self.seen["after"].items():
            if result.stopped or result.failed or \
                    result.worst > beside[kind].worst + self.margin_ms:
                texts.append(f"{kind}, afterwards: {result}")
        bound = 2 * self.memory["before"] + MEMORY_SLACK_KIB
        if memory and self.memory["after"] > bound:
            texts.append(f"memory: {self.memory['after']} KiB, not {bound}")
        if self.ended_s > ENDS_S:
            texts.append("the daemon does not end")
        return texts

    def print(self):
        print(f"{self.number}: {self.title}")
        for phase, results in self.seen.items():
            for kind, result in results.items():
                print(f"  {phase + ':':10}{kind + ':':9}{result}")
        print(f"  memory:   {self.memory['before']} KiB before, {self.memory['peak']} at most, "
              f"{self.memory['after']} afterwards; ended in {self.ended_s:.2f} s", flush=True)

    def save(self):
        if not TABLE:
            return
        data = {"row": self.number, "title": self.title, "memory_kib": self.memory,
                "ended_s": self.ended_s, "margin_ms": self.margin_ms, "missed": self.missed(),
                "seen": {phase: {kind: result.as_json() for kind, result in results.items()}
                         for phase, results in self.seen.items()}}
        with open(os.path.join(TABLE, f"{self.number}.json"), "w", encoding="utf-8") as file:
            json.dump(data, file)


def phase(server, kinds, seconds, load=None, steady=False):
    """Victims of these kinds, from before the load until after it; @steady: from after its start
    until before its end. Returns their Results and the largest memory of the daemon."""
    peak = 0
    with contextlib.ExitStack() as before, contextlib.ExitStack() as within:
        all_victims = []
        if not steady:
            all_victims = [before.enter_context(Victim(server.path(), kind)) for kind in kinds]
        with load(server.path()) if load else contextlib.nullcontext():
            if steady:
                time.sleep(1)
                all_victims = [within.enter_context(Victim(server.path(), kind)) for kind in kinds]
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                peak = max(peak, server.memory_kib())
                assert server.process.poll() is None, "the daemon died"
                time.sleep(0.02)
            within.close()
    return {victim.kind: victim.seen for victim in all_victims}, peak


def memory_after(server, bound_kib):
    """The memory once it has fallen to the bound, or what it is after some time."""
    with contextlib.suppress(AssertionError):
        until(lambda: server.memory_kib() <= bound_kib, 5)
    return server.memory_kib()


def attack(number, title, load, honest=None, options=(), kinds=tuple(victims.KINDS),
           seconds=SECONDS, steady=False, margin_ms=MARGIN_MS, **how):
    """Measures an attack. @load(path) and @honest(path) are context managers: the attack lasts as
    long as the block, e.g. users(...), at the end of which it must be over. @steady: see phase().
    @margin_ms: how much longer than beside the honest load a victim may wait. @how: how the daemon
    is started. Returns the Row."""
    row = Row(number, title, margin_ms)
    with Daemon(*options, **how) as server:
        with user(SERVER, serve, server.path()):
            row.seen["alone"], _ = phase(server, kinds, seconds)
            if honest:
                row.seen["honest"], _ = phase(server, kinds, seconds, honest, steady)
            row.memory["before"] = server.memory_kib()
            row.seen["attacked"], row.memory["peak"] = phase(server, kinds, seconds, load,
                                                                 steady)
            row.seen["after"], _ = phase(server, kinds, seconds / 2)
            row.memory["after"] = memory_after(
                server, 2 * row.memory["before"] + MEMORY_SLACK_KIB)
        # The attackers notice its end, and may find no room at their start.
        with contextlib.suppress(AssertionError), contextlib.ExitStack() as stack:
            with contextlib.suppress(AssertionError):
                stack.enter_context(load(server.path()))
            time.sleep(0.5)
            row.ended_s = server.end()
    row.print()
    row.save()
    return row


def need_user_namespaces():
    """In a plain chroot the kernel lets nobody make one."""
    pid = os.fork()
    if not pid:
        with exit_at_end():
            os.setresuid(ATTACKER, ATTACKER, ATTACKER)
            os._exit(bool(LIBC.unshare(CLONE_NEWUSER)))
    if os.waitpid(pid, 0)[1]:
        pytest.skip("users cannot make user namespaces here, as in a plain chroot")
