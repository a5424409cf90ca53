# SPDX-License-Identifier: GPL-2.0
"""What the tests of the daemon share: a service and calls to it, devices, and what has to fail."""
import ctypes
import errno
import os
import signal
import socket
import subprocess
import time

from anybinder import daemon as daemons
from anybinder import driver
from anybinder.driver import Client
from anybinder.process import child, program, ready_child, run_child, until


def anybinderd():
    """The path of the build of the daemon that is tested."""
    return program(daemons.PROGRAM)


def is_dead(mountpoint):
    try:
        os.listdir(mountpoint)
    except OSError as error:
        return error.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    return False


class Foreground(daemons.Daemon):
    """A daemon in the foreground, as a child of the test; its messages are in DIRECTORY/log.

    before: words before the program, of a command that runs it
    how: of subprocess.Popen
    """

    def __init__(self, directory, *options, before=(), program=None, **how):
        super().__init__(directory, *options, program=program)
        self.before, self.messages, self.how = before, os.path.join(directory, "log"), how
        self.process = None

    def __enter__(self):
        with open(self.messages, "wb") as file:
            # the end of the process is this object's
            self.process = subprocess.Popen(    # pylint: disable=consider-using-with
                [*self.before, self.program, self.mnt, "--foreground", "--pid-file",
                 self.pid_file, *self.recovery, *self.options], **{"stderr": file, **self.how})
        self.pid = self.process.pid
        until(lambda: os.path.exists(self.pid_file) or self.process.poll() is not None)
        assert self.process.returncode is None, self.log()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def log(self):
        with open(self.messages, encoding="utf-8") as file:
            return file.read()


def server(path):
    """A child process: context manager of the device, echoes each transaction."""
    def serve(ready):
        manager = Client(path)
        # the one before may have been killed a moment ago
        until(lambda: succeeds(manager.become_manager))
        ready()
        manager.serve()

    return ready_child(serve)


def assert_served(daemon, within_s=2.0):
    """A new client receives a reply in time."""
    def one_call():
        assert Client(daemon.path("binder")).call(b"hello") == b"hello"

    begin = time.monotonic()
    run_child(one_call)
    assert time.monotonic() - begin < within_s, "served too late"


def expect_error(number, function, *args):
    try:
        function(*args)
    except OSError as error:
        assert error.errno == number, f"{error} instead of {errno.errorcode[number]}"
        return
    raise AssertionError(f"no {errno.errorcode[number]}")


def succeeds(function, *args):
    try:
        function(*args)
    except OSError:
        return False
    return True


def add_device(control, name):
    driver.ioctl(control, driver.CTL_ADD, ctypes.create_string_buffer(name, 264))


def ended_open(daemon):
    """An open in a message, where nobody is seen to hold it as its owner dies, and so it ends."""
    one, other = socket.socketpair()

    def send():
        client = Client(daemon.path("binder"))
        socket.send_fds(one, [b"x"], [client.fd])
        time.sleep(60)

    with child(send) as owner, one, other:
        other.recv(1, socket.MSG_PEEK)
        os.kill(owner, signal.SIGKILL)
        until(lambda: not os.path.exists(daemon.path(f"binder_logs/proc/{owner}")))
        return socket.recv_fds(other, 1, 1)[1][0]


def assert_calls_work(path):
    """A new context manager and a new client, in processes of their own."""
    def one_call():
        assert Client(path).call(b"hello") == b"hello"

    with server(path):
        run_child(one_call)
