# SPDX-License-Identifier: GPL-2.0
"""Receivers of files that the daemon cannot handle as it does others: traced, stopped, frozen, with
system calls forbidden, with another user id, or replaced by another program in the middle."""
import contextlib
import ctypes
import os
import resource
import signal
import struct
import tempfile
import time

import cgroup
import hostile
import pytest
from anybinder.driver import ACCEPTS_FDS, BR_TRANSACTION, LIBC, OBJECT, Client, free_buffer

FILES = 4
PTRACE_SEIZE, PTRACE_CONT = 0x4206, 7
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 4, 38, 22


def own_device(path):
    return os.path.join(os.path.dirname(path), "hwbinder")


def receive(ready, path, prepare=lambda: None):
    """Gets files, closes them, and says nothing."""
    client = Client(own_device(path))
    client.become_manager(ACCEPTS_FDS)
    prepare()
    ready()
    while True:
        with contextlib.suppress(InterruptedError):
            for code, argument in client.write_read(b"", 256):
                if code == BR_TRANSACTION:
                    take(client, argument)


def take(client, argument):
    data = client.data_of(argument)
    for _, _, number, _ in OBJECT.iter_unpack(data):
        with contextlib.suppress(OSError):
            os.close(number)
    client.write_read(free_buffer(argument), 0)


def send(ready, path):
    """Sends files in one-way calls, so that it does not wait for the receiver."""
    client = Client(own_device(path))
    with open(os.devnull, "rb") as file:
        ready()
        while True:
            hostile.send_file(client, [file.fileno()] * FILES, one_way=True)
            time.sleep(0.001)


def send_on(ready, path):
    """Also to the next receiver."""
    ready()
    while True:
        with contextlib.suppress(OSError):
            send(lambda: None, path)


def attack(number, title, prepare=lambda: None, disturb=lambda pid: contextlib.nullcontext()):
    """@prepare() runs in the receiver, @disturb(pid) in a context around the attack."""
    @contextlib.contextmanager
    def load(path):
        processes = [(hostile.ATTACKER, receive, path, prepare)] \
            + [(hostile.ATTACKER, send, path)] * 2
        with hostile.users(*processes) as pids, disturb(pids[0]):
            yield

    hostile.attack(f"odd-{number}", title, load).check()


def be_traceable():
    """A process that was of another user is not."""
    assert not LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def test_traced_receivers():
    """Every stop is the tracer's, and it does not let the receiver go on for a while."""
    @contextlib.contextmanager
    def trace(pid):
        def tracer(ready):
            # while a file is passed, the daemon traces it
            hostile.until(lambda: not LIBC.ptrace(PTRACE_SEIZE, pid, None, None), 5)
            ready()
            while True:
                os.waitpid(pid, 0x40000000)
                time.sleep(0.05)
                LIBC.ptrace(PTRACE_CONT, pid, None, None)

        with hostile.user(hostile.ATTACKER, tracer):
            yield

    attack("traced", "files for a receiver that another process traces", be_traceable, trace)


def test_stopped_receivers():
    def stop(pid):
        def toggle():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.1)
            os.kill(pid, signal.SIGCONT)

        return hostile.every(0.02, toggle)

    attack("stopped", "files for a receiver that is stopped again and again", disturb=stop)


@pytest.mark.long
def test_frozen_receivers():
    @contextlib.contextmanager
    def freeze(pid):
        with cgroup.Freezer() as group:
            group.add(pid)

            def toggle():
                group.freeze(True)
                time.sleep(0.1)
                group.freeze(False)

            with hostile.every(0.02, toggle):
                yield

    if cgroup.Freezer.exists():
        attack("frozen", "files for a receiver whose cgroup is frozen again and again",
               disturb=freeze)
    else:
        print("frozen_receivers: no freezer")


def forbid(number):
    """Lets a system call fail with ENOSYS (seccomp)."""
    code = struct.pack("<HBBI", 0x20, 0, 0, 0) \
        + struct.pack("<HBBI", 0x15, 0, 1, number) \
        + struct.pack("<HBBI", 0x06, 0, 0, 0x00050000 | 38) \
        + struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
    keep = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("<H6xQ", 4, ctypes.addressof(keep)), 16)
    assert not LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    assert not LIBC.prctl(PR_SET_SECCOMP, 2, ctypes.addressof(program), 0, 0)


@pytest.mark.long
def test_receivers_with_forbidden_calls():
    attack("seccomp", "files for a receiver whose filter refuses recvmsg(2)", lambda: forbid(47))


@pytest.mark.long
def test_receivers_without_room():
    def fill():
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))

    attack("full", "files for a receiver whose descriptor table is full", fill)


def attack_program(number, title, kind, executable=None):
    def load(path):
        return hostile.users((hostile.ATTACKER, hostile.run_program, path,
                              executable or hostile.opened("hostile-flood"), kind, "1"),
                             *[(hostile.ATTACKER, send_on, path)] * 2)

    hostile.attack(f"odd-{number}", title, load).check()


@pytest.mark.long
def test_receivers_that_share_memory():
    attack_program("vfork", "files for a vfork(2) child", "receive-vfork")


@pytest.mark.long
def test_receivers_with_another_effective_user():
    with tempfile.NamedTemporaryFile(prefix="hostile-") as copy:
        flood = hostile.opened("hostile-flood")
        os.sendfile(copy.fileno(), flood, 0, os.fstat(flood).st_size)
        os.chown(copy.name, hostile.HONEST, -1)
        os.chmod(copy.name, 0o4755)
        executable = os.open(copy.name, os.O_RDONLY)
        copy.file.close()    # a program that is open for writing cannot be executed
        attack_program("setuid", "files for a set-user-id program", "receive", executable)
        os.close(executable)


@pytest.mark.long
def test_receivers_that_exec():
    """A receiver executes another program again and again while files are on their way."""
    def renew(ready, path):
        ready()
        while True:
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGALRM, lambda *_: os.execv("/bin/true", ["true"]))
                signal.setitimer(signal.ITIMER_REAL, 0.03)
                with contextlib.suppress(OSError):
                    receive(lambda: None, path)
                os._exit(0)
            os.waitpid(pid, 0)

    def load(path):
        return hostile.users((hostile.ATTACKER, renew, path), (hostile.ATTACKER, send_on, path))

    hostile.attack("odd-exec", "files for receivers that become another program", load).check()
