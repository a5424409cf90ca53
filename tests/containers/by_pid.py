#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What is asked by pid is asked in the caller's pid namespace.

    by_pid.py inside DEVICE        in a container: freezes and thaws itself by its own number,
                                   says "ready" and waits to be killed
    by_pid.py outside DEVICE PID   in the daemon's namespace: freezes the process and thaws it
"""
import fcntl
import os
import signal
import struct
import sys

BINDER_FREEZE = 0x400c620e
BINDER_GET_FROZEN_INFO = 0xc00c620f
TIMEOUT_MS = 1000


def answers(device, pid):
    """What freezing, asking and thawing give: 0 or the errno."""
    for number, enable in ((BINDER_FREEZE, 1), (BINDER_GET_FROZEN_INFO, 0), (BINDER_FREEZE, 0)):
        try:
            fcntl.ioctl(device, number, bytearray(struct.pack("III", pid, enable, TIMEOUT_MS)))
            yield 0
        except OSError as error:
            yield error.errno


def main(where, path, pid=os.getpid()):
    device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    given = list(answers(device, int(pid)))
    if any(given):
        sys.exit(f"freezing, asking and thawing {pid}: errno {given}")
    if where == "inside":
        print("ready", flush=True)
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
