# SPDX-License-Identifier: GPL-2.0
"""Files that do not close, processes that cannot be looked at, receivers that stop the injector.

In each test one user attacks the daemon by a file system that does not answer, or by a socket that
takes its time, while victims of each kind go on and files pass to their service. Then the daemon
has to end.
"""
import contextlib
import ctypes
import os
import signal
import socket
import struct
import threading
import time

import hostile
import pytest
from anybinder import driver
from anybinder.daemon import Daemon
from anybinder.driver import Client
from anybinder.process import LIBC, run_child, until
from hanging_files import FLUSH, POLL, READ, HangingFiles
from hostile import (
    ATTACKER, CALL_S, HONEST, SERVER, WORST_S, end_daemon, pass_a_file, send_file,
    send_and_wait, serve)

OPTIONS = ("--mode=0666", "--threads=2")


class Attack(hostile.Attack):
    """On a daemon in this directory."""

    def ends(self, how=signal.SIGTERM):
        """The daemon and its mount vanish, and the next one works."""
        end_daemon(self.daemon, how)
        with Daemon(os.path.dirname(self.daemon.mnt), *OPTIONS) as again, \
                hostile.user(SERVER, serve, again.path()):
            pass_a_file(again.path())


@contextlib.contextmanager
def attacked(directory, hanging=(), **kwargs):
    os.chmod(directory, 0o755)
    with Daemon(directory, *OPTIONS) as daemon, hostile.user(SERVER, serve, daemon.path()):
        files = None
        if hanging:
            files = HangingFiles(os.path.join(directory, "hang"), set(hanging), **kwargs)
        this = Attack(daemon, files)
        try:
            yield this
        finally:
            this.close()


# ---- closing ------------------------------------------------------------------------------------

def drop_a_file(this):
    """The daemon takes a file that never closes, and has to close it again: the second descriptor
    does not exist."""
    client = Client(this.path())
    fd = os.open(this.files.file, os.O_RDONLY | os.O_CLOEXEC)
    os.write(this.say, b"x")
    send_file(client, [fd, 999999])
    time.sleep(60)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_files_that_never_close_stall_no_worker_and_no_end(directory, how):
    with attacked(directory, {FLUSH}) as this:
        for _ in range(12):
            this.add(drop_a_file)
        until(this.files.hung)
        time.sleep(0.3)
        this.others_go_on()
        this.ends(how)


def test_a_user_whose_files_do_not_close_cannot_pass_more(directory):
    def send_until_refused(this):
        client = Client(this.path())
        fd = os.open(this.files.file, os.O_RDONLY | os.O_CLOEXEC)
        for _ in range(10):
            send_file(client, [fd, 999999])
        time.sleep(4)    # until they count as overdue
        begin = time.monotonic()
        codes = send_file(client, [os.open("/dev/null", os.O_RDONLY)])
        late = time.monotonic() - begin > WORST_S
        os.write(this.say, b"x" if 0x7211 in codes and not late else b"-")
        time.sleep(60)

    with attacked(directory, {FLUSH}) as this:
        this.add(send_until_refused)
        this.others_go_on()
        this.close()
        # the files close now, and the user is served again
        until(lambda: not fails(lambda: run_child(pass_one, this.path(), uid=ATTACKER)))


def pass_one(path):
    assert 0x7211 not in send_file(Client(path), [os.open("/dev/null", os.O_RDONLY)])


def fails(function):
    try:
        function()
    except AssertionError:
        return True
    return False


def full_connection(wait_s):
    """A TCP socket of which close(2) takes @wait_s: unsent data, and a peer that does not read."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, wait_s))
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(65536))
    except BlockingIOError:
        return sender, peer


def manage(this, device):
    """A receiver that never reads."""
    client = Client(this.path(device))
    client.become_manager(driver.ACCEPTS_FDS)
    os.write(this.say, b"x")
    time.sleep(60)


def leave_sockets(this, device):
    """Sends sockets and closes its own: the daemon has the last references."""
    client = Client(this.path(device))
    connections = [full_connection(20) for _ in range(4)]
    for sender, _ in connections:
        send_file(client, [sender.fileno()], one_way=True, room=0)
        sender.close()
    os.write(this.say, b"x")
    time.sleep(60)


def test_sockets_that_close_slowly_stall_no_worker(directory):
    with attacked(directory) as this:
        for device in ("hwbinder", "vndbinder"):
            receiver = this.add(manage, device)
            this.add(leave_sockets, device)
            os.kill(receiver, signal.SIGKILL)
        time.sleep(0.3)
        this.others_go_on(["calls", "files", "reports"])    # vndbinder is attacked, too
        this.ends()


# ---- looking into processes ---------------------------------------------------------------------

def manage_and_execute(this):
    """Becomes context manager, then hangs in execve(2) with the lock that /proc/PID/maps takes."""
    os.open(this.files.file, os.O_RDONLY | os.O_CLOEXEC)
    client = Client(this.path("hwbinder"))
    client.become_manager(driver.ACCEPTS_FDS)
    os.write(this.say, b"x")
    os.execv("/bin/true", ["true"])


def call_in_vain(this):
    client = Client(this.path("hwbinder"))
    begin = time.monotonic()
    try:
        client.call(b"x")
    except RuntimeError:
        os.write(this.say, b"r" if time.monotonic() - begin < CALL_S else b"-")
    time.sleep(60)


@pytest.mark.parametrize("count", [6, 100])
def test_a_receiver_that_executes_for_ever_stalls_no_worker(directory, count):
    """100 calls are more than there are workers to replace those that wait."""
    with attacked(directory, {FLUSH}) as this:
        this.add(manage_and_execute)
        until(this.files.hung_of_users)
        for _ in range(count):
            this.add(call_in_vain, uid=HONEST, wait=False)
        this.others_go_on()
        for _ in range(6):
            this.expect(b"r")
        this.ends()


def lock_an_epoll(this):
    """A thread hangs in POLL with the lock that /proc/PID/fdinfo of the epoll takes."""
    fd = os.open(this.files.file, os.O_RDONLY)
    epoll = LIBC.epoll_create1(0)
    os.write(this.say, b"x")
    LIBC.epoll_ctl(epoll, 1, fd, ctypes.create_string_buffer(struct.pack("<IQ", 1, 0), 12))
    time.sleep(60)


def die_with_a_child(this):
    """The owner of an open dies, and a child keeps the inherited mapping: no RELEASE."""
    fd = os.open(this.path(), os.O_RDWR | os.O_CLOEXEC)
    LIBC.mmap(None, driver.MAP_SIZE, 1, 2, fd, 0)    # the mmap module would keep a duplicate
    if not os.fork():
        os.close(fd)
        time.sleep(60)
        os._exit(0)
    os.write(this.say, b"x")


def test_a_locked_epoll_does_not_stop_the_search_for_holders(directory):
    with attacked(directory, {POLL}) as this:
        this.add(lock_an_epoll)
        until(this.files.hung_of_users)
        pid = this.add(die_with_a_child)
        os.waitpid(pid, 0)
        try:
            until(lambda: not os.path.exists(this.path(f"binder_logs/proc/{pid}")))
            this.others_go_on()
            this.ends()
        finally:
            this.pids.remove(pid)
            os.killpg(pid, signal.SIGKILL)


def test_search_finds_a_holder_beside_a_locked_epoll(directory):
    """The same with a descriptor that the child keeps: the open must not end."""
    def die_with_a_holder(this):
        fd = os.open(this.path(), os.O_RDWR | os.O_CLOEXEC)
        if not os.fork():
            time.sleep(60)
            os._exit(0)
        os.dup(fd)
        os.write(this.say, b"x")

    with attacked(directory, {POLL}) as this:
        this.add(lock_an_epoll)
        until(this.files.hung_of_users)
        pid = this.add(die_with_a_holder)
        os.waitpid(pid, 0)
        time.sleep(1)
        try:
            assert os.path.exists(this.path(f"binder_logs/proc/{pid}"))
        finally:
            this.pids.remove(pid)
            os.killpg(pid, signal.SIGKILL)
        until(lambda: not os.path.exists(this.path(f"binder_logs/proc/{pid}")))


# ---- the injector -------------------------------------------------------------------------------

def send_to_the_attacker(this):
    """Files for the attacker's own receiver, for ever."""
    client = Client(this.path("hwbinder"))
    os.write(this.say, b"x")
    while os.path.exists(this.path("hwbinder")):
        with contextlib.suppress(OSError):
            send_file(client, [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)], one_way=True)
        os.closerange(20, 100)
        time.sleep(0.005)


def inject_into(this, receiver):
    this.add(receiver)
    this.add(send_to_the_attacker)
    try:
        until(this.files.hung, 10)
    except AssertionError:
        pytest.skip("the attacker did not win its race")
    time.sleep(0.3)
    this.others_go_on()
    this.ends()


def wait_in(code, client, stack=0):
    """BINDER_WRITE_READ by the given machine code, called as f(fd, command, argument, stack)."""
    into = ctypes.create_string_buffer(256)
    argument = ctypes.create_string_buffer(
        struct.pack("<6Q", 0, 0, 0, 256, 0, ctypes.addressof(into)))
    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                                ctypes.c_void_p)(code)
    function(client.fd, driver.WRITE_READ, ctypes.addressof(argument), stack)


def machine_code(code):
    page = LIBC.mmap(None, 4096, 7, 0x22, -1, 0)
    ctypes.memmove(page, code, len(code))
    return page


# mov r9,rsp; mov rsp,rcx; mov eax,16; syscall; mov rsp,r9; ret
CALL_ON_STACK = bytes.fromhex("4989e14889ccb8100000000f054c89ccc3")


def receive_with_a_bad_stack(this):
    """A thread that waits with its stack pointer in memory that never comes."""
    client = Client(this.path("hwbinder"))
    client.become_manager(driver.ACCEPTS_FDS)
    fd = os.open(this.files.file, os.O_RDWR | os.O_CLOEXEC)
    stack = LIBC.mmap(None, 65536, 3, 2, fd, 0)
    os.write(this.say, b"x")
    wait_in(machine_code(CALL_ON_STACK), client, stack + 32768)
    time.sleep(60)


def test_a_receiver_with_a_bad_stack_stops_no_other_files(directory):
    with attacked(directory, {READ}) as this:
        inject_into(this, receive_with_a_bad_stack)


# mov eax,16; syscall; ret
CODE = bytes.fromhex("b8100000000f05c3").ljust(4096, b"\x90")


def receive_with_bad_code(this):
    """A thread that waits in code that is dropped from memory, and never comes again."""
    client = Client(this.path("hwbinder"))
    client.become_manager(driver.ACCEPTS_FDS)
    fd = os.open(this.files.file, os.O_RDONLY | os.O_CLOEXEC)
    page = LIBC.mmap(None, 4096, 5, 2, fd, 0)

    def drop():
        time.sleep(0.2)
        this.files.hang()
        while LIBC.madvise(page, 4096, 4) or os.posix_fadvise(fd, 0, 0, 4):
            time.sleep(0.01)
        os.write(this.say, b"x")

    threading.Thread(target=drop, daemon=True).start()
    wait_in(page, client)
    time.sleep(60)


def test_a_receiver_with_bad_code_stops_no_other_files(directory):
    with attacked(directory, {READ}, content=CODE, later=True) as this:
        inject_into(this, receive_with_bad_code)


# Waits until the descriptor exists, and replaces it:
# while (fcntl(number, F_GETFD) < 0); dup2(hanging, number)
SPIN = bytes.fromhex("4189f14189f84489cfbe01000000b8480000000f0585c078ed"
                     "4489c74489ceb8210000000f05c3")


def receive_with_another_socket(this):
    """A second thread puts a file that never closes in the place of the injector's socket."""
    os.nice(5)    # it spins
    client = Client(this.path("hwbinder"))
    client.become_manager(driver.ACCEPTS_FDS)
    hanging = os.open(this.files.file, os.O_RDONLY | os.O_CLOEXEC)
    number = os.dup(0)
    os.close(number)

    def receive():
        while os.path.exists(this.path("hwbinder")):
            with contextlib.suppress(OSError):
                client.write_read(b"", 256)

    replace = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(machine_code(SPIN))
    threading.Thread(target=receive, daemon=True).start()
    os.write(this.say, b"x")
    while True:
        replace(hanging, number)
        time.sleep(0.01)
        os.closerange(number, number + 10)


def test_a_receiver_with_another_socket_stops_no_other_files(directory):
    with attacked(directory, {FLUSH}, daemon_only=True) as this:
        inject_into(this, receive_with_another_socket)


def send_what_never_closes(this):
    """To the victim's service, which keeps them. One of two is installed in another way."""
    client = Client(this.path())
    fd = os.open(this.files.file, os.O_RDONLY | os.O_CLOEXEC)
    for numbers in ([fd], [fd, fd]):
        send_and_wait(client, numbers)
        os.write(this.say, b"x")
    time.sleep(60)


def test_files_that_never_close_do_not_stop_their_receiver(directory):
    with attacked(directory, {FLUSH}) as this:
        this.add(send_what_never_closes)
        this.expect(b"x")
        until(this.files.hung)    # where the daemon has them
        this.others_go_on()
        this.ends()


def test_no_stop_of_a_receiver_is_missed(directory):
    """A lost SIGCHLD would be noticed 10 ms later, at each of several stops."""
    def send(path):
        client = Client(path)
        times = []
        for _ in range(20):
            begin = time.monotonic()
            send_and_wait(client, [0])
            times.append(time.monotonic() - begin)
        assert sorted(times)[4] < 0.008, times

    with attacked(directory) as this:
        run_child(send, this.path(), uid=HONEST)
