# SPDX-License-Identifier: GPL-2.0
"""The programs in C that attack: hostile-flood and hostile-uring."""
import functools
import os
import subprocess
import time

import hostile
from anybinder.process import program


@functools.cache
def opened(name):
    """The descriptor by which a user executes a program: its path may be closed to the user."""
    return os.open(program(name), os.O_RDONLY)


def run(ready, path, executable, *args):
    """Runs it on a device that the victims do not use. For hostile.users()."""
    device = os.path.join(os.path.dirname(path), "hwbinder")
    with subprocess.Popen([f"/proc/self/fd/{executable}", device, *args], stdout=subprocess.PIPE,
                          pass_fds=[executable]) as process:
        assert process.stdout.readline() == b"begun\n"
        ready()
        time.sleep(1000)


def flood_by(user, kind, count):
    """A load of that user: see flood.c."""
    return lambda path: hostile.users((user, run, path, opened("hostile-flood"), kind, str(count)))
