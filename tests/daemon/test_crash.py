# SPDX-License-Identifier: GPL-2.0
"""The server process is killed: another one goes on with the same mount."""
import contextlib
import errno
import json
import os
import platform
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from anybinder.daemon import start
from anybinder.driver import LIBC, Client
from anybinder.process import (
    child,
    children_of,
    is_mounted,
    is_running,
    ready_child,
    run_child,
    until,
)
from replaced import Replaced, Upgraded
from served import Foreground, add_device, anybinderd, assert_calls_work, expect_error, server
from test_bound import bound
from test_stuck import trap_or_skip

BUILDS, MACHINES = ("anybinderd", "anybinderd-asan"), True
PATIENCE_S = 30
POLL_ERROR = select.POLLERR | select.POLLHUP
PTRACE_SEIZE, PTRACE_CONT, WALL = 0x4206, 7, 0x40000000


class Daemon(Replaced):
    """A daemon that goes on after crashes."""
    recovery = ()


class ForegroundDaemon(Foreground, Daemon):
    """The same in the foreground."""


class UpgradedDaemon(Upgraded, Daemon):
    """The same of a program that can be replaced."""


def kernel_resends():
    release = tuple(map(int, re.findall(r"\d+", platform.release())[:3]))
    return release >= (6, 9, 4)


def expect_lost(function, *args):
    """A call that waited when the server crashed; without resending, unless it came later."""
    try:
        function(*args)
    except OSError as error:
        allowed = [errno.ECONNREFUSED] + [errno.ECONNABORTED] * (not kernel_resends())
        assert error.errno in allowed, error
    else:
        raise AssertionError("the call has succeeded")


def follow(daemon, victim, how):
    """Sends a signal and waits for the next server. Returns the pid of the one before."""
    before = daemon.status()
    os.kill(victim or int(before["server"]), how)
    until(lambda: daemon.is_followed(before), PATIENCE_S)
    return int(before["server"])


def kill_server(daemon):
    return follow(daemon, 0, signal.SIGKILL)


def hand_over(daemon):
    return follow(daemon, daemon.pid, signal.SIGHUP)


# ---- old opens, new opens ----------------------------------------------------------------------

def test_old_opens_are_refused_and_new_ones_work(directory):
    for option in "--threads=2", "--no-passthrough":
        with Daemon(directory, option) as daemon:
            client = Client(daemon.path("binder"))
            kill_server(daemon)
            for _ in range(3):
                expect_error(errno.ECONNREFUSED, client.write_read, b"", 64)
                expect_error(errno.ECONNREFUSED, client.become_manager)
                poll = select.poll()
                poll.register(client.fd, select.POLLIN)
                assert poll.poll(0) == [(client.fd, POLL_ERROR)]
            assert_calls_work(daemon.path("binder"))
            kill_server(daemon)
            expect_error(errno.ECONNREFUSED, client.write_read, b"", 64)
            client.close()
            assert_calls_work(daemon.path("binder"))
            assert daemon.status()["crashes"] == "2"
            assert len(os.listdir(daemon.path("binder_logs/proc"))) <= 2


def test_those_who_wait_are_woken(directory):
    with Daemon(directory) as daemon:
        def wait_in_call(ready):
            client = Client(daemon.path("binder"))
            ready()
            expect_lost(client.write_read, b"", 256)

        def wait_in_poll(ready):
            client = Client(daemon.path("binder"))
            poll = select.poll()
            poll.register(client.fd, select.POLLIN)
            ready()
            assert poll.poll(PATIENCE_S * 1000) == [(client.fd, POLL_ERROR)]

        def wait_for_events(ready):
            fd = os.open(daemon.path("binder_logs/events"), os.O_RDONLY)
            os.read(fd, 1 << 16)
            ready()
            while True:
                try:
                    os.read(fd, 1 << 16)
                except OSError as error:    # EIO: the server was just reading the request
                    assert error.errno in (errno.ECONNREFUSED, errno.ECONNABORTED, errno.EIO)
                    return

        with server(daemon.path("binder")), contextlib.ExitStack() as stack:
            # a caller that waits for a reply which does not come
            pids = [stack.enter_context(ready_child(function)) for function in
                    (wait_in_call, wait_in_poll, wait_for_events, wait_in_call, wait_in_poll)]
            time.sleep(0.05)
            kill_server(daemon)
            for pid in pids:
                assert os.waitpid(pid, 0)[1] == 0


def test_other_files_of_before_are_refused_too(directory):
    with Daemon(directory) as daemon:
        report = os.open(daemon.path("binder_logs/state"), os.O_RDONLY)
        logs = os.open(daemon.path("binder_logs"), os.O_RDONLY)
        control = os.open(daemon.path("binder-control"), os.O_RDWR)
        kill_server(daemon)
        expect_error(errno.ECONNREFUSED, os.read, report, 100)
        expect_error(errno.ECONNREFUSED, add_device, control, b"late")
        # as a directory to start from it is as good as before
        assert "state" in os.listdir(daemon.path("binder_logs"))
        fd = os.open("stats", os.O_RDONLY, dir_fd=logs)
        assert os.read(fd, 100).startswith(b"binder stats")
        for opened in report, logs, control, fd:
            os.close(opened)


def serve_for_ever(path):
    """As a service: begins anew when its calls fail."""
    while True:
        with contextlib.suppress(OSError, RuntimeError):
            client = Client(path)
            try:
                client.become_manager()
                client.serve()
            finally:
                client.close()
        time.sleep(0.001)


def call_for_ever(path, notify):
    """As a client of it. One byte for each call that was answered after an error."""
    client, failed = None, True
    while True:
        try:
            client = client or Client(path)
            data = os.urandom(2000)
            assert client.call(data) == data, "another reply"
            if failed:
                os.write(notify, b"x")
            failed = False
        except (OSError, RuntimeError):
            failed = True
            if client:
                client.close()
            client = None
            time.sleep(0.001)


def test_clients_under_load_come_back(directory):
    with Daemon(directory, "--max-crashes=1000") as daemon, contextlib.ExitStack() as stack:
        stack.enter_context(child(serve_for_ever, daemon.path("binder")))
        pipes = [os.pipe() for _ in range(4)]
        for _, notify in pipes:
            stack.enter_context(child(call_for_ever, daemon.path("binder"), notify))
        for _ in range(8):
            for ready, _ in pipes:
                until(lambda fd=ready: select.select([fd], [], [], 0)[0], PATIENCE_S)
                os.read(ready, 100)
            kill_server(daemon)
        for ready, _ in pipes:
            until(lambda fd=ready: select.select([fd], [], [], 0)[0], PATIENCE_S)
        assert daemon.status()["crashes"] == "8"


def test_opens_under_way_are_served_by_the_next(directory):
    """They go on, save for one that the server was just reading (EIO), or that was being walked
    again because others were opening the same path (ESTALE)."""
    if not kernel_resends():
        pytest.skip("the kernel ends what the server had read")

    def open_and_close():
        while True:
            try:
                os.close(os.open(daemon.path("binder"), os.O_RDWR))
                os.stat(daemon.path("features/extended_error"))
            except OSError as error:
                assert error.errno in (errno.EIO, errno.ESTALE), error

    with Daemon(directory, "--max-crashes=1000") as daemon, contextlib.ExitStack() as stack:
        pids = [stack.enter_context(child(open_and_close)) for _ in range(4)]
        for _ in range(5):
            time.sleep(0.05)
            kill_server(daemon)
        assert all(map(is_running, pids)), "an open failed"


# ---- mounts and names --------------------------------------------------------------------------

def test_bound_files_and_directories_work_on(directory):
    for option in "--threads=2", "--no-passthrough":
        with Daemon(directory, option) as daemon, bound(daemon, directory) as path, \
                bound(daemon, directory, "binder-control") as control:
            container = os.path.join(directory, "container")
            os.makedirs(container, exist_ok=True)
            subprocess.run(["mount", "--bind", daemon.mnt, container], check=True)
            try:
                before = Client(path)
                for _ in range(2):
                    kill_server(daemon)
                    expect_error(errno.ECONNREFUSED, before.write_read, b"", 64)
                    for place in path, os.path.join(container, "binder"), daemon.path("binder"):
                        assert_calls_work(place)
                    with server(daemon.path("binder")):
                        run_child(lambda: Client(path).call(b"x" * 100000))
                fd = os.open(control, os.O_RDWR)
                add_device(fd, b"more")
                os.close(fd)
                kill_server(daemon)
                assert_calls_work(os.path.join(container, "more"))
                before.close()
            finally:
                subprocess.run(["umount", "--lazy", container], check=True)


def names_of(daemon):
    names = {}
    for top, directories, files in os.walk(daemon.mnt):
        for name in [*directories, *files, "."]:
            found = os.stat(os.path.join(top, name))
            names[os.path.relpath(os.path.join(top, name), daemon.mnt)] = (
                found.st_mode, found.st_uid, found.st_gid)
    return names


def test_names_owners_and_permissions_stay(directory):
    with Daemon(directory, "--devices=a,b,c", "--mode=0600") as daemon:
        fd = os.open(daemon.path("binder-control"), os.O_RDWR)
        for name in b"d", b"e", b"f", b"g" * 255:
            add_device(fd, name)
        os.close(fd)
        os.unlink(daemon.path("b"))
        os.rename(daemon.path("c"), daemon.path("renamed"))
        os.rename(daemon.path("d"), daemon.path("e"))    # replaces it
        os.chmod(daemon.path("f"), 0o666)
        os.chown(daemon.path("renamed"), 7, 8)
        os.chmod(daemon.path("binder_logs"), 0o700)
        os.chmod(daemon.path("binder_logs/state"), 0o400)
        os.chown(daemon.mnt, 9, 10)
        before, order = names_of(daemon), os.listdir(daemon.mnt)
        assert {"a", "renamed", "e", "f", "g" * 255}.issubset(before)
        for _ in range(3):
            kill_server(daemon)
            assert names_of(daemon) == before
            assert os.listdir(daemon.mnt) == order
        assert_calls_work(daemon.path("renamed"))
        fd = os.open(daemon.path("binder-control"), os.O_RDWR)
        expect_error(errno.EEXIST, add_device, fd, b"a")
        add_device(fd, b"b")
        os.close(fd)
        assert_calls_work(daemon.path("b"))


def test_removed_device_of_a_bound_file_is_gone(directory):
    with Daemon(directory, "--devices=binder,other") as daemon, bound(daemon, directory) as path:
        os.unlink(daemon.path("binder"))
        kill_server(daemon)
        fd = os.open(daemon.path("binder-control"), os.O_RDWR)
        add_device(fd, b"new")
        os.close(fd)
        expect_error(errno.ESTALE, os.open, path, os.O_RDWR)


# ---- crashes at odd times ----------------------------------------------------------------------

def test_servers_that_crash_while_they_recover_are_followed_by_others(directory):
    with Daemon(directory, "--max-crashes=1000") as daemon:
        client = Client(daemon.path("binder"))
        for pause_s in 0, 0.001, 0.003, 0.006, 0.01, 0.015, 0.02:
            killed = kill_server(daemon)
            for _ in range(3):
                until(lambda last=killed: set(children_of(daemon.pid)) - {last}, PATIENCE_S)
                killed = max(set(children_of(daemon.pid)) - {killed})
                time.sleep(pause_s)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(killed, signal.SIGKILL)
                until(lambda last=killed: not is_running(last), PATIENCE_S)
            assert_calls_work(daemon.path("binder"))
            expect_error(errno.ECONNREFUSED, client.write_read, b"", 64)


def test_too_many_crashes_end_the_daemon(directory):
    for option, limit in ([], 5), (["--max-crashes=2"], 2), (["--max-crashes=1"], 1):
        with ForegroundDaemon(directory, *option) as daemon:
            for _ in range(limit - 1):
                kill_server(daemon)
            os.kill(daemon.server_pid(), signal.SIGKILL)
            assert daemon.process.wait(PATIENCE_S) == 1, daemon.log()
        assert f"has crashed {limit} times within a minute: {daemon.mnt} is unmounted" \
            in daemon.log(), daemon.log()
        assert not is_mounted(daemon.mnt) and not os.path.exists(daemon.pid_file)


def test_server_with_a_thread_that_a_client_keeps_is_followed(directory):
    """Its worker waits in memory that never comes, so that its process cannot end."""
    def keep_in_fuse():
        with contextlib.suppress(OSError):
            client.write_read(b"", 256, read_at=trap.address)

    if not kernel_resends():
        pytest.skip("needs Linux 6.9.4")
    trap = trap_or_skip()
    with Daemon(directory, "--threads=2") as daemon:
        client = Client(daemon.path("binder"))

        def wait(ready):
            other = Client(daemon.path("binder"))
            ready()
            expect_lost(other.write_read, b"", 256)

        threading.Thread(target=keep_in_fuse, daemon=True).start()
        with ready_child(wait) as pid:
            time.sleep(0.1)
            kill_server(daemon)
            assert os.waitpid(pid, 0)[1] == 0
        assert_calls_work(daemon.path("binder"))
        os.close(trap.fd)


def test_crash_before_the_start_is_complete_is_an_error(directory):
    """A server that cannot start is not tried again."""
    mnt = os.path.join(directory, "mnt")
    done = start(mnt, "--devices=a,a")
    assert done.returncode == 1 and "exists" in done.stderr, done.stderr
    assert not os.path.exists(mnt)


# ---- processes ---------------------------------------------------------------------------------

def test_end_after_a_crash_leaves_nothing(directory):
    with Daemon(directory) as daemon:
        helper, = children_of(daemon.server_pid())
        killed = kill_server(daemon)
        until(lambda: not is_running(helper), PATIENCE_S)
        assert not is_running(killed)
        last = daemon.server_pid()
    until(lambda: not is_running(last), PATIENCE_S)
    assert not is_mounted(daemon.mnt)
    assert os.listdir(directory) == []


def test_end_of_the_supervisor_ends_the_server(directory):
    with Daemon(directory) as daemon:
        kill_server(daemon)
        last = daemon.server_pid()
        daemon.stop(signal.SIGKILL)
        until(lambda: not is_running(last), PATIENCE_S)
    assert not is_mounted(daemon.mnt)


@contextlib.contextmanager
def traced(pid):
    """Meanwhile, nobody but this process can wait for the end of that one."""
    if LIBC.ptrace(PTRACE_SEIZE, pid, None, None):
        pytest.skip("no ptrace")
    yield
    while not os.WIFSIGNALED(status := os.waitpid(pid, WALL)[1]) and not os.WIFEXITED(status):
        LIBC.ptrace(PTRACE_CONT, pid, None, None)


def test_servers_that_end_late_are_waited_for(directory):
    """A former server after a hand-over, and one that has crashed: they do not remain zombies."""
    with Daemon(directory) as daemon:
        # with an older kernel, the mount is given up after a crash
        for end in [hand_over] + [kill_server] * kernel_resends():
            former = daemon.server_pid()
            with traced(former):
                assert end(daemon) == former
                assert former in children_of(daemon.pid)
            until(lambda: former not in children_of(daemon.pid), PATIENCE_S)
        assert_calls_work(daemon.path("binder"))


def test_systemd_is_told_once(directory):
    address = os.path.join(directory, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(address)
        sock.settimeout(PATIENCE_S)
        os.environ["NOTIFY_SOCKET"] = address
        try:
            with Daemon(directory) as daemon:
                assert sock.recv(200).decode().split() == ["READY=1", f"MAINPID={daemon.pid}"]
                kill_server(daemon)
        finally:
            del os.environ["NOTIFY_SOCKET"]
        assert sock.recv(200) == b"STOPPING=1"


def test_next_server_is_the_program_that_is_installed(directory):
    with UpgradedDaemon(directory) as daemon:
        before = os.stat(daemon.program).st_ino
        daemon.install("")
        kill_server(daemon)
        serving = os.stat(f"/proc/{daemon.server_pid()}/exe")
        assert before != serving.st_ino == os.stat(daemon.program).st_ino
        os.unlink(daemon.program)    # removed: the supervisor's own is still there
        kill_server(daemon)
        assert_calls_work(daemon.path("binder"))


FUSERMOUNT = """#!/usr/bin/env python3
# As fusermount3: has a process with the right to mount do it.
import array, json, os, socket, sys
comm = os.environ.get("_FUSE_COMMFD")
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
    sock.connect(os.environ["MOUNTER"])
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [int(comm)]))] if comm else []
    sock.sendmsg([json.dumps(sys.argv[1:]).encode()], files)
    sys.exit(int(sock.recv(10)))
"""


def mount_for(arguments, comm):
    """What fusermount3 does with these arguments; it sends the connection to the socket @comm."""
    target = arguments[-1]
    if "-u" in arguments:
        return int(LIBC.umount2(target.encode(), 2) != 0)
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,default_permissions"
    failed = LIBC.mount(b"anybinder", target.encode(), b"fuse.anybinder", 6,
                                      options.encode())
    if not failed:
        with socket.socket(fileno=comm) as sock:
            socket.send_fds(sock, [b"x"], [fd])
    os.close(fd)
    return int(failed != 0)


def serve_mounts(listener, asked):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test is over
            return
        with connection:
            words, files, _, _ = socket.recv_fds(connection, 4096, 1)
            asked.append(json.loads(words))
            connection.send(str(mount_for(asked[-1], *files or [-1])).encode())


def test_daemon_without_the_right_to_mount_recovers_and_hands_over(directory):
    """As that of an ordinary user: fusermount3 mounts, and there is no other way to unmount."""
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv")
    program = os.path.join(directory, "fusermount3")
    with open(program, "w", encoding="utf-8") as file:
        file.write(FUSERMOUNT)
    os.chmod(program, 0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.path.join(directory, "mounter"))
        listener.listen()
        asked = []
        threading.Thread(target=serve_mounts, args=(listener, asked), daemon=True).start()
        daemon = Daemon(directory)
        done = start(daemon.mnt, "--pid-file", daemon.pid_file,
                     before=("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"),
                     env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}",
                          "MOUNTER": os.path.join(directory, "mounter")})
        assert done.returncode == 0, done.stderr
        with open(daemon.pid_file, encoding="utf-8") as file:
            daemon.pid = int(file.read())
        try:
            client = Client(daemon.path("binder"))
            with server(daemon.path("binder")):
                assert client.call(b"x") == b"x"
                hand_over(daemon)
                assert client.call(b"y") == b"y"
            for _ in range(2):
                kill_server(daemon)
                expect_error(errno.ECONNREFUSED, client.write_read, b"", 64)
                assert_calls_work(daemon.path("binder"))
        finally:
            daemon.stop()
        until(lambda: not is_mounted(daemon.mnt), PATIENCE_S)
        assert ["-u" in arguments for arguments in asked] == [False, True], asked


def test_daemon_in_namespaces_of_a_user_recovers(directory):
    """Root of a user and mount namespace, as `anybinder up` of a user."""
    script = os.path.join(directory, "in-namespace")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"""set -e
{anybinderd()} {directory}/mnt --private --foreground & daemon=$!
until [ -s {directory}/mnt/binder_logs/daemon ] || cat {directory}/mnt/binder_logs/daemon; do
	sleep 0.01; done >/dev/null 2>&1
kill -9 $(sed -n 's/^server: //p' {directory}/mnt/binder_logs/daemon)
until [ "$(sed -n 's/^generation: //p' {directory}/mnt/binder_logs/daemon)" = 2 ]; do
	sleep 0.01; done 2>/dev/null
exec 9<>{directory}/mnt/binder
kill $daemon
wait $daemon
""")
    done = subprocess.run(["unshare", "-Urm", "sh", script], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip("no user namespaces")
    assert done.returncode == 0, done.stderr
