#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Users who keep the service manager busy, and another one who only looks a service up.

  manager_test.py ANYBINDER    the program; TEST=WORD runs the tests with WORD in their names

Each test is a function named after what it shows. Every lookup of the victim must succeed; how long
they take is printed, beside a load of as many processes that call the driver and leave the service
manager alone. Needs root, to become the users.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(TOP / "tests/tools/servicemanager"), str(TOP / "tests/daemon/hostile"),
             str(TOP / "tests/daemon")]
# pylint: disable=wrong-import-position
import harness
import hidl
import hostile
import parcels
import victims
from harness import CALLBACK, SERVICE, TF_ONE_WAY, Failed, raw
from hostile import ATTACKER, HONEST, SERVER, VICTIM

LEVEL = "36"
NAME, INTERFACE = "victim.service", "victim@1.0::IVictim"
ATTACKED = "attacker@1.0::IAttacker"
# `_PNG` and `_NTF` of libbinder.
PING, DESCRIPTOR = (struct.unpack(">I", text)[0] for text in (b"_PNG", b"_NTF"))
NR_INSTANCES, NR_NAMES, NAME_LENGTH = 2000, 3000, 127
NR_CALLBACKS = 256    # MAX_CALLBACKS of tools/servicemanager/src/callbacks.rs
NR_PROCESSES = 12
NR_DYING, NR_RING = 20, 8
ACCESSOR, ILLEGAL_STATE = "android.os.IAccessor/", -5
PER_USER = 200
MEMORY_KIB = 64 << 10
OTHERS = range(3900011, 3900015)
SUBUIDS = 3910000


# ---- clients ------------------------------------------------------------------------------------

class Client(harness.Client):
    """A client of AIDL. Its objects answer a ping and the question for their interface."""

    def incoming(self, argument, keep):
        fields = raw.TRANSACTION.unpack(argument)
        free = raw.free_buffer(argument)
        if fields[3] & TF_ONE_WAY:
            self.received.append(fields[2])
            return free
        reply = parcels.Parcel(LEVEL, None)
        if fields[2] == DESCRIPTOR:
            reply.string("victim.IService")
        return free + harness.command(raw.BC_REPLY, keep, reply)

    def call(self, method, fill=lambda parcel: parcel):
        keep = []
        parcel = fill(parcels.Parcel(LEVEL))
        code = parcels.CODES[LEVEL][method]
        argument, is_status = self.transact(
            harness.command(raw.BC_TRANSACTION, keep, parcel, code))
        reply = self.data_of(argument)
        self.write_read(raw.free_buffer(argument), 0)
        if is_status:
            raise Failed(struct.unpack("<i", reply)[0])
        return parcels.Reply(LEVEL, reply)

    def add(self, name):
        return self.call("add", lambda p: p.string(name).binder(SERVICE).int(0).int(8)).int()

    def find(self, name):
        return self.call("check", lambda p: p.string(name)).service("check")

    def names(self):
        reply = self.call("list", lambda p: p.int(15))
        assert reply.int() == 0
        return [reply.string() for _ in range(reply.int())]


class HidlClient(hidl.Client):
    def drain(self):
        """Takes the callbacks that are there. Returns how many."""
        count = 0
        while self.next_received(0.01):
            count += 1
        return count


def hidl_path(path):
    return os.path.join(os.path.dirname(path), "hwbinder")


def serve(ready, path):
    client = Client(path)
    assert client.add(NAME) == 0
    ready()
    client.serve_until_killed()


def serve_hidl(ready, path):
    client = HidlClient(hidl_path(path))
    assert client.add("default", SERVICE, [INTERFACE, hidl.BASE])
    ready()
    client.serve_until_killed()


def lookups(path):
    client = Client(path)

    def find():
        try:
            found = client.find(NAME)
        except Failed as failed:
            raise RuntimeError(failed) from failed
        if found is None:
            raise RuntimeError("not found")

    return find


def hidl_lookups(path):
    client = HidlClient(hidl_path(path))

    def get():
        try:
            found = client.get(INTERFACE, "default")
        except Failed as failed:
            raise RuntimeError(failed) from failed
        if found is None:
            raise RuntimeError("not found")

    return get


victims.KINDS.update(lookups=(lookups, 0.002), hidl_lookups=(hidl_lookups, 0.002))


# ---- attacks ------------------------------------------------------------------------------------

def ask_for_all_instances(ready, path):
    """Registers instances of an interface, then callbacks for all of them, again and again."""
    client = HidlClient(hidl_path(path))
    for number in range(NR_INSTANCES):
        assert client.add(f"i{number}", SERVICE, [ATTACKED, hidl.BASE])
    is_ready = False
    while True:
        def fill(parcel):
            return parcel.string(ATTACKED).string("").binder(CALLBACK)

        assert client.is_done("watch", fill)
        # Some are dropped, if this process does not take them as fast as they are sent.
        assert client.drain() > 8, "nobody was called back"
        client.is_done("unwatch", fill)
        if not is_ready:
            ready()
            is_ready = True


def long_name(number):
    return f"a{number}".ljust(NAME_LENGTH, "x")


def register_long_names(ready, path):
    client = Client(path)
    for number in range(NR_NAMES):
        assert client.add(long_name(number)) == 0
    ready()
    client.serve_until_killed()


def call_many_back(ready, path):
    """Registers a name again and again that as many callbacks wait for as are allowed."""
    client = Client(path)
    name = f"attacker.{os.getpid()}"
    for number in range(NR_CALLBACKS):
        pointer = CALLBACK + 16 * number
        parcel = client.call("watch", lambda p, at=pointer: p.string(name).binder(at))
        assert parcel.int() == 0
    is_ready = False
    while True:
        assert client.add(name) == 0
        taken = 0
        while taken < NR_CALLBACKS and client.next_received(1) is not None:
            taken += 1
        assert taken, "nobody was called back"
        if not is_ready:
            ready()
            is_ready = True


def list_all(ready, path):
    client = Client(path)
    is_ready = False
    while True:
        # The number of lists that a user may have made at once is bounded.
        with contextlib.suppress(Failed):
            client.call("list", lambda p: p.int(15))
        if not is_ready:
            ready()
            is_ready = True


def check_one(ready, path):
    client = Client(path)
    ready()
    while True:
        assert client.find("attacker.none") is None


def list_by_number(ready, path):
    """As Android 9 and 10 do: the service with a number, the last of many here."""
    client = Client(path)
    is_ready = False
    while True:
        keep = []
        parcel = parcels.Parcel("29").int(NR_NAMES - 1).int(15)
        argument, is_status = client.transact(harness.command(
            raw.BC_TRANSACTION, keep, parcel, parcels.CODES["29"]["list"]))
        client.write_read(raw.free_buffer(argument), 0)
        # The number of such requests that a user may have at once is bounded.
        if not is_ready and not is_status:
            ready()
            is_ready = True


def register_and_die(ready, path):
    """Processes that register names and end, one after the other."""
    is_ready = False
    while True:
        pid = os.fork()
        if not pid:
            with hostile.exit_at_end():
                client = Client(path)
                for number in range(NR_DYING):
                    assert client.add(f"dying.{os.getppid()}.{number}") == 0
                    client.call("watch", lambda p: p.string(NAME).binder(CALLBACK))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        if not is_ready:
            ready()
            is_ready = True


def own_name(number):
    return f"unread.{os.getppid()}.{number}"


def watch_and_never_read(ready, path):
    """Callbacks for names of this user; no thread of this process reads them."""
    client = Client(path)
    for number in range(NR_CALLBACKS):
        pointer = CALLBACK + 16 * number
        parcel = client.call("watch", lambda p, at=pointer, name=own_name(number % 4):
                             p.string(name).binder(at))
        assert parcel.int() == 0
    ready()
    signal.pause()


def register_what_is_watched(ready, path):
    client = Client(path)
    is_ready = False
    while True:
        for number in range(4):
            assert client.add(own_name(number)) in (0, ILLEGAL_STATE)
        if not is_ready:
            ready()
            is_ready = True


def keep_ring_of_accessors(ready, path):
    """Services whose accessors are the services of the others. They answer no call."""
    client = Client(path)
    for number in range(NR_RING):
        for name, node in ((f"ring{number}", number),
                           (f"{ACCESSOR}ring{number}", (number + 1) % NR_RING),
                           (f"{ACCESSOR}{ACCESSOR}ring{number}", number)):
            assert client.call("add", lambda p, name=name, node=node: p.string(name).binder(
                SERVICE + 16 * node).int(0).int(8)).int() == 0
    ready()
    signal.pause()


def look_ring_up(ready, path):
    client = Client(path)
    is_ready = False
    while True:
        for number in range(NR_RING):
            for method in ("check2", "check"):
                client.call(method, lambda p, n=number: p.string(f"ring{n}"))
        if not is_ready:
            ready()
            is_ready = True


def call_the_driver(ready, path):
    """The honest load: a device without a service manager."""
    hostile.repeat(ready, os.path.join(os.path.dirname(path), "vndbinder"), 64)


def fill_quota(ready, path, report):
    """Registers names until one is refused; writes how many there were to @report."""
    client = Client(path)
    count = 0
    while client.add(f"{report}.{os.getpid()}.{count}") == 0:
        count += 1
    os.write(report, struct.pack("<I", count))
    ready()
    client.serve_until_killed()


def fill_quota_in_namespace(ready, path, report):
    """The same as each of several ids of one user's namespace, given as newuidmap(1) does."""
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    pid = os.fork()
    if not pid:
        with hostile.exit_at_end():
            os.setresuid(ATTACKER, ATTACKER, ATTACKER)
            assert not raw.LIBC.unshare(hostile.CLONE_NEWUSER)
            os.write(to_parent, b"u")
            assert os.read(from_parent, 1) == b"x"
            for uid in (1, 2, 3, 4):
                fill_as(uid, path, report)
            os.write(to_parent, b"f")
            signal.pause()
    os.close(to_parent)
    assert os.read(from_child, 1) == b"u"
    for kind, text in (("uid", f"0 {ATTACKER} 1\n1 {SUBUIDS} 10\n"), ("gid", "0 0 1\n")):
        pathlib.Path(f"/proc/{pid}/{kind}_map").write_text(text, encoding="ascii")
    os.write(to_child, b"x")
    assert os.read(from_child, 1) == b"f"
    ready()
    signal.pause()


def fill_as(uid, path, report):
    """In a process of its own, which stays."""
    is_full, say = os.pipe()
    if not os.fork():
        with hostile.exit_at_end():
            os.setresuid(uid, uid, uid)
            fill_quota(lambda: os.write(say, b"x"), path, report)
    os.close(say)
    assert os.read(is_full, 1) == b"x"
    os.close(is_full)


# ---- tests --------------------------------------------------------------------------------------

def see(path, kind, load):
    """What a victim sees during a load that has begun; a load: (uid, function) of each process."""
    with hostile.users(*[(uid, function, path) for uid, function in load]):
        with hostile.Victim(path, kind) as victim:
            time.sleep(hostile.SECONDS)
    return victim.seen


def attack(title, path, kind, load):
    """Prints what a victim sees beside an honest load of the same size, and beside the attack."""
    honest = [(HONEST, call_the_driver)] * len(load)
    seen = {"honest": see(path, kind, honest), "attacked": see(path, kind, load)}
    print(title)
    for phase, result in seen.items():
        print(f"  {phase + ':':10}{result}", flush=True)
    for phase, result in seen.items():
        assert not result.failed and not result.stopped, f"{phase}: {result}"


def say(manager, *words):
    """What the command prints for the victim, which must succeed."""
    state = os.path.join(manager.directory, "victim")
    if not os.path.isdir(state):
        os.mkdir(state, 0o700)
        os.chown(state, VICTIM, VICTIM)
    command = [harness.ANYBINDER, "--mount", os.path.dirname(manager.path()), "--state-dir", state]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    done = subprocess.run([*command, *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60,
                          user=VICTIM, group=VICTIM, extra_groups=[], cwd="/", env=environment)
    assert done.returncode == 0, f"{words}: {done.returncode}: {done.stdout[-400:]}"
    return done.stdout


def instances_without_end_delay_no_lookup(manager):
    path = manager.path()
    with hostile.user(SERVER, serve_hidl, path):
        attack(f"{NR_INSTANCES} instances and callbacks for all", path, "hidl_lookups",
               [(ATTACKER, ask_for_all_instances)])


def long_names_hide_no_service(manager):
    path = manager.path()
    with hostile.user(SERVER, serve, path):
        attack(f"{NR_NAMES} names of {NAME_LENGTH} characters", path, "lookups",
               [(ATTACKER, register_long_names)])
        with hostile.user(ATTACKER, register_long_names, path):
            assert NAME in say(manager, "list")
            say(manager, "check", NAME)
            say(manager, "ping", NAME)
            client = Client(path)
            names = client.names()
            client.close()
            # The list was cut, and not at the cost of another user.
            assert NAME in names and "manager" in names
            assert 0 < sum(name.startswith("a") for name in names) < NR_NAMES


def requests_take_turns_between_users(manager):
    path = manager.path()
    with hostile.user(SERVER, serve, path):
        attack(f"a name with {NR_CALLBACKS} callbacks", path, "lookups",
               [(ATTACKER, call_many_back)])
        with hostile.user(ATTACKER, register_long_names, path):
            attack(f"{NR_PROCESSES} processes list {NR_NAMES} long names", path, "lookups",
                   [(ATTACKER, list_all)] * NR_PROCESSES)
        attack(f"{NR_PROCESSES} processes look a name up", path, "lookups",
               [(ATTACKER, check_one)] * NR_PROCESSES)


def services_that_die_delay_no_lookup(manager):
    path = manager.path()
    with hostile.user(SERVER, serve, path):
        attack(f"4 processes register {NR_DYING} names and die, again and again", path, "lookups",
               [(ATTACKER, register_and_die)] * 4)
        harness.until(lambda: "dying." not in say(manager, "list"), 60)


def callbacks_that_are_never_read_are_dropped(manager):
    path = manager.path()
    with hostile.user(SERVER, serve, path):
        before = manager.memory_kib()
        attack(f"{NR_CALLBACKS} callbacks, never read, for names that are registered again and "
               "again", path, "lookups",
               [(ATTACKER, watch_and_never_read), (ATTACKER, register_what_is_watched)])
        assert manager.memory_kib() < before + MEMORY_KIB, (before, manager.memory_kib())


def accessors_in_a_ring_delay_no_lookup(manager):
    path = manager.path()
    with hostile.user(SERVER, serve, path):
        with hostile.user(ATTACKER, keep_ring_of_accessors, path):
            attack(f"{NR_PROCESSES} processes look up services that are each other's accessors",
                   path, "lookups", [(ATTACKER, look_ring_up)] * NR_PROCESSES)
            assert NAME in say(manager, "list")
            say(manager, "ping", NAME)


def lists_by_number_delay_no_lookup(manager):
    path = manager.path()
    with hostile.user(SERVER, serve, path), hostile.user(ATTACKER, register_long_names, path):
        attack(f"{NR_PROCESSES} processes ask for the last of {NR_NAMES} services by its number",
               path, "lookups", [(ATTACKER, list_by_number)] * NR_PROCESSES)


def counts_of(loads, stack):
    """Starts the loads, (uid, function, path), one after another. Returns what each reports."""
    counts = []
    for uid, function, path in loads:
        output, report = os.pipe()
        stack.enter_context(hostile.user(uid, function, path, report))
        os.close(report)
        text = b""
        while len(text) < (16 if function is fill_quota_in_namespace else 4):
            text += os.read(output, 16)
        os.close(output)
        counts.append([count for count, in struct.iter_unpack("<I", text)])
    return counts


def users_at_their_quota_leave_room(manager):
    """The ids of a namespace count as its maker; so many users more leave something to others."""
    del manager
    hostile.need_user_namespaces()
    with harness.Manager("--max-per-user", str(PER_USER)) as small, contextlib.ExitStack() as stack:
        path = small.path()
        stack.enter_context(hostile.user(SERVER, serve, path))
        counts = counts_of([(0, fill_quota_in_namespace, path)]
                           + [(uid, fill_quota, path) for uid in OTHERS], stack)
        print(f"{PER_USER} for each user; 4 ids of a namespace have {counts[0]}, then other users "
              f"{counts[1:]}")
        assert sum(counts[0]) == PER_USER and counts[0][0] == PER_USER, counts
        assert all(0 < one <= PER_USER for (one,) in counts[1:]), counts
        with hostile.user(VICTIM, serve_own, path):
            seen = see(path, "lookups", [])
        print(f"  lookups:  {seen}")
        assert not seen.failed and not seen.stopped, seen


def serve_own(ready, path):
    client = Client(path)
    assert client.add("victim.late") == 0
    assert client.find("victim.late") is not None
    ready()
    client.serve_until_killed()


TESTS = (instances_without_end_delay_no_lookup, long_names_hide_no_service,
         requests_take_turns_between_users, services_that_die_delay_no_lookup,
         callbacks_that_are_never_read_are_dropped, accessors_in_a_ring_delay_no_lookup,
         lists_by_number_delay_no_lookup, users_at_their_quota_leave_room)


def main():
    if os.geteuid() or not os.path.exists("/dev/fuse"):
        print(f"SKIP needs root and /dev/fuse\nhostile manager: 0 passed, 0 failed, {len(TESTS)} "
              "skipped")
        return
    wanted = os.environ.get("TEST", "")
    # The users may not be able to reach the build directory.
    with tempfile.TemporaryDirectory(prefix="hostile-manager-") as scratch:
        os.chmod(scratch, 0o755)
        for name in ("anybinder", "anybinderd"):
            shutil.copy(os.path.join(os.path.dirname(harness.ANYBINDER), name), scratch)
        harness.ANYBINDER = os.path.join(scratch, "anybinder")
        with harness.Manager(managers="binder,hwbinder") as manager:
            def bind(test):
                def run():
                    test(manager)

                run.__name__ = test.__name__
                return run

            hostile.run("hostile manager", *[bind(test) for test in TESTS
                                             if wanted in test.__name__])


if __name__ == "__main__":
    main()
