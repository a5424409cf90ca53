# SPDX-License-Identifier: GPL-2.0
"""Those who only look: many readers of events, most of which never read; watches on the devices and
their directory whose events nobody takes; mounts of the devices in user namespaces."""
import contextlib
import ctypes
import errno
import os
import time

import hostile
from anybinder.driver import LIBC, Client, ioctl

READERS, READERS_MAX = 1000, 16
GROUPS = 32    # the kernel takes its time to end one
PR_SET_DUMPABLE = 4
CLONE_NEWNS = 0x20000
MS_BIND, MS_PRIVATE, MS_REC, MNT_DETACH = 4096, 1 << 18, 16384, 2
IN_ALL_EVENTS = 0xFFF
BINDER_VERSION = 0xC0046209
FAN_REPORT_FID, FAN_MARK_ADD = 0x200, 1
FAN_ALL = 0x1 | 0x2 | 0x8 | 0x10 | 0x20    # access, modify, close, open
SYS_PIVOT_ROOT = 155    # x86-64


def read_nothing(ready, path):
    """The owner may read events; a user may not. One of as many readers as there may be reads."""
    log = os.path.join(os.path.dirname(path), "binder_logs", "events")
    readers = []
    for _ in range(READERS):
        with contextlib.suppress(OSError):
            readers.append(os.open(log, os.O_RDWR | os.O_NONBLOCK))
            os.write(readers[-1], b"0xffffffff")
    assert len(readers) == READERS_MAX, len(readers)
    ready()
    while True:
        with contextlib.suppress(BlockingIOError):
            os.read(readers[0], 1 << 17)
        time.sleep(0.01)


def test_events():
    """1,000 opens by the owner: most are refused, and 15 of the others never read."""
    hostile.attack("watching-events", "1,000 readers of events, of whom 15 never read",
                   lambda path: hostile.users((0, read_nothing, path))).check(memory=False)


def watch(ready, path):
    """Groups of inotify and fanotify, which are full after a while."""
    directory = os.path.dirname(path)
    kept = []
    while len(kept) < GROUPS and (fd := LIBC.inotify_init1(0)) >= 0:
        for name in (path, directory):
            LIBC.inotify_add_watch(fd, name.encode(), IN_ALL_EVENTS)
        kept.append(fd)
    LIBC.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int,
                                   ctypes.c_char_p]
    groups = marks = 0
    while groups < GROUPS and (fd := LIBC.fanotify_init(FAN_REPORT_FID, os.O_RDONLY)) >= 0:
        groups += 1
        marks += LIBC.fanotify_mark(fd, FAN_MARK_ADD, FAN_ALL, -100, path.encode()) == 0
    print(f"  {len(kept)} inotify groups, {groups} of fanotify with {marks} marks", flush=True)
    assert kept
    ready()
    while True:
        client = Client(path)
        client.write_read(b"", 0)
        client.close()


def test_watches():
    hostile.attack("watching-files", "inotify and fanotify on the devices, never read",
                   lambda path: hostile.users((hostile.ATTACKER, watch, path))).check()


def call(function, *args):
    assert function(*args) == 0, os.strerror(ctypes.get_errno())


def mount_inside(path, uid):
    """In namespaces of its own: binds the devices' directory to a tmpfs, makes that the root, opens
    a device there, and leaves."""
    call(LIBC.unshare, hostile.CLONE_NEWUSER | CLONE_NEWNS)
    call(LIBC.prctl, PR_SET_DUMPABLE, 1, 0, 0, 0)    # else /proc/self is root's
    for name, text in ("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {uid} 1"):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    call(LIBC.mount, None, b"/", None, MS_REC | MS_PRIVATE, None)
    call(LIBC.mount, b"none", b"/mnt", b"tmpfs", 0, None)
    os.mkdir("/mnt/devices")
    os.mkdir("/mnt/old")
    call(LIBC.mount, os.path.dirname(path).encode(), b"/mnt/devices", None, MS_BIND | MS_REC, None)
    call(LIBC.syscall, SYS_PIVOT_ROOT, b"/mnt", b"/mnt/old")
    os.chdir("/")
    fd = os.open("/devices/binder", os.O_RDWR)
    ioctl(fd, BINDER_VERSION, ctypes.create_string_buffer(4))
    call(LIBC.umount2, b"/devices", MNT_DETACH)
    ioctl(fd, BINDER_VERSION, ctypes.create_string_buffer(4))


def mount_always(ready, path):
    begun = False
    while True:
        pid = os.fork()
        if not pid:
            with hostile.exit_at_end():
                mount_inside(path, hostile.ATTACKER)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status and not os.path.exists(path):
            raise OSError(errno.ENOTCONN, "the daemon has ended")
        assert not status, status
        if not begun:
            ready()
            begun = True


def test_mounts():
    hostile.need_user_namespaces()
    # The path must be open to the user in the directory that is bound.
    hostile.attack("watching-mounts", "4 processes mount and pivot_root in user namespaces",
                   lambda path: hostile.users(*[(hostile.ATTACKER, mount_always, path)] * 4)
                   ).check()
