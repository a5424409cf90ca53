# SPDX-License-Identifier: GPL-2.0
"""The service manager with raw clients of every level, on a daemon of its own.

  live_test.py ANYBINDER    the program; TEST=NAME runs one test
"""
import contextlib
import errno
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import harness
import parcels
from harness import (CALLBACK, SERVICE, TF_ONE_WAY, TF_STATUS_CODE, USER, Failed, Manager, child,
                     command, freeze, process, raw, rules_of, run, run_tests, until)
from parcels import CODES, LEVELS, Parcel, Reply

NAME = "anybinder.test"
DUMP, SHELL = 0x5F444D50, 0x5F434D44
INVALID_OPERATION = -38
NOT_ENOUGH_DATA, UNKNOWN_TRANSACTION = -61, -74
SECURITY, ILLEGAL_ARGUMENT, ILLEGAL_STATE = -1, -3, -5


class Client(harness.Client):
    """A client of a level."""

    def __init__(self, path, level):
        super().__init__(path)
        self.level = level

    def incoming(self, argument, keep):
        self.received.append(Reply(self.level, self.data_of(argument)))
        return raw.free_buffer(argument)

    def send(self, code, parcel):
        """Calls the service manager; returns the reply."""
        keep = []
        argument, is_status = self.transact(command(raw.BC_TRANSACTION, keep, parcel, code))
        reply = self.data_of(argument)
        self.write_read(raw.free_buffer(argument), 0)
        if is_status:
            raise Failed(struct.unpack("<i", reply)[0])
        return Reply(self.level, reply)

    def call(self, method, fill=lambda parcel: parcel):
        parcel = Parcel(self.level)
        fill(parcel)
        return self.send(CODES[self.level][method], parcel)

    def done(self, method, fill):
        """A call without a result; returns its exception."""
        return self.call(method, fill).int()

    def add(self, name=NAME, pointer=SERVICE):
        return self.done("add", lambda p: p.string(name).binder(pointer).int(0).int(8))

    def find(self, method, name=NAME):
        return self.call(method, lambda p: p.string(name)).service(method)

    def listed(self):
        if self.level in ("28", "29"):
            names = []
            with contextlib.suppress(Failed):
                while True:
                    at = len(names)
                    names.append(self.call("list", lambda p: p.int(at).int(15)).string())
            return names
        reply = self.call("list", lambda p: p.int(15))
        assert reply.int() == 0
        return [reply.string() for _ in range(reply.int())]


def serve(notify, path, level, name):
    client = Client(path, level)
    assert client.add(name) == 0
    os.write(notify, b"x")
    client.serve_until_killed()


def service(path, level, name=NAME):
    return process(serve, path, level, name)


def use_all(_, path, level):
    """Calls every method of a level in this process. The order makes the level certain early."""
    client = Client(path, level)
    codes = CODES[level]
    names = client.listed()
    for other in LEVELS:
        assert f"{NAME}.{other}" in names, names
    assert client.add(f"{NAME}.mine") == 0
    if "watch" in codes:
        def fill(parcel):
            return parcel.string(f"{NAME}.mine").binder(CALLBACK)
        assert client.done("watch", fill) == 0
        sent = client.next_received(10)
        assert [sent.int() for _ in range(2)] == [0, -1]
        assert (sent.int(), sent.string()) == (0x53595354, "android.os.IServiceCallback")
        assert sent.string() == f"{NAME}.mine"
        # A callback that this process gets back is its own object.
        assert sent.handle() == SERVICE
        assert client.done("unwatch", fill) == 0
        assert client.done("unwatch", fill) == ILLEGAL_STATE
    if "debug" in codes:
        reply = client.call("debug")
        assert reply.int() == 0
        assert reply.int() == len(names) + 1
    for method in ("declared", "instances", "connection", "names"):
        if method in codes:
            reply = client.call(method, lambda p: p.string("a.b.IC/d"))
            assert (reply.int(), reply.int()) == (0, 0), method
    for method in ("get", "get2", "check", "check2"):
        if method in codes:
            for other in LEVELS:
                assert client.find(method, f"{NAME}.{other}") is not None, (method, other)
            assert client.find(method, "anybinder.none") is None


def test_levels(manager):
    """Clients of every level on one device find each other; the device is set to each level."""
    for level in LEVELS:
        with Manager("--level", level) as other, contextlib.ExitStack() as stack:
            for one in LEVELS:
                stack.enter_context(service(other.path(), one, f"{NAME}.{one}"))
            run(use_all, other.path(), level)
            # Those that say in each call what they are, on a device that is set to another level.
            for one in ("28", "29"):
                run(use_all, other.path(), one)
    del manager


def test_devices(manager):
    with service(manager.path("binder"), "36"):
        client = Client(manager.path("vndbinder"), "36")
        assert client.listed() == ["manager"]
        client.close()


def look_at_unknown(_, path):
    client = Client(path, "35-r20")
    try:
        client.find("check")
    except Failed as status:
        assert status.args == (UNKNOWN_TRANSACTION,), status.args
    else:
        raise AssertionError("it was answered")


def test_unclear_call_is_refused_and_logged(manager):
    with Manager("--level", "30") as other:
        run(look_at_unknown, other.path())
        until(lambda: "looks like Android 15" in other.log())
    del manager


def test_bad_parcels(manager):
    """Each cut of a call, and names of 0 and 64 KiB."""
    for level in LEVELS:
        run(send_bad_parcels, manager.path(), level)


def send_bad_parcels(_, path, level):
    client = Client(path, level)
    whole = Parcel(level).string(NAME)
    header = len(Parcel(level).data)
    for size in range(0, len(whole.data)):
        cut = Parcel(level)
        cut.data = whole.data[:size]
        try:
            client.send(1, cut)
        except Failed as failed:
            assert failed.args[0] != "dead"
            assert isinstance(failed.args[0], int), failed.args
            if size > header and level == "36":
                assert failed.args[0] == NOT_ENOUGH_DATA, (size, failed.args)
        else:
            raise AssertionError(f"{level}: {size} bytes were answered")
    for name in ("", "a" * 65536, "a" * 400000):
        if level in ("28", "29"):
            try:
                client.add(name)
            except Failed as failed:
                assert failed.args == (-1,)
        else:
            assert client.add(name) == ILLEGAL_ARGUMENT
    client.close()


def test_wrong_types(manager):
    client = Client(manager.path(), "36")
    for fill, status in (
            (lambda p: p.string(NAME).null().int(0).int(8), -0x80000000 + 8),
            (lambda p: p.int(-1).binder(SERVICE).int(0).int(8), -0x80000000 + 8),
            (lambda p: p.string(NAME).string("no binder at all, but a string"), -0x80000000 + 1)):
        try:
            client.call("add", fill)
        except Failed as failed:
            assert failed.args == (status,), failed.args
        else:
            raise AssertionError(f"{status} was answered")
    client.close()


def add_one_way(_, path):
    client = Client(path, "36")
    keep = []
    parcel = Parcel("36").string(NAME).binder(SERVICE).int(0).int(8)
    client.exchange(command(raw.BC_TRANSACTION, keep, parcel, CODES["36"]["add"], TF_ONE_WAY))
    time.sleep(0.1)
    assert client.find("check") is None
    assert client.add() == 0


def test_one_way_calls_register_nothing(manager):
    """The driver does not say which process they come from: nobody could be charged."""
    with Manager() as other:
        run(add_one_way, other.path())
        until(lambda: "it is a one-way call" in other.log())
    del manager


@contextlib.contextmanager
def header_word(text):
    """Parcels have the header word of another libbinder."""
    before, parcels.SYST = parcels.SYST, struct.unpack("<i", text[::-1])[0]
    yield
    parcels.SYST = before


def test_header_words(manager):
    """Of the system, vendor code, the recovery system, and a libbinder built off Android."""
    for word in (b"SYST", b"VNDR", b"RECO", b"UNKN"):
        with header_word(word):
            client = Client(manager.path(), "36")
            assert client.add() == 0
            assert client.done("watch", lambda p: p.string(NAME).binder(CALLBACK)) == 0
            sent = client.next_received()
            assert [sent.int() for _ in range(3)] == [0, -1, parcels.SYST], word
            client.close()
        until(lambda: Client(manager.path(), "36").listed() == ["manager"])


def add_many(notify, path, count):
    client = Client(path, "36")
    for number in range(count):
        assert client.add(f"service.{number}", SERVICE + 16 * number) == 0
    os.write(notify, b"x")
    client.serve_until_killed()


def test_ten_thousand_services(manager):
    client = Client(manager.path(), "36")
    sizes = []
    for _ in range(2):
        with process(add_many, manager.path(), 10000):
            assert client.find("check", "service.9999") is not None
            names = client.listed()
            assert len(names) == 10001
        until(lambda: client.find("check", "service.9999") is None)
        until(lambda: client.listed() == ["manager"])
        sizes.append(manager.memory_kib())
    # What long work took is returned a little later.
    until(lambda: manager.memory_kib() - sizes[0] < 4096)
    client.close()


def add_and_die(_, path):
    client = Client(path, "36")
    assert client.add() == 0
    assert client.done("watch", lambda p: p.string("anybinder.other").binder(CALLBACK)) == 0


def test_a_service_that_dies_again_and_again(manager):
    client = Client(manager.path(), "36")
    sizes = []
    for _ in range(4):
        for _ in range(75):
            run(add_and_die, manager.path())
        until(lambda: client.listed() == ["manager"])
        sizes.append(manager.memory_kib())
    assert sizes[3] - sizes[0] < 1024, f"resident memory grows: {sizes} KiB"
    client.close()


def hold_service(notify, path):
    client = Client(path, "36")
    handle = client.find("get")
    assert handle is not None
    os.write(notify, b"x")
    time.sleep(1000)


def test_a_lazy_service(manager):
    client = Client(manager.path(), "36")
    assert client.add() == 0

    def watch(parcel):
        return parcel.string(NAME).binder(SERVICE).binder(CALLBACK)

    def unregister():
        return client.done("unregister", lambda p: p.string(NAME).binder(SERVICE))

    assert client.done("watch_clients", watch) == 0
    pid, ready = child(hold_service, manager.path())
    assert os.read(ready, 1) == b"x"
    os.close(ready)

    def clients(seconds):
        sent = client.next_received(seconds)
        assert sent is not None, "no callback"
        assert [sent.int() for _ in range(2)] == [0, -1]
        assert (sent.int(), sent.string()) == (0x53595354, "android.os.IClientCallback")
        assert sent.handle() == SERVICE
        return sent.int()

    assert clients(5) == 1
    assert unregister() == ILLEGAL_STATE
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert clients(30) == 0
    assert unregister() == 0
    assert client.listed() == ["manager"]
    client.close()


def watch_and_sleep(notify, path):
    client = Client(path, "36")
    for number in range(80):    # of 256 that a user may have for a name
        assert client.done("watch", lambda p, at=16 * number: p.string(NAME).binder(
            CALLBACK + at)) == 0
    os.write(notify, b"x")
    signal.pause()


def test_callbacks_that_are_not_read(manager):
    """Of a process that sleeps, one that is stopped and one that is frozen: their buffers fill."""
    path = manager.path()
    client = Client(path, "36")
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(process(watch_and_sleep, path)) for _ in range(3)]
        os.kill(pids[1], signal.SIGSTOP)
        freeze(client, pids[2])
        # 3200 callbacks for each, of which its buffer has room for fewer.
        for number in range(40):
            assert client.add(NAME, SERVICE + 16 * number) == 0
        assert client.find("check") == SERVICE + 16 * 39
    client.close()


def add_as_user(_, path, wanted):
    client = Client(path, "36")
    assert client.add("anybinder.rules.x") == wanted
    assert client.add("anybinder.mine") in (0, SECURITY)


class Foreign(Client):
    """A service manager of one level, with one service."""

    PING, INTERFACE = 0x5F504E47, 0x5F4E5446

    def answer(self, code):
        """The reply to a code, None for one that is unknown."""
        methods = {number: method for method, number in CODES[self.level].items()}
        reply = Parcel(self.level, descriptor=None)
        if code == self.INTERFACE:
            return reply.string("android.os.IServiceManager")
        if code == self.PING:
            return reply
        reply.int(0)
        if methods.get(code) == "debug":
            size = len(Parcel(self.level, None).int(0).string("foreign").int(0).data)
            return reply.int(1).int(1).int(size).string("foreign").int(os.getpid())
        if methods.get(code) == "list":
            return reply.int(1).string("foreign")
        return reply.binder(SERVICE) if methods.get(code) == "get" else None

    def manage(self):
        while True:
            for code, argument in self.exchange(b""):
                if code != raw.BR_TRANSACTION:
                    continue
                reply = self.answer(raw.TRANSACTION.unpack(argument)[2])
                flags = TF_STATUS_CODE if reply is None else 0
                reply = reply or Parcel(self.level, None).int(UNKNOWN_TRANSACTION)
                keep = []
                self.exchange(command(raw.BC_REPLY, keep, reply, flags=flags))


def be_foreign(notify, path, level):
    client = Foreign(path, level)
    end = time.monotonic() + 10
    while True:
        # The driver may still be busy with the end of the one before.
        try:
            client.become_manager()
            break
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
    os.write(notify, b"x")
    client.manage()


def test_commands_beside_a_foreign_service_manager(manager):
    names = {"30": "Android 11", "31": "Android 12", "33": "Android 13", "34": "Android 14",
             "35-r20": "Android 15"}
    for level, name in names.items():
        with process(be_foreign, manager.path("hwbinder"), level):
            for words in (("list",), ("ping", "foreign")):
                done = subprocess.run([*manager.command, *words, "--device", "hwbinder"],
                                      text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      check=False)
                assert f"is one of {name}" in done.stderr and done.returncode == 0, done
                assert "foreign" in done.stdout.splitlines()[-1], done


def test_dump(manager):
    """The service manager takes no file, and is dumped nevertheless."""
    done = subprocess.run([*manager.command, "dump", "manager"], text=True, check=True,
                          stdout=subprocess.PIPE)
    assert "1 services" in done.stdout and done.stdout.endswith("manager\n"), done.stdout


def references(manager):
    """How many objects of others the service manager refers to on the device binder."""
    done = subprocess.run([*manager.command, "ps", "--json"], text=True, check=True,
                          stdout=subprocess.PIPE)
    rows = [row for row in json.loads(done.stdout) if row["pid"] == manager.pid]
    return {row["context"]: row["refs"] for row in rows}["binder"]


def test_nothing_is_kept_of_clients_that_died(manager):
    def hold(notify):
        client = Client(manager.path(), "36")
        for index in range(20):
            assert client.add(f"anybinder.kept{index}") == 0
            watch = client.done("watch", lambda p, index=index:
                                p.string(f"anybinder.other{index}").binder(CALLBACK + index))
            assert watch == 0
        os.write(notify, b"x")
        signal.pause()

    until(lambda: references(manager) == 0)
    for _ in range(3):
        with process(hold):
            # Services and callbacks are one object each.
            assert references(manager) >= 20
        until(lambda: references(manager) == 0)


def test_rules(manager):
    """By user and by name; read again on SIGHUP."""
    allow = ('[global]\nlist = "any"\n[[rule]]\nname = "anybinder.rules.*"\n'
             'add = {{ uid = [{}] }}\nfind = "any"\n')
    with rules_of(allow.format(0)) as rules, Manager("--policy", str(rules)) as other:
        run(add_as_user, other.path(), SECURITY, uid=USER)
        until(lambda: "do not let this user add" in other.log())
        rules.write_text(allow.format(USER))
        os.kill(other.pid, signal.SIGHUP)
        until(lambda: "the rules were read again" in other.log())
        run(add_as_user, other.path(), 0, uid=USER)
    del manager


def child_of(pid):
    """The only child of a process; None if it has none."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = path.read_text(encoding="ascii", errors="replace")
            # The name may contain anything; the state and the parent follow.
            if int(text.rsplit(")", 1)[1].split()[1]) == pid:
                return int(path.parent.name)
    return None


def test_a_full_disk(manager):
    """The service manager and its keeper go on where their messages cannot be written."""
    words = [*manager.command, "servicemanager", "--keep", "--device", "hwbinder", "--level",
             "hwbinder=36"]
    path = manager.path("hwbinder")

    def refused(_):
        client = Client(path, "36")
        for _ in range(20):
            try:
                client.send(99, Parcel("36"))
            except Failed as failed:
                assert failed.args == (UNKNOWN_TRANSACTION,), failed.args
        assert client.add("anybinder.full") == 0
        client.close()

    def serves():
        client = Client(path, "36")
        try:
            client.call("list", lambda p: p.int(8))
        except Failed:
            return False
        finally:
            client.close()
        return True

    with open("/dev/full", "wb") as full:
        with subprocess.Popen(words, stdout=full, stderr=full) as keeper:
            try:
                until(lambda: child_of(keeper.pid))
                until(serves)
                first = child_of(keeper.pid)
                run(refused)
                os.kill(first, signal.SIGHUP)
                run(refused)
                assert child_of(keeper.pid) == first
                os.kill(first, signal.SIGKILL)
                until(lambda: child_of(keeper.pid) not in (None, first))
                until(serves)
                run(refused)
                assert keeper.poll() is None
            finally:
                keeper.terminate()
                keeper.wait()


def send_files(_, path, accepts):
    """What AOSP's dumpsys and cmd send to every service."""
    client = Client(path, "36")
    reader, writer = os.pipe()
    for code, count, status in (DUMP, 1, None), (SHELL, 3, INVALID_OPERATION):
        parcel = Parcel("36", None)
        for _ in range(count):
            parcel.file(writer)
        parcel.int(0)
        try:
            client.send(code, parcel)
            outcome = None
        except Failed as failed:
            outcome, = failed.args
        assert outcome == (status if accepts else "failed"), outcome
    os.close(writer)
    assert os.read(reader, 1) == b"", "all copies of it are closed"
    assert client.add("anybinder.files") == 0


def test_files_are_closed_where_they_are_accepted(manager):
    run(send_files, manager.path(), False)
    with Manager("--accept-files", managers="binder") as other:
        run(send_files, other.path(), True)


def test_rules_by_security_context(manager):
    """Where there are contexts they are told apart; elsewhere rules by them are refused."""
    rules = pathlib.Path(manager.directory, "contexts.toml")
    text = ('[[rule]]\ncontext = ["{}"]\nadd = ["anybinder.rules.*"]\nfind = ["*"]\n'
            'list = true\n')
    rules.write_text(text.format("none.of:these"), encoding="utf-8")
    if not any(os.path.isdir(f"/sys/fs/{name}") for name in ("selinux", "smackfs")):
        words = ["servicemanager", "--device", "hwbinder", "--contexts", str(rules)]
        done = subprocess.run([*manager.command, *words], text=True, stderr=subprocess.PIPE,
                              check=False, timeout=60)
        assert done.returncode and "neither SELinux nor Smack is active" in done.stderr, done
        return
    own = pathlib.Path("/proc/self/attr/current").read_text(encoding="utf-8").strip("\0\n")
    print(f"security context: {own}")
    rules.write_text(text.format(own), encoding="utf-8")
    with Manager("--contexts", str(rules)) as other:
        run(add_as_user, other.path(), 0)
        rules.write_text(text.format("none.of:these"), encoding="utf-8")
        os.kill(other.pid, signal.SIGHUP)
        until(lambda: "the rules were read again" in other.log())
        run(add_as_user, other.path(), SECURITY)
        until(lambda: "do not let this user add" in other.log())


if __name__ == "__main__":
    sys.exit(run_tests("servicemanager", globals(), Manager()))
