# SPDX-License-Identifier: GPL-2.0
"""The stream of events of the daemon, binder_logs/events (events_abi.h)."""
import collections
import contextlib
import errno
import os
import select
import signal
import struct
import subprocess
import sys
import threading

from anybinder.daemon import Daemon
from anybinder.driver import BC_ENTER_LOOPER, BINDER, HANDLE, OBJECT, TF_CLEAR_BUF, Client
from anybinder.process import child, run_child, until
from served import assert_served, expect_error, server

BUILDS = ("anybinderd-asan",)
RECORD = struct.Struct("<QQHHi40s")
KINDS = """header idle lost ioctl ioctl_done write_done read_done wait command return txn
           txn_received txn_freed buffer_allocated buffer_freed buffer_failed buffer_outdated
           node_to_ref ref_to_node ref_to_ref file_sent file_received failed stage
           error data data_to_clear target priorities opened""".split()
KIND = {name: number for number, name in enumerate(KINDS)}
TXN = struct.Struct("<IIiiiiIII4x")
BUFFER = struct.Struct("<QQQI12x")
HEADER = struct.Struct("<6I16x")
FAILED = struct.Struct("<IIiiiiiIII")
DATA = struct.Struct("<IHBB32s")
PRIORITIES = struct.Struct("<IBBbBb31x")
OPENED = struct.Struct("<i16s20x")
DATA_MAX = 1024
BR_FAILED_REPLY, BR_DEAD_REPLY = 0x7211, 0x7205
UNPRIVILEGED = 65534

Event = collections.namedtuple("Event", "number time_ns kind reply thread fields")


class Events:
    """One open of the file."""

    def __init__(self, daemon, kinds=None, flags=0):
        self.fd = os.open(daemon.path("binder_logs/events"), os.O_RDWR | os.O_CLOEXEC | flags)
        if kinds is not None:
            os.write(self.fd, hex(sum(1 << KIND[kind] for kind in kinds)).encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def read(self, size=1 << 17):
        data = os.read(self.fd, size)
        assert len(data) % RECORD.size == 0 and data, len(data)
        return [Event(number, time_ns, KINDS[kind], reply, thread, fields)
                for number, time_ns, kind, reply, thread, fields in RECORD.iter_unpack(data)]

    def read_until(self, enough):
        """All events up to a read after which enough(events) holds."""
        found = []
        while not enough(found):
            found += [event for event in self.read() if event.kind not in ("header", "idle")]
        return found


def of_kind(events, *kinds):
    return [event for event in events if event.kind in kinds]


def test_the_header_describes_the_stream(directory):
    with Daemon(directory) as daemon, Events(daemon) as events:
        first = events.read()[0]
        assert first.kind == "header"
        magic, version, size, slots, clock, kinds = HEADER.unpack(first.fields)
        assert (magic, version, size, clock) == (0x56454241, 1, 64, 1), first
        assert slots == 131072 and kinds == len(KINDS), first


def test_a_call_is_seen_from_its_start_to_its_end(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")) as server_pid:
        client = Client(daemon.path("binder"))
        with Events(daemon) as events:
            assert client.call(b"x" * 123) == b"x" * 123
            seen = events.read_until(lambda found: len(of_kind(found, "buffer_freed")) == 2)
        client.close()
    call, reply = of_kind(seen, "txn")
    call_id, node, from_proc, from_thread, to_proc, _, code, flags, is_reply = TXN.unpack(
        call.fields)
    assert (from_proc, from_thread, to_proc) == (os.getpid(), os.getpid(), server_pid)
    assert node and (code, flags, is_reply) == (1, 0, 0)
    reply_id, node, from_proc, _, to_proc, to_thread, _, _, is_reply = TXN.unpack(reply.fields)
    assert (from_proc, to_proc, to_thread) == (server_pid, os.getpid(), os.getpid())
    assert is_reply and not node
    assert call.thread == os.getpid() and reply.thread == server_pid
    # The server has the same priority, and no other call to serve.
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    told, = of_kind(seen, "priorities")
    assert PRIORITIES.unpack(told.fields)[:4] == (call_id, 1, 0, nice), told
    assert PRIORITIES.unpack(told.fields)[4] == 0 and told.thread == server_pid, told
    for number, order in ((call_id, ["txn", "buffer_allocated", "txn_received", "buffer_freed",
                                     "txn_freed"]),
                          (reply_id, ["txn", "buffer_allocated", "txn_received", "txn_freed",
                                      "buffer_freed"])):
        steps = [event for event in of_kind(seen, *order)
                 if (BUFFER.unpack(event.fields)[3] if event.kind.startswith("buffer")
                     else TXN.unpack(event.fields)[0]) == number]
        assert [event.kind for event in steps] == order, steps
        assert [event.time_ns for event in steps] == sorted(event.time_ns for event in steps)
        assert BUFFER.unpack(steps[1].fields)[:3] == (123, 0, 0)
    assert of_kind(seen, "ioctl")[0].thread == os.getpid()
    assert of_kind(seen, "ioctl_done") and of_kind(seen, "wait") and of_kind(seen, "stage")
    commands = {struct.unpack_from("<I", event.fields)[0] for event in of_kind(seen, "command")}
    assert {0x40406300, 0x40406301, 0x40086303} <= commands, commands


def test_an_open_has_the_name_of_its_process(directory):
    with Daemon(directory) as daemon, Events(daemon) as events:
        client = Client(daemon.path("binder"))
        seen = events.read_until(lambda found: of_kind(found, "opened"))
        client.close()
    with open("/proc/self/comm", "rb") as file:
        name = file.read().strip()
    opened, = of_kind(seen, "opened")
    pid, comm = OPENED.unpack(opened.fields)
    assert (pid, comm.rstrip(b"\0"), opened.thread) == (os.getpid(), name, os.getpid())


def test_a_long_stream_is_one_ioctl(directory):
    """Its end is put back behind the calls of others, where it goes on."""
    with Daemon(directory) as daemon, Events(daemon, ["ioctl", "ioctl_done"]) as events:
        client = Client(daemon.path("binder"))
        stream = struct.pack("<I", BC_ENTER_LOOPER) * 20000
        client.write_read(stream, 0)
        found = events.read_until(lambda found: len(of_kind(found, "ioctl_done")) == 2)
        assert [event.kind for event in found] == ["ioctl", "ioctl_done"] * 2, len(found)
        client.close()


def test_a_failure_has_its_reason(directory):
    with Daemon(directory) as daemon:
        client = Client(daemon.path("binder"))
        with Events(daemon, ["failed", "error"]) as events:
            with contextlib.suppress(RuntimeError):
                client.call(b"no context manager")
            failed = events.read_until(lambda found: len(found) == 2)
            assert [event.kind for event in failed] == ["failed", "error"]
            assert struct.unpack_from("<I", failed[1].fields)[0] == BR_DEAD_REPLY, failed
            _, error, reason, pid, tid, *_, size = FAILED.unpack(failed[0].fields)
        client.close()
    assert (error, reason) == (BR_DEAD_REPLY, -errno.EINVAL), failed
    assert (pid, tid, size) == (os.getpid(), os.getpid(), 18), failed


def data_by_id(events, kind="data"):
    """The data of each transaction, and where its objects begin."""
    found = collections.defaultdict(lambda: (bytearray(), []))
    for event in of_kind(events, kind):
        number, offset, size, objects, part = DATA.unpack(event.fields)
        data, begins = found[number]
        assert len(data) == offset and 0 < size <= 32, event
        data += part[:size]
        begins += [offset + 4 * bit for bit in range(8) if objects >> bit & 1]
    return {number: (bytes(data), begins) for number, (data, begins) in found.items()}


def test_data_is_told_to_those_who_ask(directory):
    small, large = b"0123456789" * 5, os.urandom(5000)
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        with Events(daemon) as others, Events(daemon, ["data", "txn"]) as events:
            assert client.call(small) == small
            assert client.call(large) == large
            assert client.call(b"") == b""
            client.call(b"last")
            last = DATA.pack(0, 0, 4, 0, b"last")[4:]
            seen = events.read_until(lambda found: [event.fields[4:] for event in found].count(last)
                                     == 2)
            rest = others.read_until(lambda found: len(of_kind(found, "txn")) == 8)
        client.close()
    ids = [TXN.unpack(event.fields)[0] for event in of_kind(seen, "txn")]
    told = data_by_id(seen)
    texts = [told.get(number, (None, []))[0] for number in ids]
    assert texts == [small] * 2 + [large[:DATA_MAX]] * 2 + [None] * 2 + [b"last"] * 2, texts
    # A transaction is told of before its data, which is complete before it is received.
    order = [(event.kind, struct.unpack_from("<I", event.fields)[0]) for event in seen]
    assert all(order.index(("txn", number)) < order.index(("data", number)) for number in told)
    # Who did not ask for it gets none, though it was written.
    assert not of_kind(rest, "data") and of_kind(rest, "buffer_freed"), rest


def test_objects_in_the_data_are_those_of_the_receiver(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        data = b"head" + OBJECT.pack(BINDER, 0, 0x1234, 0x5678) + b"tail"
        with Events(daemon, ["data"]) as events:
            client.call(data, [4])
            seen = events.read_until(lambda found: len(found) >= 2)
        client.close()
    got, begins = data_by_id(seen[:1])[DATA.unpack(seen[0].fields)[0]]
    assert begins == [4] and len(got) == len(data), (begins, got)
    kind, _, handle, cookie = OBJECT.unpack_from(got, 4)
    assert (kind, cookie) == (HANDLE, 0) and handle == 1, got
    assert got.startswith(b"head") and got.endswith(b"tail"), got


def test_data_that_is_to_be_cleared_is_told_to_those_who_ask(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        with Events(daemon, ["data_to_clear", "txn"]) as events, Events(daemon, ["data"]) as other:
            assert client.call(b"password", flags=TF_CLEAR_BUF) == b"password"
            client.call(b"last")
            seen = events.read_until(lambda found: len(of_kind(found, "txn")) == 4)
            rest = other.read_until(lambda found: len(found) == 3)
        client.close()
    number = TXN.unpack(of_kind(seen, "txn")[0].fields)[0]
    assert data_by_id(seen, "data_to_clear") == {number: (b"password", [])}, seen
    assert not of_kind(seen, "data") and number not in data_by_id(rest), (seen, rest)


def test_data_that_is_to_be_cleared_is_for_root_alone(directory):
    def ask():
        with Events(daemon, ["data"]) as events:
            for mask in (1 << KIND["data_to_clear"], (1 << len(KINDS)) - 1):
                expect_error(errno.EACCES, os.write, events.fd, hex(mask).encode())

    with Daemon(directory, f"--uid={UNPRIVILEGED}") as daemon:
        os.chmod(directory, 0o755)
        run_child(ask, uid=UNPRIVILEGED)
        Events(daemon, ["data_to_clear"]).__exit__()


def test_only_root_and_the_owner_may_open(directory):
    def refused():
        expect_error(errno.EACCES, os.open, daemon.path("binder_logs/events"), os.O_RDONLY)

    with Daemon(directory) as daemon, server(daemon.path("binder")):
        os.chmod(directory, 0o755)
        run_child(refused, uid=UNPRIVILEGED)
        os.chmod(daemon.path("binder_logs/events"), 0o666)
        run_child(refused, uid=UNPRIVILEGED)
        assert_served(daemon)
    with Daemon(directory, f"--uid={UNPRIVILEGED}") as daemon:
        run_child(lambda: Events(daemon).read(), uid=UNPRIVILEGED)


def test_data_is_not_for_root_without_capabilities(directory):
    """As root of a container, who is root by its number only."""
    script = """if True:
        import os, sys
        file = os.open(sys.argv[1], os.O_RDWR)
        os.write(file, hex(1 << 10).encode())
        try:
            os.write(file, hex(1 << int(sys.argv[2])).encode())
        except PermissionError:
            sys.exit(7)"""
    drop = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    with Daemon(directory) as daemon:
        program = [sys.executable, "-c", script, daemon.path("binder_logs/events")]
        for kind in "data", "data_to_clear":
            one = program + [str(KIND[kind])]
            assert subprocess.run(drop + one, check=False).returncode == 7
            assert subprocess.run(one, check=False).returncode == 0


def test_readers_are_limited(directory):
    with Daemon(directory) as daemon, contextlib.ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(Events(daemon))
        expect_error(errno.EMFILE, Events, daemon)
        stack.close()
        with Events(daemon) as events:
            assert events.read()[0].kind == "header"


def test_wrong_requests_are_refused(directory):
    with Daemon(directory) as daemon, Events(daemon, flags=os.O_NONBLOCK, kinds=[]) as events:
        for word in (b"", b"x", b"-1", hex(1 << len(KINDS)).encode(), b"1 2", b"0x" + b"0" * 40):
            if word:
                expect_error(errno.EINVAL, os.write, events.fd, word)
        expect_error(errno.EINVAL, os.read, events.fd, 127)
        assert [event.kind for event in events.read(128)] == ["header"]
        expect_error(errno.EAGAIN, events.read)
        expect_error(errno.ESPIPE, os.lseek, events.fd, 0, os.SEEK_SET)


def test_a_read_without_events_returns_and_can_be_interrupted(directory):
    with Daemon(directory) as daemon, Events(daemon, kinds=["txn"]) as events:
        assert [event.kind for event in events.read()] == ["header"]
        assert [event.kind for event in events.read()] == ["idle"]

        def read_for_ever():
            while True:
                events.read()

        with child(read_for_ever) as pid:
            until(lambda: open(f"/proc/{pid}/wchan", encoding="ascii").read() not in ("", "0"))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        assert [event.kind for event in events.read()] == ["idle"]


def test_poll_tells_of_events(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        with Events(daemon, kinds=["txn"]) as events:
            poll = select.poll()
            poll.register(events.fd, select.POLLIN)
            assert poll.poll(0)
            events.read()
            assert not poll.poll(0)
            timer = threading.Timer(0.05, client.call, [b"x"])
            timer.start()
            assert poll.poll(20000)
            timer.join()
            assert {event.kind for event in events.read()} == {"txn"}
        client.close()


def test_each_reader_has_its_own_position_and_kinds(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        with Events(daemon, kinds=["txn"]) as early:
            client.call(b"x")
            with Events(daemon, kinds=["txn_received"]) as late:
                client.call(b"x")
                first = early.read_until(lambda found: len(found) == 4)
                second = late.read_until(lambda found: len(found) == 2)
        client.close()
    assert {event.kind for event in first} == {"txn"}
    assert {event.kind for event in second} == {"txn_received"}
    ids = [TXN.unpack(event.fields)[0] for event in first]
    assert [TXN.unpack(event.fields)[0] for event in second] == ids[2:]


def test_what_a_slow_reader_misses_is_counted_and_memory_is_given_back(directory):
    def resident():
        with open(f"/proc/{daemon.server_pid()}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    with Daemon(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        client.call(b"")
        before = resident()
        with Events(daemon) as events:
            client.call(b"")
            last = events.read_until(lambda found: found)[-1]
            for _ in range(131072 // 28):
                client.call(b"")
            lost, *rest = events.read()
            assert resident() - before > 6 << 20, (before, resident())
        until(lambda: resident() - before < 4 << 20)
        client.close()
    assert lost.kind == "lost", lost
    count = struct.unpack_from("<Q", lost.fields)[0]
    assert rest[0].number == last.number + 1 + count, (last, lost, rest[0])
    assert not of_kind(rest, "lost")
    assert [event.number for event in rest] == list(range(rest[0].number,
                                                          rest[0].number + len(rest)))
