# SPDX-License-Identifier: GPL-2.0
"""One user who opens a device as often as possible: as several users of a user namespace, where the
daemon has few descriptors, and in many processes at a time; or who locks the directory of the
devices."""
import contextlib
import errno
import os
import resource
import signal
import struct
import time

import hostile
from anybinder.driver import LIBC, Client
from test_bound import bound

CLONE_NEWPID = 0x20000000
LIMIT = 8
SUBUIDS, NR_SUBUIDS = 3910000, 1000
FEW_FILES = 64
# Processes that open at a time. Unless they take turns, each open takes some MANY / 2 LOOKUPs; else
# two or three, and the same for each thread that looks the device up at the same time.
MANY = 200
LOOKUPS = MANY / 5


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
    print(len(kept), "opens, expected were", expected, flush=True)


def write_map(name, pid, text):
    with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
        file.write(text)


def enter_namespace(to_parent, from_parent):
    assert not LIBC.unshare(hostile.CLONE_NEWUSER)
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
                assert not depth or not LIBC.unshare(hostile.CLONE_NEWUSER)
                kept += open_all(path)
                os.write(from_child, b"%d" % len(kept))
                wait_for_ever()
        os.close(from_child)
        if int(os.read(to_child, 10)) != (LIMIT if uid == 1 else LIMIT // 2):
            print("too many opens, or too few", flush=True)
            os.killpg(0, signal.SIGKILL)


def check_namespace(depth):
    hostile.need_user_namespaces()
    with hostile.daemon(f"--max-procs-per-uid={LIMIT}") as path, \
            hostile.user(hostile.SERVER, hostile.serve, path), \
            hostile.user(0, in_namespace, path, depth):
        Client(path).call(b"hello")
        with hostile.user(hostile.HONEST, open_as, path, [LIMIT]):
            pass


def test_user_ids_of_a_namespace_count_as_one_user():
    check_namespace(0)


def test_user_ids_of_a_nested_namespace_count_as_the_same_user():
    check_namespace(1)


def open_in_container(ready, path):
    """As root, in a pid namespace of its own."""
    assert not LIBC.unshare(CLONE_NEWPID)
    pid = os.fork()
    if not pid:
        with hostile.exit_at_end():
            open_as(ready, path, [LIMIT])
    os.waitpid(pid, 0)


def test_opens_of_each_container_are_limited():
    with hostile.daemon("--limit-containers", f"--max-procs-per-uid={LIMIT}") as path, \
            hostile.user(0, open_in_container, path), hostile.user(0, open_in_container, path):
        opens = open_all(path, 2 * LIMIT)    # root outside has no limit
        for fd in opens:
            os.close(fd)
        assert len(opens) == 2 * LIMIT


def share_few_descriptors():
    hostile.limit_files(FEW_FILES)
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(hostile.daemon())
        stack.enter_context(hostile.user(hostile.ATTACKER, open_as, path, range(1, 8)))
        stack.enter_context(hostile.user(hostile.SERVER, hostile.serve, path))
        hostile.measure(path, 0.3)    # the victim gets one, too
        for uid in range(SUBUIDS, SUBUIDS + 8):    # all that is there for users
            stack.enter_context(hostile.user(uid, open_as, path, range(8)))
        client = Client(path)    # root
        assert client.call(b"hello") == b"hello"


def test_few_descriptors_are_shared():
    pid = os.fork()
    if not pid:
        with hostile.exit_at_end():
            share_few_descriptors()
    assert os.waitpid(pid, 0) == (pid, 0)


def lookups(path):
    """The LOOKUPs of devices that the daemon has answered: each creates an inode."""
    return os.stat(path).st_ino


def open_together(ready, path, result):
    wait, go = os.pipe()
    opened, done = os.pipe()
    for _ in range(MANY):
        if not os.fork():
            with hostile.exit_at_end():
                os.close(go)
                os.read(wait, 1)    # until the other end is closed
                os.open(path, os.O_RDWR)
                os.write(done, b"x")
                wait_for_ever()
    before = lookups(path)
    os.close(go)
    for _ in range(MANY):
        os.read(opened, 1)
    os.write(result, b"%d" % (lookups(path) - before))
    ready()
    wait_for_ever()


def test_opens_at_the_same_time_take_turns():
    output, result = os.pipe()
    with hostile.daemon() as path, hostile.user(hostile.HONEST, open_together, path, result):
        per_open = int(os.read(output, 20)) / MANY
    print(f"{MANY} opens at the same time: {per_open:.1f} LOOKUPs for each")
    assert per_open < LOOKUPS


def look_up_until_the_end(way):
    """Of the daemon."""
    while True:
        try:
            way()
        except (FileExistsError, PermissionError):
            pass
        except OSError as error:
            assert error.errno in (errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT)
            return


def look_up(ready, path):
    """In all ways in which threads come to have the directory locked, or the name looked up, while
    they wait for their turns."""
    ways = [lambda: os.close(os.open(path, os.O_RDWR)), lambda: os.stat(path),
            lambda: os.close(os.open(path, os.O_RDWR | os.O_CREAT)), lambda: os.mkdir(path),
            lambda: os.unlink(path), lambda: os.close(os.open(path, os.O_PATH))]
    for number in range(MANY):
        if not os.fork():
            with hostile.exit_at_end():
                look_up_until_the_end(ways[number % len(ways)])
    ready()
    wait_for_ever()


def open_and_end(ready, path):
    for _ in range(10):
        os.close(os.open(path, os.O_RDWR))
    ready()


def test_lookups_that_wait_are_in_no_ones_way():
    with hostile.Daemon() as server:
        with hostile.user(hostile.ATTACKER, look_up, server.path()):
            with hostile.user(hostile.VICTIM, open_and_end, server.path()):
                pass
        # all of them were killed, and are gone
        with contextlib.suppress(AssertionError), \
                hostile.user(hostile.ATTACKER, look_up, server.path()):    # they notice its end
            took = server.end()
    assert took < hostile.ENDS_S, "the daemon does not end"


def keep_paths(path, most):
    """As many O_PATH opens as there may be, in as many processes as that takes. Returns how many,
    and the errno that ends them."""
    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1:] * 2)
    kept = []
    try:
        while len(kept) < most:
            kept.append(os.open(path, os.O_PATH))
    except OSError as error:
        return kept, error.errno
    return kept, 0


def keep_paths_until_refused(ready, path, result):
    kept, why = keep_paths(path, 100000)
    os.write(result, struct.pack("<II", len(kept), why))
    ready()
    wait_for_ever()


def keep_reports_until_refused(ready, path, result):
    """A report of a process that no longer has the device open: its name has gone."""
    report = os.path.join(os.path.dirname(path), "binder_logs/proc", str(os.getpid()))
    why, kept = 0, []
    try:
        while len(kept) < 100000:
            device = os.open(path, os.O_RDWR)
            kept.append(os.open(report, os.O_PATH))
            os.close(device)
            hostile.until(lambda: not os.path.exists(report), 30)
    except OSError as error:
        why = error.errno
    os.write(result, struct.pack("<II", len(kept), why))
    ready()
    wait_for_ever()


def open_once(ready, path):
    os.close(os.open(path, os.O_RDWR))
    ready()
    wait_for_ever()


def check_paths(attack):
    """The user gets what its limit allows, and no other user less; then all is given back."""
    output, result = os.pipe()
    with hostile.daemon(f"--max-procs-per-uid={LIMIT}") as path:
        for _ in range(2):
            with hostile.user(hostile.ATTACKER, attack, path, result):
                count, why = struct.unpack("<II", os.read(output, 8))
                assert why == errno.ENFILE, f"{count} of them, then {errno.errorcode.get(why)}"
                assert 1000 < count <= 1024 + 2 * LIMIT, count
                with hostile.user(hostile.VICTIM, open_once, path):
                    pass
        Client(path).close()


def test_paths_of_a_user_are_limited():
    check_paths(keep_paths_until_refused)


def test_paths_of_reports_that_have_gone_are_limited():
    check_paths(keep_reports_until_refused)


def hold_paths(path):
    """Each of many processes keeps some hundred inodes, and renews them without a pause."""
    def hold(ready):
        ready()
        while True:
            with contextlib.suppress(OSError):
                for fd in keep_paths(path, 300)[0]:
                    os.close(fd)

    return hostile.users(*[(hostile.ATTACKER, hold)] * 40)


def test_paths_without_end_delay_no_one():
    hostile.attack("opens-path", "40 processes with hundreds of O_PATH opens each", hold_paths,
                   lambda path: hold_paths(os.devnull), seconds=max(3, hostile.SECONDS)).check()


# ---- the directory ------------------------------------------------------------------------------
#
# Processes have the kernel lock it without a pause. The daemon cannot help: the kernel takes the
# lock before it asks. What can be done is that others need no such lock, or that only some may
# reach the directory.

LOCKERS = 400 if hostile.TABLE else 40
LOOKS = 100 if hostile.TABLE else 10
# The daemon has ended, or this user may not search the directory.
OVER = errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT
REFUSED = errno.EEXIST, errno.EPERM, errno.EACCES


def lock_the_directory(ready, path):
    """All of these are refused."""
    ways = [lambda: os.rename(path, path + "2"), lambda: os.unlink(path), lambda: os.mkdir(path),
            lambda: os.close(os.open(path + "3", os.O_RDWR | os.O_CREAT))]
    for number in range(LOCKERS):
        if not os.fork():
            with hostile.exit_at_end():
                while True:
                    try:
                        ways[number % len(ways)]()
                    except OSError as error:
                        if error.errno in OVER:
                            break
                        assert error.errno in REFUSED, error
    ready()
    time.sleep(1000)


def open_in_turn(ready, path, result):
    took = []
    for _ in range(LOOKS):
        begin = time.monotonic()
        os.close(os.open(path, os.O_RDWR))
        took.append(time.monotonic() - begin)
    took.sort()
    os.write(result, struct.pack("<dd", took[LOOKS // 2], took[-1]))
    ready()


def be_refused(ready, path):
    try:
        os.open(path, os.O_RDWR)
    except PermissionError:
        ready()


def open_beside(title, server, path):
    """The victim's opens succeed; how long they take is printed."""
    output, result = os.pipe()
    with hostile.user(hostile.ATTACKER, lock_the_directory, server.path()), \
            hostile.user(hostile.VICTIM, open_in_turn, path, result):
        pass
    half, worst = struct.unpack("<dd", os.read(output, 16))
    print(f"{LOCKERS} processes lock the directory; opens {title}: p50 {1000 * half:.1f}, worst "
          f"{1000 * worst:.1f} ms", flush=True)


def test_opens_in_the_directory_succeed():
    with hostile.Daemon() as server:
        open_beside("in it", server, server.path())


def test_a_bound_file_needs_no_directory():
    with hostile.Daemon() as server, bound(server, server.directory) as path:
        open_beside("of a bind mount of the file", server, path)


def test_a_directory_of_a_group_is_not_reached():
    with hostile.Daemon() as server:
        os.chown(server.mnt, 0, hostile.VICTIM)
        os.chmod(server.mnt, 0o750)
        open_beside("by the group that alone may search it", server, server.path())
        with hostile.user(hostile.ATTACKER, be_refused, server.path()):
            pass
