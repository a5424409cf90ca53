# SPDX-License-Identifier: Apache-2.0
"""The command whose exit status and text are looked at, and the system of its tests."""
import re

USER = 12345
# A system without the package, whatever this machine has: a /dev without devices of Binder, and a
# /run of its own.
SYSTEM = f"""
mount -t tmpfs -o mode=755 tmpfs /dev
mknod -m 666 /dev/fuse c 10 229
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/zero c 1 5
mknod -m 666 /dev/full c 1 7
mknod -m 666 /dev/urandom c 1 9
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 700 /run/user
chown {USER}:{USER} /run/user
"""


class Checked:
    """Runs the command and looks at its exit status and at what it prints."""

    def __init__(self, command):
        self.command = command

    def __call__(self, status, pattern, *words, program=None, **more):
        """pattern: a regular expression, in which ^ and $ are those of any line."""
        program = [program] if isinstance(program, str) else program
        if program is None:
            got, text = self.command.outcome(*words, **more)
        else:
            done = self.command.execute(*program, *words, **more)
            got, text = done.returncode, done.stdout + done.stderr
        text = text.rstrip("\n")
        assert got == status and re.search(pattern, text, re.M), \
            f"{words}: status {got}, wanted {status} and {pattern!r} in:\n{text}"
        return text

    def shell(self, status, pattern, script):
        """A script in which $A is the command."""
        return self(status, pattern, "-c", script, program="sh",
                    environment={"A": self.command.program})
