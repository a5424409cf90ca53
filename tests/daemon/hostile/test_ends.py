# SPDX-License-Identifier: GPL-2.0
"""The ends of the daemon's processes: in memory that never comes, with workers that wait, by
SIGKILL, at once for want of space. Nothing remains of them, and the next one works."""
import contextlib
import os
import signal
import struct
import subprocess
import threading
import time

import cgroup
import pytest
import test_stuck
from anybinder import driver
from anybinder.daemon import Daemon, start
from anybinder.driver import LIBC, Client
from anybinder.process import is_mounted, program, until
from hanging_files import FLUSH, READ
from hostile import HONEST, WORST_S, end_daemon, is_gone, pass_a_file
from test_files import OPTIONS, Attack, attacked, drop_a_file

# ---- memory -------------------------------------------------------------------------------------

def write_from_the_files(this):
    """A command stream in memory that never comes: no signal ends the worker that copies it."""
    client = Client(this.path())
    fd = os.open(this.files.file, os.O_RDWR)
    memory = LIBC.mmap(None, 65536, 3, 2, fd, 0)
    os.write(this.say, b"x")
    client.write_at(memory)


def wait_for_the_end(this):
    """A read that waits when the daemon ends must be aborted."""
    client = Client(this.path())
    os.write(this.say, b"x")
    try:
        client.write_read(b"", 256)
    except OSError:
        os.write(this.say, b"e")


def memory_that_never_comes(directory, stop):
    with attacked(directory, {READ}) as this:
        this.add(wait_for_the_end, uid=HONEST)
        this.add(write_from_the_files)
        until(this.files.hung)
        this.others_go_on()
        stop(this)
        this.expect(b"e")


def test_memory_that_never_comes_stalls_no_worker_and_not_sigterm(directory):
    memory_that_never_comes(directory, Attack.ends)


def test_memory_that_never_comes_stalls_no_worker_and_not_sigkill(directory):
    memory_that_never_comes(directory, lambda this: this.ends(signal.SIGKILL))


def test_memory_that_never_comes_keeps_no_client_of_a_killed_server(directory):
    def kill_server(this):
        os.kill(this.daemon.server_pid(), signal.SIGKILL)
        until(lambda: is_gone(this.daemon.pid) and not is_mounted(this.daemon.mnt))

    memory_that_never_comes(directory, kill_server)


def read_from_traps(this):
    """As many threads as may be stuck for one open, in memory that never comes."""
    test_stuck.read_from_traps(lambda: os.write(this.say, b"x"), this.path(), 8)


def touch_the_buffer(this, begin):
    """A context manager that waits, and reads the page into which the first call's data comes."""
    client = Client(this.path())
    client.become_manager()
    threading.Thread(target=client.serve, args=(1,), daemon=True).start()
    time.sleep(0.1)
    os.write(this.say, b"x")
    os.read(begin, 1)
    assert not client.map[0]


def call_from_a_trap(this, begin):
    client = Client(this.path())
    trap = driver.Trap()
    threading.Thread(target=lambda: os.read(begin, 1) and os.close(trap.fd), daemon=True).start()
    commands = struct.pack("<I", driver.BC_TRANSACTION) + driver.TRANSACTION.pack(
        0, 0, 1, 0, 0, 0, 64, 0, trap.address, 0)
    os.write(this.say, b"x")
    client.write_read(commands, 256)


def test_data_for_a_page_that_is_being_read_keeps_no_thread(directory):
    """Without passthrough, new data waits while a read of the page has no reply. Here all workers
    that may be replaced are stuck, and the last one waits in this way, so that none can reply."""
    os.chmod(directory, 0o755)
    touch, begin_touch = os.pipe()
    release, begin_release = os.pipe()
    with Daemon(directory, "--threads=1", "--no-passthrough") as daemon:
        this = Attack(daemon)
        server = daemon.server_pid()
        threads = daemon.threads()
        try:
            this.add(touch_the_buffer, touch, uid=0)
            for _ in range(8):
                this.add(read_from_traps, uid=0)
            until(lambda: daemon.threads() >= threads + 64, 10)
            this.add(call_from_a_trap, release, uid=0)
            time.sleep(0.1)
            os.write(begin_touch, b"x")
            time.sleep(0.1)
            os.write(begin_release, b"x")
            time.sleep(0.1)
            end_daemon(daemon, signal.SIGTERM)
            until(lambda: is_gone(server), 1)
        finally:
            this.close()


# ---- the helper itself --------------------------------------------------------------------------

def kill_helper(daemon):
    first = until(daemon.helper_pid)
    os.kill(first, signal.SIGKILL)
    until(lambda: daemon.helper_pid() not in (0, first))


def test_a_helper_that_is_killed_is_replaced(directory):
    with attacked(directory) as this:
        pass_a_file(this.path())
        kill_helper(this.daemon)
        pass_a_file(this.path())
        this.others_go_on()


def test_a_helper_that_is_killed_is_replaced_while_a_file_keeps_it(directory):
    with attacked(directory, {FLUSH}) as this:
        for _ in range(3):
            this.add(drop_a_file)
        until(this.files.hung)
        time.sleep(0.3)
        kill_helper(this.daemon)
        this.others_go_on()
        this.ends()


def send_and_say(this):
    pass_a_file(this.path())
    os.write(this.say, b"x")


def test_a_helper_that_is_stopped_is_continued(directory):
    """No call waits for it until the helper counts as delayed."""
    with attacked(directory) as this:
        helper = until(this.daemon.helper_pid)
        for _ in range(20):
            os.kill(helper, signal.SIGSTOP)
            begin = time.monotonic()
            pass_a_file(this.path())
            assert time.monotonic() - begin < WORST_S, "the call has waited"
        assert until(this.daemon.helper_pid) == helper
        this.others_go_on()


@contextlib.contextmanager
def frozen_helper(this):
    """It gets no processor time."""
    if not cgroup.Freezer.exists():
        pytest.skip("no freezer")
    with cgroup.Freezer() as group:
        group.add(until(this.daemon.helper_pid))
        group.freeze(True)
        yield group


def test_a_helper_without_processor_time_fails_no_call(directory):
    """For longer than the time after which a client counts as the one that delays it."""
    with attacked(directory) as this:
        with frozen_helper(this):
            this.add(send_and_say, uid=0, wait=False)
            time.sleep(5)
        this.expect(b"x")
        this.others_go_on()


def test_a_question_to_a_helper_that_is_killed_is_asked_again(directory):
    with attacked(directory) as this:
        with frozen_helper(this):
            this.add(send_and_say, uid=0, wait=False)
            time.sleep(0.3)
            os.kill(until(this.daemon.helper_pid), signal.SIGKILL)
        this.expect(b"x")
        this.others_go_on()


@pytest.mark.parametrize("is_stopped", [False, True])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_helper_ends_with_the_daemon(directory, how, is_stopped):
    """It has neither buffers nor the FUSE connection."""
    os.chmod(directory, 0o755)
    with Daemon(directory, *OPTIONS) as daemon:
        helper = until(daemon.helper_pid)
        with open(f"/proc/{helper}/maps", encoding="utf-8") as maps:
            assert "memfd:binder" not in maps.read(), "the helper has a buffer"
        links = [os.readlink(f"/proc/{helper}/fd/{fd}") for fd in os.listdir(f"/proc/{helper}/fd")]
        assert "/dev/fuse" not in links, "the helper has the FUSE connection"
        if is_stopped:
            os.kill(helper, signal.SIGSTOP)
        end_daemon(daemon, how)
        until(lambda: not os.path.exists(f"/proc/{helper}/exe"), 30)


def test_a_start_on_a_full_disk_is_an_error(directory):
    mnt, full = os.path.join(directory, "mnt"), os.path.join(directory, "full")
    os.mkdir(full)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", full], check=True)
    try:
        with contextlib.suppress(OSError), open(os.path.join(full, "data"), "wb") as file:
            file.write(bytes(1 << 17))
        pid_file = os.path.join(full, "pid")
        done = start(mnt, "--pid-file", pid_file)
        assert done.returncode == 1 and "No space left" in done.stderr, done.stderr
        assert not os.path.exists(pid_file) and not os.path.exists(mnt)
    finally:
        subprocess.run(["umount", full], check=True)


def test_events_may_come_before_all_threads_exist(directory):
    """At a start, as the kernel's notice of memory pressure may."""
    early = program("hostile-early.so")
    pid_file = os.path.join(directory, "pid")
    done = start(os.path.join(directory, "mnt"), "--max-crashes=1", "--pid-file",
                             pid_file, env={**os.environ, "LD_PRELOAD": early})
    assert not done.returncode, done.stderr
    with open(pid_file, encoding="ascii") as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGTERM)
    until(lambda: is_gone(pid))


def test_a_start_after_a_kill_waits_for_the_end(directory):
    """The server ends, and removes the mount, a moment after its supervisor was killed."""
    for _ in range(5):
        with Daemon(directory) as daemon:
            os.kill(daemon.pid, signal.SIGKILL)
            with Daemon(directory) as again:
                Client(again.path("binder")).close()


def test_no_process_of_the_daemon_outlives_another(directory):
    os.chmod(directory, 0o755)
    for victim in (Daemon.server_pid, lambda daemon: daemon.pid):
        with Daemon(directory) as daemon:
            server_pid = daemon.server_pid()
            os.kill(victim(daemon), signal.SIGKILL)
            until(lambda: is_gone(daemon.pid) and is_gone(server_pid))
            assert not is_mounted(daemon.mnt)
