# SPDX-License-Identifier: GPL-2.0
"""A daemon that hands over, and both ends of calls that are under way meanwhile."""
import os
import select
import shutil
import signal
import time

from anybinder import driver
from anybinder.daemon import Daemon
from anybinder.driver import BR_NOOP, BR_TRANSACTION, BR_TRANSACTION_COMPLETE, Bytes, Client
from anybinder.process import until
from served import anybinderd

DEADLINE_S = 30.0


class Replaced(Daemon):
    """A daemon that is told to hand over."""

    def status(self):
        """The lines of binder_logs/daemon, where a server may crash while it is read."""
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                with open(self.path("binder_logs/daemon"), encoding="utf-8") as file:
                    return dict(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def server_pid(self):
        return int(self.status()["server"])

    def is_followed(self, before):
        """Whether another server than that of the lines @before serves."""
        return int(self.status()["generation"]) > int(before["generation"])

    def ask(self, how=signal.SIGHUP):
        """The lines of binder_logs/daemon after a hand-over has ended, whatever the end."""
        before = self.status()
        os.kill(self.pid, how)
        self.wait_for_the_end(before)
        return self.status()

    def wait_for_the_end(self, before):
        """Of a hand-over, whatever it is; @before: the lines when it began."""
        until(lambda: self.status()["attempts"] != before["attempts"], DEADLINE_S)

    def hand_over(self):
        before = self.status()
        after = self.ask()
        assert after["last"] == "done", after
        assert after["server"] != before["server"], after
        assert int(after["generation"]) > int(before["generation"]), after
        until(lambda: not os.path.exists(f"/proc/{before['server']}"), DEADLINE_S)
        return after

    def files(self):
        """Descriptors that the server has."""
        return len(os.listdir(f"/proc/{self.server_pid()}/fd"))


class Signals:
    """Bytes between a test and its child processes."""

    def __init__(self):
        self.read, self.write = os.pipe()

    def send(self, byte=b"x"):
        os.write(self.write, byte)

    def wait(self, byte=b"x"):
        assert select.select([self.read], [], [], DEADLINE_S)[0], "the other process does not say"
        got = os.read(self.read, 1)
        assert got == byte, got

    def close(self):
        os.close(self.read)
        os.close(self.write)


def replies(client, commands=b"", room=512):
    """Reads until something but no-operations and completions comes."""
    while True:
        for code, argument in client.write_read(commands, room):
            if code not in (BR_NOOP, BR_TRANSACTION_COMPLETE):
                return code, argument
        commands = b""


def send(client, payload, flags=0, offsets=()):
    """Calls handle 0 without waiting for the reply."""
    commands, _keep = driver.encode(driver.BC_TRANSACTION, Bytes(payload, offsets), 0, 1, flags)
    client.write_read(commands, 0)


def answer(client, argument, payload, flags=0, offsets=()):
    commands, _keep = driver.encode(driver.BC_REPLY, Bytes(payload, offsets), 0, 1, flags)
    client.write_read(driver.free_buffer(argument) + commands, 0)


def become_manager(daemon, step):
    manager = Client(daemon.path("binder"))
    manager.become_manager()
    step.send(b"m")
    return manager


def take_call(manager):
    code, argument = replies(manager)
    assert code == BR_TRANSACTION, hex(code)
    return argument


def hold_a_call(daemon, step, back):
    """A context manager that says `m` when it is one and `t` when it has a call, and answers this
    when it is told to."""
    manager = become_manager(daemon, step)
    manager.retries = True
    argument = take_call(manager)
    step.send(b"t")
    back.wait()
    answer(manager, argument, b"late")
    time.sleep(DEADLINE_S)


def wait_for(pid):
    assert os.waitpid(pid, 0)[1] == 0, "the child failed"


def check(condition):
    assert condition


class Upgraded(Replaced):
    """A daemon whose program is a copy, which can be replaced."""

    def __init__(self, directory, *options):
        super().__init__(directory, *options, program=os.path.join(directory, "anybinderd"))
        shutil.copy(anybinderd(), self.program)

    def install(self, text):
        """Replaces the program by a script; by the real one again: an empty text."""
        new = self.program + ".new"
        if text:
            with open(new, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(new, 0o755)
        else:
            shutil.copy(anybinderd(), new)
        os.rename(new, self.program)
