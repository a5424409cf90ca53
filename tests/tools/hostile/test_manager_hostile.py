# SPDX-License-Identifier: GPL-2.0
"""Users who keep the service manager busy, and another one who only looks a service up.

Every lookup of the victim must succeed; how long they take is printed, beside a load of as many
processes that call the driver and leave the service manager alone.
"""
import contextlib
import os
import pathlib
import signal
import struct
import sys
import time

import pytest
from anybinder import hidl, servicemanager
from anybinder.bus import Bus
from anybinder.driver import BC_ENTER_LOOPER, INTERFACE as DESCRIPTOR, Client as Device, Failed
from anybinder.parcel import Parcel
from anybinder.process import (LIBC, PATIENCE_S, as_user, fork, is_running, memory_kib, ready_child,
                               run_child, until)
from anybinder.servicemanager import CALLBACK, ILLEGAL_STATE, SERVICE

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "daemon/hostile"))
import victims    # pylint: disable=wrong-import-position

# Users without a name or a process on any ordinary machine.
SERVER, VICTIM, HONEST, ATTACKER = range(3900001, 3900005)
NAME, INTERFACE = "victim.service", "victim@1.0::IVictim"
ATTACKED = "attacker@1.0::IAttacker"
NR_INSTANCES, NR_NAMES, NAME_LENGTH = 2000, 3000, 127
NR_CALLBACKS = 256    # MAX_CALLBACKS of tools/servicemanager/src/registry/callbacks.rs
NR_PROCESSES = 12
NR_DYING, NR_RING = 20, 8
ACCESSOR = "android.os.IAccessor/"
PER_USER = 200
MEMORY_KIB = 64 << 10
OTHERS = range(3900011, 3900015)
SUBUIDS = 3910000
CLONE_NEWUSER = 0x10000000
SECONDS = 2    # of each load


# ---- clients ------------------------------------------------------------------------------------

class Client(servicemanager.Client):
    """A client of AIDL. Its objects answer a ping and the question for their interface."""

    def incoming(self, call):
        return Parcel().string("victim.IService") if call.code == DESCRIPTOR else Parcel()


class HidlClient(hidl.Client):
    def drain(self):
        """Takes the callbacks that come; some are dropped, if this process does not take them as
        fast as they are sent."""
        count = 0
        while self.next_received(0.01 if count > 8 else PATIENCE_S):
            count += 1
        assert count > 8, "nobody was called back"


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
    """What a victim does again and again: it finds the service."""
    client = Client(path)
    return lambda: found(client.find, NAME)


def hidl_lookups(path):
    client = HidlClient(hidl_path(path))
    return lambda: found(client.get, INTERFACE, "default")


def found(look_up, *names):
    try:
        if look_up(*names) is None:
            raise RuntimeError("not found")
    except Failed as failed:
        raise RuntimeError(failed) from failed


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
        client.drain()
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
        assert client.watch_name(name, CALLBACK + 16 * number) == 0
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
            client.names()
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
    client = Client(path, "29")
    is_ready = False
    while True:
        # The number of such requests that a user may have at once is bounded.
        with contextlib.suppress(Failed):
            client.ask("list", lambda p: p.i32(NR_NAMES - 1).i32(15))
            if not is_ready:
                ready()
                is_ready = True


def register_many(path):
    client = Client(path)
    for number in range(NR_DYING):
        assert client.add(f"dying.{os.getppid()}.{number}") == 0
        client.watch_name(NAME)


def register_and_die(ready, path):
    """Processes that register names and end, one after the other."""
    is_ready = False
    while True:
        run_child(register_many, path)
        if not is_ready:
            ready()
            is_ready = True


def own_name(number):
    return f"unread.{os.getppid()}.{number}"


def watch_and_never_read(ready, path):
    """Callbacks for names of this user; no thread of this process reads them."""
    client = Client(path)
    for number in range(NR_CALLBACKS):
        assert client.watch_name(own_name(number % 4), CALLBACK + 16 * number) == 0
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
            assert client.add(name, SERVICE + 16 * node) == 0
    ready()
    signal.pause()


def look_ring_up(ready, path):
    client = Client(path)
    is_ready = False
    while True:
        for number in range(NR_RING):
            for method in ("check2", "check"):
                client.ask(method, lambda p, n=number: p.string(f"ring{n}"))
        if not is_ready:
            ready()
            is_ready = True


def call_the_driver(ready, path):
    """The honest load: a device without a service manager."""
    client = Device(os.path.join(os.path.dirname(path), "vndbinder"))
    ready()
    while True:
        client.write_read(struct.pack("<I", BC_ENTER_LOOPER) * 64, 0)


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

    def fill_all():
        os.setresuid(ATTACKER, ATTACKER, ATTACKER)
        assert not LIBC.unshare(CLONE_NEWUSER)
        os.write(to_parent, b"u")
        assert os.read(from_parent, 1) == b"x"
        with contextlib.ExitStack() as stack:
            for uid in (1, 2, 3, 4):
                stack.enter_context(ready_child(fill_as, uid, path, report))
            os.write(to_parent, b"f")
            signal.pause()

    pid = fork(fill_all)
    os.close(to_parent)
    assert os.read(from_child, 1) == b"u"
    for kind, text in (("uid", f"0 {ATTACKER} 1\n1 {SUBUIDS} 10\n"), ("gid", "0 0 1\n")):
        pathlib.Path(f"/proc/{pid}/{kind}_map").write_text(text, encoding="ascii")
    os.write(to_child, b"x")
    assert os.read(from_child, 1) == b"f"
    ready()
    signal.pause()


def fill_as(ready, uid, path, report):
    os.setresuid(uid, uid, uid)
    fill_quota(ready, path, report)


# ---- tests --------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def manager(reachable):
    """A bus for all users."""
    with Bus(managers="binder,hwbinder", program=reachable) as bus:
        yield bus


@pytest.fixture
def path(manager):
    """The device binder, with the service that the victim looks up."""
    with ready_child(serve, manager.path(), uid=SERVER):
        yield manager.path()


def see(path, kind, load):
    """What a victim sees during a load that has begun; a load: (uid, function) of each process."""
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(ready_child(function, path, uid=uid)) for uid, function in load]
        victim = victims.Victim(path, lambda *words: ready_child(*words, uid=VICTIM), kind)
        with victim:
            time.sleep(SECONDS)
        assert all(map(is_running, pids)), "no attack any more"
    return victim.seen


def attack(path, kind, load):
    """Prints what a victim sees beside an honest load of the same size, and beside the attack."""
    for phase, processes in ("honest", [(HONEST, call_the_driver)] * len(load)), ("attacked", load):
        seen = see(path, kind, processes)
        print(f"  {phase + ':':10}{seen}", flush=True)
        assert not seen.failed and not seen.stopped, f"{phase}: {seen}"


def say(manager, *words):
    """What the command prints for the victim, which must succeed."""
    done = manager.execute(*as_user(VICTIM, manager.program, "--state-dir", "/nonexistent"), *words,
                           cwd="/")
    assert done.returncode == 0, f"{words}: {done}"
    return done.stdout


def test_instances_without_end_delay_no_lookup(manager):
    """Callbacks for each of 2000 instances."""
    path = manager.path()
    with ready_child(serve_hidl, path, uid=SERVER):
        attack(path, "hidl_lookups", [(ATTACKER, ask_for_all_instances)])


def test_long_names_hide_no_service(manager, path):
    attack(path, "lookups", [(ATTACKER, register_long_names)])
    with ready_child(register_long_names, path, uid=ATTACKER):
        assert NAME in say(manager, "list")
        say(manager, "check", NAME)
        say(manager, "ping", NAME)
        with Client(path) as client:
            names = client.names()
        # The list was cut, and not at the cost of another user.
        assert NAME in names and "manager" in names
        assert 0 < sum(name.startswith("a") for name in names) < NR_NAMES


def test_callbacks_of_a_name_take_turns_with_other_users(path):
    attack(path, "lookups", [(ATTACKER, call_many_back)])


def test_lists_of_long_names_take_turns_with_other_users(path):
    with ready_child(register_long_names, path, uid=ATTACKER):
        attack(path, "lookups", [(ATTACKER, list_all)] * NR_PROCESSES)


def test_lookups_take_turns_with_other_users(path):
    attack(path, "lookups", [(ATTACKER, check_one)] * NR_PROCESSES)


def test_services_that_die_delay_no_lookup(manager, path):
    attack(path, "lookups", [(ATTACKER, register_and_die)] * 4)
    until(lambda: "dying." not in say(manager, "list"))


def test_callbacks_that_are_never_read_are_dropped(manager, path):
    """Of names that are registered again and again."""
    pid = manager.manager_pid()
    before = memory_kib(pid)
    attack(path, "lookups",
           [(ATTACKER, watch_and_never_read), (ATTACKER, register_what_is_watched)])
    assert memory_kib(pid) < before + MEMORY_KIB, (before, memory_kib(pid))


def test_accessors_in_a_ring_delay_no_lookup(manager, path):
    """Services that are each other's accessors."""
    with ready_child(keep_ring_of_accessors, path, uid=ATTACKER):
        attack(path, "lookups", [(ATTACKER, look_ring_up)] * NR_PROCESSES)
        assert NAME in say(manager, "list")
        say(manager, "ping", NAME)


def test_lists_by_number_delay_no_lookup(path):
    with ready_child(register_long_names, path, uid=ATTACKER):
        attack(path, "lookups", [(ATTACKER, list_by_number)] * NR_PROCESSES)


def counts_of(loads, stack):
    """Starts the loads, (uid, function, path), one after another. Returns what each reports."""
    counts = []
    for uid, function, path in loads:
        output, report = os.pipe()
        stack.enter_context(ready_child(function, path, report, uid=uid))
        os.close(report)
        text = b""
        while len(text) < (16 if function is fill_quota_in_namespace else 4):
            text += os.read(output, 16)
        os.close(output)
        counts.append([count for count, in struct.iter_unpack("<I", text)])
    return counts


def can_unshare():
    """Whether users can make user namespaces; in a plain chroot the kernel lets nobody."""
    try:
        run_child(lambda: LIBC.unshare(CLONE_NEWUSER) and os._exit(1), uid=ATTACKER)
    except AssertionError:
        return False
    return True


def test_users_at_their_quota_leave_room(reachable):
    """The ids of a namespace count as its maker; so many users more leave something to others."""
    if not can_unshare():
        pytest.skip("users cannot make user namespaces here, as in a plain chroot")
    with Bus("--max-per-user", str(PER_USER), program=reachable) as bus, \
            contextlib.ExitStack() as stack:
        path = bus.path()
        stack.enter_context(ready_child(serve, path, uid=SERVER))
        counts = counts_of([(0, fill_quota_in_namespace, path)]
                           + [(uid, fill_quota, path) for uid in OTHERS], stack)
        assert sum(counts[0]) == PER_USER and counts[0][0] == PER_USER, counts
        assert all(0 < one <= PER_USER for (one,) in counts[1:]), counts
        with ready_child(serve_own, path, uid=VICTIM):
            seen = see(path, "lookups", [])
        assert not seen.failed and not seen.stopped, seen


def serve_own(ready, path):
    client = Client(path)
    assert client.add("victim.late") == 0
    assert client.find("victim.late") is not None
    ready()
    client.serve_until_killed()
