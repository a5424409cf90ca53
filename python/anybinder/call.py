# SPDX-License-Identifier: Apache-2.0
"""The `anybinder` command for the mount of a test: its texts, its JSON, its exit statuses."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import process

LIMIT_S = 2 * process.PATIENCE_S


class Command:
    """Runs `anybinder` with a mount and a state directory.

    before: words before the program, of a command that runs it
    program: the path of another copy of the command
    """

    def __init__(self, mount: str, state_dir: str, before: Sequence[str] = (),
                 program: str | None = None):
        self.mount = mount
        self.state_dir = state_dir
        self.before = list(before)
        self.program = program or process.program("anybinder")
        # In the environment, so that programs that are run find the same mount.
        self.environment = {**os.environ, "ANYBINDER_MOUNT": mount,
                            "ANYBINDER_STATE_DIR": state_dir}

    def path(self, device: str = "binder") -> str:
        """The path of a device."""
        return f"{self.mount}/{device}"

    def execute(self, *words: str, limit_s: float = LIMIT_S,
                environment: Mapping[str, str] | None = None,
                **more: Any) -> subprocess.CompletedProcess:
        """Runs any program with the mount in its environment, to its end.

        more: for subprocess.run()
        """
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
        if "input" not in more:
            more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([*self.before, *words], timeout=limit_s, check=False,
                              env={**self.environment, **(environment or {})}, **more)

    def outcome(self, *words: str, **more: Any) -> tuple[int, str]:
        """The exit status of the command, and all that it prints."""
        done = self.execute(self.program, *words, stderr=subprocess.STDOUT, **more)
        return done.returncode, done.stdout

    def run(self, *words: str, status: int = 0, **more: Any) -> str:
        """Runs the command, which has to end with that exit status. Returns its standard output,
        or its standard error if it was to fail."""
        done = self.execute(self.program, *words, **more)
        assert done.returncode == status, \
            f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr if status else done.stdout

    def json(self, *words: str, **more: Any) -> Any:
        """What the command says as JSON."""
        return json.loads(self.run("--json", *words, **more))

    def call(self, service: str, method: str, *arguments: str, aidl: str, status: int = 0) -> str:
        """Calls a method by its .aidl files; returns the result as text."""
        return self.run("call", "--aidl", aidl, service, method, *arguments, status=status).strip()

    @contextlib.contextmanager
    def started(self, *words: str, is_program: bool = False,
                **more: Any) -> Iterator[subprocess.Popen]:
        """The command in the background, its outputs in one pipe; it is killed at the end.

        is_program: @words begin with another program
        more: for subprocess.Popen()
        """
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.STDOUT, "text": True, "env": self.environment, **more}
        program = [] if is_program else [self.program]
        with subprocess.Popen([*self.before, *program, *words], **more) as started:
            try:
                yield started
            finally:
                started.kill()
