#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One user who opens a device as often as possible: as several users of a user namespace, and where
the daemon has few descriptors."""
import contextlib
import os
import resource
import signal

import hostile
from binder_client import Client, LIBC

CLONE_NEWUSER = 0x10000000
LIMIT = 8
SUBUIDS, NR_SUBUIDS = 3910000, 1000
FEW_FILES = 64


def open_all(path, most=1000):
    """As many opens as there may be."""
    opens = []
    with contextlib.suppress(OSError):
        while len(opens) < most:
            opens.append(os.open(path, os.O_RDWR))
    return opens


def wait_for_ever():
    """Until it is killed, with its group."""
    while True:
        signal.pause()


def open_as(ready, path, expected):
    """Keeps as many opens as possible, whose number is checked."""
    kept = open_all(path)
    if len(kept) in expected:
        ready()
        wait_for_ever()
    print(len(kept), "opens, expected were", expected)


def write_map(name, pid, text):
    with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
        file.write(text)


def enter_namespace(to_parent, from_parent):
    assert not LIBC.unshare(CLONE_NEWUSER)
    os.write(to_parent, b"x")
    assert os.read(from_parent, 1) == b"x"


def in_namespace(ready, path, depth):
    """A user with a range of user ids in a namespace of its own (as newuidmap(1) gives them), which
    opens the device as each of them."""
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    pid = os.fork()
    if pid:
        os.close(to_parent)
        assert os.read(from_child, 1) == b"x"
        write_map("uid_map", pid, f"0 {hostile.ATTACKER} 1\n1 {SUBUIDS} {NR_SUBUIDS}\n")
        write_map("gid_map", pid, "0 0 1\n")
        os.write(to_child, b"x")
        assert os.waitpid(pid, 0) == (pid, 0)
        ready()
        return
    with hostile.exit_at_end():
        os.setresuid(hostile.ATTACKER, hostile.ATTACKER, hostile.ATTACKER)
        enter_namespace(to_parent, from_parent)
        open_as_each(path, depth)


def open_as_each(path, depth):
    """All together must get LIMIT opens; else the whole process group is killed."""
    kept = open_all(path, LIMIT // 2)
    for uid in (1, 2, 3, NR_SUBUIDS):
        to_child, from_child = os.pipe()
        if not os.fork():
            with hostile.exit_at_end():
                os.setresuid(uid, uid, uid)
                assert not depth or not LIBC.unshare(CLONE_NEWUSER)
                kept += open_all(path)
                os.write(from_child, b"%d" % len(kept))
                wait_for_ever()
        os.close(from_child)
        if int(os.read(to_child, 10)) != (LIMIT if uid == 1 else LIMIT // 2):
            print("too many opens, or too few", flush=True)
            os.killpg(0, signal.SIGKILL)


def check_namespace(depth):
    with hostile.daemon(f"--max-procs-per-uid={LIMIT}") as path, \
            hostile.user(hostile.SERVER, hostile.serve, path), \
            hostile.user(0, in_namespace, path, depth):
        Client(path).call(b"hello")
        with hostile.user(hostile.HONEST, open_as, path, [LIMIT]):
            pass


def user_ids_of_a_namespace_count_as_one_user():
    check_namespace(0)


def user_ids_of_a_nested_namespace_count_as_the_same_user():
    check_namespace(1)


def share_few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, FEW_FILES))
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(hostile.daemon())
        stack.enter_context(hostile.user(hostile.ATTACKER, open_as, path, range(1, 8)))
        stack.enter_context(hostile.user(hostile.SERVER, hostile.serve, path))
        hostile.measure(path, 0.3)    # the victim gets one, too
        for uid in range(SUBUIDS, SUBUIDS + 8):    # all that is there for users
            stack.enter_context(hostile.user(uid, open_as, path, range(8)))
        client = Client(path)    # root
        assert client.call(b"hello") == b"hello"


def few_descriptors_are_shared():
    pid = os.fork()
    if not pid:
        with hostile.exit_at_end():
            share_few_descriptors()
    assert os.waitpid(pid, 0) == (pid, 0)


hostile.run("hostile-opens", user_ids_of_a_namespace_count_as_one_user,
            user_ids_of_a_nested_namespace_count_as_the_same_user, few_descriptors_are_shared)
