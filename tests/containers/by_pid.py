#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What is asked by pid is asked in the daemon's pid namespace, wherever the caller is.

    by_pid.py inside DEVICE        in a container: cannot freeze itself by its own number, says
                                   "ready" and waits to be killed
    by_pid.py outside DEVICE PID   in the daemon's namespace: freezes the process and thaws it
"""
import errno
import fcntl
import os
import signal
import struct
import sys

BINDER_FREEZE = 0x400c620e
BINDER_GET_FROZEN_INFO = 0xc00c620f
TIMEOUT_MS = 1000


def freeze(device, pid, enable):
    """0 or the errno."""
    try:
        fcntl.ioctl(device, BINDER_FREEZE, struct.pack("III", pid, enable, TIMEOUT_MS))
    except OSError as err:
        return err.errno
    return 0


def frozen_info(device, pid):
    """0 or the errno."""
    try:
        fcntl.ioctl(device, BINDER_GET_FROZEN_INFO, bytearray(struct.pack("III", pid, 0, 0)))
    except OSError as err:
        return err.errno
    return 0


def inside(device):
    pid = os.getpid()
    for name, result in (("freeze", freeze(device, pid, 1)), ("info", frozen_info(device, pid))):
        if result != errno.EINVAL:
            sys.exit(f"{name} of the own pid {pid}: errno {result}, want EINVAL")
    print("ready", flush=True)
    signal.pause()


def outside(device, pid):
    for name, result in (("freeze", freeze(device, pid, 1)), ("info", frozen_info(device, pid)),
                         ("thaw", freeze(device, pid, 0))):
        if result:
            sys.exit(f"{name} of {pid}: {os.strerror(result)}")


def main():
    device = os.open(sys.argv[2], os.O_RDWR | os.O_CLOEXEC)
    if sys.argv[1] == "inside":
        inside(device)
    outside(device, int(sys.argv[3]))


if __name__ == "__main__":
    main()
