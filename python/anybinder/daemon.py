# SPDX-License-Identifier: Apache-2.0
"""anybinderd in the background, at a private mount."""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any

from . import process
from .process import children_of, is_running, threads_of, until

PROGRAM = "anybinderd"    # the build that is started where none is named
START_LIMIT_S = 300 if process.IS_EMULATED else 60


class Daemon:
    """anybinderd at DIRECTORY/mnt, as a context. It ends when its server process crashes, so that
    no test passes in spite of that.

    options: of the command line
    program: the path of another build of the daemon
    """
    recovery: tuple[str, ...] = ("--max-crashes=1",)

    def __init__(self, directory: str | os.PathLike, *options: str, program: str | None = None):
        self.mnt = os.path.join(directory, "mnt")
        self.pid_file = os.path.join(directory, "pid")
        self.options = options
        self.program = program or process.program(PROGRAM)
        self.pid = 0    # of the process that is started and stopped, the supervisor

    def __enter__(self) -> "Daemon":
        done = start(self.mnt, "--pid-file", self.pid_file, *self.recovery, *self.options,
                     program=self.program)
        assert done.returncode == 0, done.stderr
        with open(self.pid_file, encoding="utf-8") as file:
            self.pid = int(file.read())
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Sends a signal, and waits for the end."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)
        until(lambda: not is_running(self.pid), what="the daemon ends")

    def crash(self) -> None:
        """Kills supervisor and server, so that no process can clean up."""
        pids = self.pid, self.server_pid()
        for pid, how in zip(pids + pids[:1], (signal.SIGSTOP, signal.SIGKILL, signal.SIGKILL)):
            os.kill(pid, how)
        until(lambda: not any(map(is_running, pids)), what="the daemon ends")

    def server_pid(self) -> int:
        """The process that serves, a child of the supervisor."""
        pid, = children_of(self.pid)
        return pid

    def helper_pid(self) -> int:
        """The helper process for files, a child of the server; 0: none."""
        for pid in children_of(self.server_pid()):
            with contextlib.suppress(OSError):
                if process.stat_of(pid)[0] == "anybinder-files" and is_running(pid):
                    return pid
        return 0

    def path(self, name: str = "binder") -> str:
        """The path of a device."""
        return os.path.join(self.mnt, name)

    def threads(self) -> int:
        """How many threads the server has."""
        return threads_of(self.server_pid())


def start(mountpoint: str, *options: str, before: tuple[str, ...] = (),
          program: str | None = None, **more: Any) -> subprocess.CompletedProcess:
    """Starts the daemon in the background; returns how that ended.

    before: words before the program, of a command that runs it
    more: for subprocess.run()
    """
    return subprocess.run([*before, program or process.program(PROGRAM), mountpoint, *options],
                          capture_output=True, text=True, timeout=START_LIMIT_S, check=False,
                          **more)
