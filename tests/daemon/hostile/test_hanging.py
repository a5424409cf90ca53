# SPDX-License-Identifier: GPL-2.0
"""The attacks of test_files.py for the table: what the victims see, and that the daemon ends.

They go on on a device that the victims do not use.
"""
import contextlib
import os
import shutil
import signal
import tempfile

import attack
import hostile
import pytest
import test_files as files
from anybinder.process import until

pytestmark = pytest.mark.long


class Attack(files.Attack):
    """The processes of an attack on a daemon of hostile.py."""

    def __init__(self, path, hanging):
        super().__init__(None, None, None, hanging)
        self.device = os.path.join(os.path.dirname(path), "hwbinder")
        self.orphaned = []    # groups of children without the parent

    def path(self, device="binder"):
        return self.device

    def close(self):
        for group in self.orphaned:
            os.killpg(group, signal.SIGKILL)
        super().close()


@contextlib.contextmanager
def attacked(path, start, hanging, **kwargs):
    directory = tempfile.mkdtemp(prefix="hostile-")
    os.chmod(directory, 0o755)
    mount = attack.HangingFiles(os.path.join(directory, "hang"), hanging, **kwargs) \
        if hanging else None
    this = Attack(path, mount)
    try:
        start(this)
        yield
        assert not mount or mount.hung() or mount.hung_of_users(), "nothing hangs: no attack"
    finally:
        this.close()
        shutil.rmtree(directory, ignore_errors=True)


def run(number, title, start, hanging=(), honest=None):
    """@honest: starts an honest load of the same size."""
    hostile.attack(number, title, lambda path: attacked(path, start, set(hanging)),
                   honest and (lambda path: attacked(path, honest, set()))).check()


def test_files_that_never_close():
    def start(this):
        this.add(files.manage, "hwbinder")
        for _ in range(12):
            this.add(files.drop_a_file)
        until(this.files.hung)

    run("2a", "12 files whose close never ends", start, {attack.FLUSH})


def test_sockets_that_close_slowly():
    def start(this):
        receiver = this.add(files.manage, "hwbinder")
        this.add(files.leave_sockets, "hwbinder")
        os.kill(receiver, signal.SIGKILL)

    run("2b", "4 sockets whose close takes 20 s", start)


def call_a_receiver_that_execs_for_ever(number, count):
    def start(this):
        this.add(files.manage_and_execute)
        until(this.files.hung_of_users)
        for _ in range(count):
            this.add(files.call_in_vain, uid=attack.OTHER, wait=False)

    def honest(this):
        this.add(files.manage, "hwbinder")
        for _ in range(count):
            this.add(files.call_in_vain, uid=attack.OTHER, wait=False)

    run(number, f"{count} calls to a receiver that hangs in execve", start, {attack.FLUSH}, honest)


def test_receivers_that_exec_for_ever():
    call_a_receiver_that_execs_for_ever("3", 6)


def test_many_calls_to_a_receiver_that_execs_for_ever():
    """More than there are workers to replace those that wait."""
    call_a_receiver_that_execs_for_ever("3 (many)", 100)


def test_locked_epolls():
    def start(this):
        this.add(files.lock_an_epoll)
        until(this.files.hung_of_users)
        pid = this.add(files.die_with_a_child)
        os.waitpid(pid, 0)
        this.attackers.pids.remove(pid)
        this.orphaned.append(pid)

    run("4", "a search for holders beside a locked epoll", start, {attack.POLL})


def test_receivers_with_a_bad_stack():
    def start(this):
        this.add(files.receive_with_a_bad_stack)
        this.add(files.send_to_the_attacker)

    run("6", "files for a receiver whose stack is in memory that never comes", start,
        {attack.READ})
