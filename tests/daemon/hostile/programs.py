# SPDX-License-Identifier: GPL-2.0
"""The programs in C that attack: hostile-flood and hostile-uring."""
import os
import subprocess
import time

import hostile


def _open(name):
    """A program is executed by its descriptor: its path may be closed to the user."""
    return os.open(os.path.join(os.path.dirname(hostile.PROGRAM), name), os.O_RDONLY)


FLOOD, URING = _open("hostile-flood"), _open("hostile-uring")


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
    return lambda path: hostile.users((user, run, path, FLOOD, kind, str(count)))
