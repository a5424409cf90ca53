# SPDX-License-Identifier: GPL-2.0
"""The service manager with raw clients of every level, with good and bad requests."""
import contextlib
import errno
import os
import pathlib
import signal

import pytest
from anybinder.driver import DUMP, INTERFACE, PING, SHELL, TF_ONE_WAY, Bytes, Failed
from anybinder.parcel import OLD, Parcel
from anybinder.process import children_of, memory_kib, ready_child, run_child, until
from anybinder.servicemanager import (BAD_TYPE, CALLBACK, CODES, DESCRIPTOR, ILLEGAL_ARGUMENT,
                                      ILLEGAL_STATE, INVALID_OPERATION, LEVELS, NOT_ENOUGH_DATA,
                                      SECURITY, SERVICE, UNKNOWN_TRANSACTION, UNSUPPORTED_OPERATION,
                                      Client, put_access)

NAME = "anybinder.test"
USER = 3900007
NR_CALLBACKS = 256    # MAX_CALLBACKS of tools/servicemanager/src/registry/callbacks.rs


def serve(ready, path, level, name):
    client = Client(path, level)
    assert client.add(name) == 0
    assert client.names()    # whatever level the device is set to
    ready()
    client.serve_until_killed()


def service(path, level, name=NAME):
    return ready_child(serve, path, level, name)


def failure(function, *arguments):
    """The status with which a transaction fails; it has to fail."""
    with pytest.raises(Failed) as failed:
        function(*arguments)
    return failed.value.args[0]


def use_all(path, level):
    """Calls every method of a level in this process. The order makes the level certain early."""
    client = Client(path, level)
    codes = CODES[level]
    names = client.names()
    for other in LEVELS:
        assert f"{NAME}.{other}" in names, names
    assert client.add(f"{NAME}.mine") == 0
    if "watch" in codes:
        def fill(parcel):
            return parcel.string(f"{NAME}.mine").binder(CALLBACK)
        assert client.done("watch", fill) == 0
        sent = client.next_received(10)
        assert [sent.i32() for _ in range(2)] == [0, -1]
        assert (sent.i32(), sent.string()) == (0x53595354, "android.os.IServiceCallback")
        assert sent.string() == f"{NAME}.mine"
        # A callback that this process gets back is its own object.
        assert sent.handle() == SERVICE
        assert client.done("unwatch", fill) == 0
        assert client.done("unwatch", fill) == ILLEGAL_STATE
        assert client.done("watch_clients", lambda p: p.string(f"{NAME}.mine").binder(
            SERVICE).binder(CALLBACK)) == 0
        assert client.done("unregister", lambda p: p.string("a.none").binder(SERVICE)) == \
            ILLEGAL_STATE
    if "debug" in codes:
        reply = client.ask("debug")
        assert reply.i32() == 0
        assert reply.i32() == len(names) + 1
    for method in ("declared", "instances", "connection", "names"):
        if method in codes:
            reply = client.ask(method, lambda p: p.string("a.b.IC/d"))
            assert (reply.i32(), reply.i32()) == (0, 0), method
    if "access" in codes:
        assert client.access(NAME) == 0
    if "updatable" in codes:
        reply = client.ask("updatable", lambda p: p.string("a.b.IC/d"))
        assert (reply.i32(), reply.string()) == (0, None)
    for method in ("get", "get2", "check", "check2"):
        if method in codes:
            for other in LEVELS:
                assert client.find(f"{NAME}.{other}", method) is not None, (method, other)
            assert client.find("anybinder.none", method) is None


@pytest.mark.parametrize("level", LEVELS)
def test_levels(new_bus, level):
    """Clients of every level on one device find each other; the device is set to each level."""
    with new_bus("--level", level) as other, contextlib.ExitStack() as stack:
        for one in LEVELS:
            stack.enter_context(service(other.path(), one, f"{NAME}.{one}"))
        run_child(use_all, other.path(), level)
        # Those that say in each call what they are, on a device that is set to another level.
        for one in OLD:
            run_child(use_all, other.path(), one)


@pytest.mark.parametrize("level", ["30", "33", "34", "36"])
def test_a_process_is_answered_at_its_own_level(manager, level):
    """Once that is known; the device is set to another one."""
    client = Client(manager.path(), level)
    assert client.add(NAME) == 0
    assert client.find(NAME) is not None


def ask_for_debug_info_first(path, level, device):
    client = Client(path, level)
    assert client.ask("debug").i32() == 0
    assert client.add(NAME) == 0
    assert client.find(NAME, "get") is not None
    # r6 and r20 return it in other forms, which the device's level decides.
    if level in ("34", device):
        assert client.find(NAME) is not None


@pytest.mark.parametrize("device", ["34", "35-r6", "35-r20", "36"])
def test_both_numberings_of_api_level_35(new_bus, device):
    """Android 15 is numbered as 14 up to r5, and has getService2 from r6 on. rsbinder asks which
    one a service manager is by getServiceDebugInfo, the last code of each."""
    with new_bus("--level", device) as other:
        for level in ("34", "35-r6"):
            run_child(ask_for_debug_info_first, other.path(), level, device)


def test_devices(manager):
    with service(manager.path("binder"), "36"):
        with Client(manager.path("vndbinder"), "36") as client:
            assert client.names() == ["manager"]


def look_at_unknown(path):
    assert failure(Client(path, "35-r20").find, NAME) == UNKNOWN_TRANSACTION


def test_unclear_call_is_refused_and_logged(new_bus):
    with new_bus("--level", "30") as other:
        run_child(look_at_unknown, other.path())
        until(lambda: "looks like Android 15" in other.log())


def whole_calls(level):
    """A call of each method that changes something or has two forms, which have what they take."""
    def call():
        return Parcel(level, DESCRIPTOR).string(NAME)

    add = call().binder(SERVICE)
    if level not in OLD:    # where these are optional
        add.i32(0).i32(8)
    two = call().binder(SERVICE).binder(CALLBACK)
    calls = {"get": call(), "check": call(), "add": add,
             "list": Parcel(level, DESCRIPTOR).i32(0).i32(15), "watch": call().binder(CALLBACK),
             "unwatch": call().binder(CALLBACK), "watch_clients": two,
             "unregister": call().binder(SERVICE),
             "access": put_access(Parcel(level, DESCRIPTOR), NAME)}
    return [(CODES[level][name], parcel) for name, parcel in calls.items() if name in CODES[level]]


def send_cuts(path, level):
    """Each cut of each call. A whole call of another level may be left, which adds nothing."""
    client = Client(path, level)
    header = len(Parcel(level, DESCRIPTOR).data)
    for code, whole in whole_calls(level):
        for size in range(len(whole.data)):
            cut = Bytes(whole.data[:size], [at for at in whole.offsets if at + 24 <= size])
            if size % 4 or size < header:
                status = failure(client.send_to_manager, code, cut)
                assert isinstance(status, int), (code, size, status)
            else:
                with contextlib.suppress(Failed):
                    client.send_to_manager(code, cut)


@pytest.mark.parametrize("level", LEVELS)
def test_bad_parcels(manager, level):
    """Cuts, and names of 0 and 64 KiB."""
    run_child(send_cuts, manager.path(), level)
    client = Client(manager.path(), level)
    header, lookup = Parcel(level, DESCRIPTOR).data, Parcel(level, DESCRIPTOR).string(NAME).data
    if level == "36":
        for size in range(len(header) + 1, len(lookup)):
            assert failure(client.send_to_manager, 1, Bytes(lookup[:size])) == NOT_ENOUGH_DATA
        question = put_access(Parcel(level, DESCRIPTOR), NAME).data
        for size in range(len(header), len(question)):
            assert failure(client.send_to_manager, 17, Bytes(question[:size])) == NOT_ENOUGH_DATA
    assert NAME not in client.names()
    if level in OLD:
        assert failure(client.ask, "list", lambda p: p.i32(-1).i32(15)) == -1
    for name in ("", "a" * 128, "a" * 65536, "a" * 400000, "a b", "ä"):
        if level in OLD:
            assert failure(client.add, name) == -1
        else:
            assert client.add(name) == ILLEGAL_ARGUMENT
    assert client.add("a" * 127) == 0


def test_calls_that_no_level_has(manager):
    client = Client(manager.path())
    assert failure(client.send_to_manager, 1, Parcel("36", "a.b.c")) == BAD_TYPE
    for code in (18, 0xffffff):
        assert failure(client.send_to_manager, code, Parcel("36", DESCRIPTOR)) == \
            UNKNOWN_TRANSACTION


def add_as_other_user(path, name, wanted):
    client = Client(path)
    assert client.add(name) == wanted
    assert client.watch_name(name) == 0
    assert client.done("unregister", lambda p: p.string(name).binder(SERVICE)) == \
        UNSUPPORTED_OPERATION


def test_users_share_no_name_and_no_limit(manager):
    """A user replaces and removes no service of another, and has so many callbacks for a name."""
    client = Client(manager.path())
    assert client.add(NAME) == 0
    for number in range(NR_CALLBACKS):
        assert client.watch_name(NAME, CALLBACK + 16 * number) == 0
    assert client.watch_name(NAME, CALLBACK + 16 * NR_CALLBACKS) == ILLEGAL_STATE
    run_child(add_as_other_user, manager.path(), NAME, SECURITY, uid=USER)


@pytest.mark.parametrize("fill, status", [
    (lambda p: p.string(NAME).null().i32(0).i32(8), -0x80000000 + 8),
    (lambda p: p.i32(-1).binder(SERVICE).i32(0).i32(8), -0x80000000 + 8),
    (lambda p: p.string(NAME).string("no binder at all, but a string"), -0x80000000 + 1)],
    ids=["null", "no name", "a string"])
def test_wrong_types(manager, fill, status):
    assert failure(Client(manager.path()).ask, "add", fill) == status


def add_one_way(path):
    client = Client(path)
    parcel = Parcel("36", DESCRIPTOR).string(NAME).binder(SERVICE).i32(0).i32(8)
    client.transact(0, CODES["36"]["add"], parcel, TF_ONE_WAY)


def test_one_way_calls_register_nothing(new_bus):
    """The driver does not say which process they come from: nobody could be charged."""
    with new_bus() as other:
        run_child(add_one_way, other.path())
        until(lambda: "it is a one-way call" in other.log())
        client = Client(other.path())
        assert client.find(NAME) is None
        assert client.add(NAME) == 0


@pytest.mark.parametrize("word", ["SYST", "VNDR", "RECO", "UNKN"])
def test_header_words(manager, word):
    """The words of the system, vendor code, the recovery system, and a libbinder built off
    Android."""
    word = word.encode()
    with Client(manager.path(), "36", word) as client:
        assert client.add(NAME) == 0
        assert client.watch_name(NAME) == 0
        sent = client.next_received()
        assert [sent.i32() for _ in range(2)] == [0, -1] and sent.data[8:12] == word[::-1]
    with Client(manager.path()) as client:
        until(lambda: client.names() == ["manager"])


def add_many(ready, path, count):
    client = Client(path)
    for number in range(count):
        assert client.add(f"service.{number}", SERVICE + 16 * number) == 0
    ready()
    client.serve_until_killed()


@pytest.mark.takes(20)
def test_ten_thousand_services(manager):
    client = Client(manager.path())
    sizes = []
    for _ in range(2):
        with ready_child(add_many, manager.path(), 10000):
            assert client.find("service.9999") is not None
            names = client.names()
            assert len(names) == 10001
        until(lambda: client.find("service.9999") is None)
        until(lambda: client.names() == ["manager"])
        sizes.append(memory_kib(manager.manager_pid()))
    # What long work took is returned a little later.
    until(lambda: memory_kib(manager.manager_pid()) - sizes[0] < 4096)


def add_and_die(path):
    client = Client(path)
    assert client.add(NAME) == 0
    assert client.watch_name("anybinder.other") == 0


@pytest.mark.takes(10)
def test_a_service_that_dies_again_and_again(manager):
    client = Client(manager.path())
    sizes = []
    for _ in range(4):
        for _ in range(75):
            run_child(add_and_die, manager.path())
        until(lambda: client.names() == ["manager"])
        sizes.append(memory_kib(manager.manager_pid()))
    assert sizes[3] - sizes[0] < 1024, f"resident memory grows: {sizes} KiB"


def hold_service(ready, path):
    client = Client(path)
    assert client.find(NAME, "get") is not None
    ready()
    signal.pause()


@pytest.mark.takes(10)
def test_a_lazy_service(manager):
    client = Client(manager.path())
    assert client.add(NAME) == 0

    def watch(parcel):
        return parcel.string(NAME).binder(SERVICE).binder(CALLBACK)

    def unregister():
        return client.done("unregister", lambda p: p.string(NAME).binder(SERVICE))

    assert client.done("watch_clients", watch) == 0

    def clients():
        sent = client.next_received()
        assert sent is not None, "no callback"
        assert [sent.i32() for _ in range(2)] == [0, -1]
        assert (sent.i32(), sent.string()) == (0x53595354, "android.os.IClientCallback")
        assert sent.handle() == SERVICE
        return sent.i32()

    with ready_child(hold_service, manager.path()):
        assert clients() == 1
        assert unregister() == ILLEGAL_STATE
    assert clients() == 0
    assert unregister() == 0
    assert client.names() == ["manager"]


def watch_and_sleep(ready, path):
    client = Client(path)
    for number in range(80):    # of 256 that a user may have for a name
        assert client.watch_name(NAME, CALLBACK + 16 * number) == 0
    ready()
    signal.pause()


def test_callbacks_that_are_not_read(manager):
    """Of a process that sleeps, one that is stopped and one that is frozen: their buffers fill."""
    path = manager.path()
    client = Client(path)
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(ready_child(watch_and_sleep, path)) for _ in range(3)]
        os.kill(pids[1], signal.SIGSTOP)
        client.freeze(pids[2])
        # 3200 callbacks for each, of which its buffer has room for fewer.
        for number in range(40):
            assert client.add(NAME, SERVICE + 16 * number) == 0
        assert client.find(NAME) == SERVICE + 16 * 39


def add_as_user(path, wanted):
    client = Client(path)
    assert client.add("anybinder.rules.x") == wanted
    assert client.add("anybinder.mine") in (0, SECURITY)


class Foreign(Client):
    """A service manager of one level, with one service."""

    def incoming(self, call):
        methods = {number: method for method, number in CODES[self.level].items()}
        reply = Parcel(self.level)
        if call.code == INTERFACE:
            return reply.string(DESCRIPTOR)
        if call.code == PING:
            return reply
        reply.i32(0)
        if methods.get(call.code) == "debug":
            size = len(Parcel(self.level).i32(0).string("foreign").i32(0).data)
            return reply.i32(1).i32(1).i32(size).string("foreign").i32(os.getpid())
        if methods.get(call.code) == "list":
            return reply.i32(1).string("foreign")
        if methods.get(call.code) == "get":
            return reply.binder(SERVICE)
        raise Failed(UNKNOWN_TRANSACTION)

    def is_manager(self):
        """Becomes the context manager, unless the driver is busy with the end of the one before."""
        try:
            self.become_manager()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True


def be_foreign(ready, path, level):
    client = Foreign(path, level)
    until(client.is_manager)
    ready()
    client.serve_until_killed()


@pytest.mark.parametrize("level, name", [
    ("30", "Android 11"), ("31", "Android 12"), ("33", "Android 13"), ("34", "Android 14"),
    ("35-r20", "Android 15")])
def test_commands_beside_a_foreign_service_manager(new_bus, level, name):
    with new_bus(managers="binder") as bus:
        with ready_child(be_foreign, bus.path("hwbinder"), level):
            for words in (("list",), ("ping", "foreign")):
                done = bus.execute(bus.program, *words, "--device", "hwbinder")
                assert f"is one of {name}" in done.stderr and done.returncode == 0, done
                assert "foreign" in done.stdout.splitlines()[-1], done


def test_dump(manager):
    """The service manager takes no file, and is dumped nevertheless."""
    text = manager.run("dump", "manager")
    assert "1 services" in text and text.endswith("manager\n"), text


def references(manager, pid):
    """How many objects of others the service manager refers to on the device binder."""
    rows = [row for row in manager.json("ps") if row["pid"] == pid]
    return {row["context"]: row["refs"] for row in rows}["binder"]


def test_nothing_is_kept_of_clients_that_died(manager):
    def hold(ready):
        client = Client(manager.path())
        for index in range(20):
            assert client.add(f"anybinder.kept{index}") == 0
            assert client.watch_name(f"anybinder.other{index}", CALLBACK + index) == 0
        ready()
        signal.pause()

    pid = manager.manager_pid()
    until(lambda: references(manager, pid) == 0)
    for _ in range(3):
        with ready_child(hold):
            # Services and callbacks are one object each.
            assert references(manager, pid) >= 20
        until(lambda: references(manager, pid) == 0)


def test_rules(new_bus, rules_of):
    """By user and by name; read again on SIGHUP."""
    allow = ('[global]\nlist = "any"\n[[rule]]\nname = "anybinder.rules.*"\n'
             'add = {{ uid = [{}] }}\nfind = "any"\n')
    rules = rules_of(allow.format(0))
    with new_bus("--policy", str(rules)) as other:
        run_child(add_as_user, other.path(), SECURITY, uid=USER)
        until(lambda: "do not let this user add" in other.log())
        rules.write_text(allow.format(USER))
        os.kill(other.manager_pid(), signal.SIGHUP)
        until(lambda: "the rules were read again" in other.log())
        run_child(add_as_user, other.path(), 0, uid=USER)


def use_on_a_full_disk(path):
    client = Client(path)
    for _ in range(20):
        assert failure(client.send_to_manager, 99, Parcel("36", DESCRIPTOR)) == UNKNOWN_TRANSACTION
    assert client.add("anybinder.full") == 0


def serves(path):
    with Client(path) as client:
        try:
            client.names()
        except Failed:
            return False
    return True


def test_a_full_disk(new_bus):
    """The service manager and its keeper go on where their messages cannot be written."""
    words = ["servicemanager", "--keep", "--device", "hwbinder", "--level", "hwbinder=36"]
    with (open("/dev/full", "wb") as full, new_bus(managers="binder") as bus,
          bus.started(*words, stdout=full, stderr=full) as keeper):
        path = bus.path("hwbinder")
        until(lambda: children_of(keeper.pid))
        until(lambda: serves(path))
        first, = children_of(keeper.pid)
        run_child(use_on_a_full_disk, path)
        os.kill(first, signal.SIGHUP)
        run_child(use_on_a_full_disk, path)
        assert children_of(keeper.pid) == [first]
        os.kill(first, signal.SIGKILL)
        until(lambda: children_of(keeper.pid) not in ([], [first]))
        until(lambda: serves(path))
        run_child(use_on_a_full_disk, path)
        assert keeper.poll() is None
        keeper.terminate()
        keeper.wait()


def send_files(path, accepts):
    """What AOSP's dumpsys and cmd send to every service."""
    client = Client(path)
    reader, writer = os.pipe()
    for code, count in (DUMP, 1), (SHELL, 3):
        parcel = Parcel()
        for _ in range(count):
            parcel.file(writer)
        parcel.i32(0)
        try:
            client.send_to_manager(code, parcel)
            outcome = None
        except Failed as failed:
            outcome, = failed.args
        assert outcome == (None if accepts else "failed"), outcome
    os.close(writer)
    assert os.read(reader, 1) == b"", "all copies of it are closed"
    assert client.add("anybinder.files") == 0


@pytest.mark.parametrize("level, word", [("36", b"SYST"), ("36", b"UNKN"), ("29", b"SYST")])
def test_it_says_that_it_has_no_shell_commands(manager, level, word):
    """To the receiver of the result, as AOSP's does, with the header of its program."""
    with Client(manager.path(), level, word) as client:
        client.find(NAME)
        client.send_to_manager(SHELL, Parcel(level).i32(0).binder(CALLBACK))
        sent = client.next_received().data
    expected = Parcel(level, "com.android.internal.os.IResultReceiver", word).i32(INVALID_OPERATION)
    # But for the policy of strict mode.
    assert sent[4:] == expected.data[4:], sent


def test_files_are_closed_where_they_are_accepted(manager, new_bus):
    run_child(send_files, manager.path(), False)
    with new_bus("--accept-files", managers="binder") as other:
        run_child(send_files, other.path(), True)


def test_rules_by_security_context(manager, new_bus, rules_of):
    """Where there are contexts they are told apart; elsewhere rules by them are refused."""
    text = ('[[rule]]\ncontext = ["{}"]\nadd = ["anybinder.rules.*"]\nfind = ["*"]\n'
            'list = true\n')
    rules = rules_of(text.format("none.of:these"))
    if not any(os.path.isdir(f"/sys/fs/{name}") for name in ("selinux", "smackfs")):
        status, said = manager.outcome("servicemanager", "--device", "hwbinder", "--contexts",
                                       str(rules))
        assert status and "neither SELinux nor Smack is active" in said, said
        return
    own = pathlib.Path("/proc/self/attr/current").read_text(encoding="utf-8").strip("\0\n")
    rules.write_text(text.format(own), encoding="utf-8")
    with new_bus("--contexts", str(rules)) as other:
        run_child(add_as_user, other.path(), 0)
        rules.write_text(text.format("none.of:these"), encoding="utf-8")
        os.kill(other.manager_pid(), signal.SIGHUP)
        until(lambda: "the rules were read again" in other.log())
        run_child(add_as_user, other.path(), SECURITY)
        until(lambda: "do not let this user add" in other.log())
