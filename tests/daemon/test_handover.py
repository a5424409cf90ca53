# SPDX-License-Identifier: GPL-2.0
"""What clients have survives that the daemon is replaced under them."""
import contextlib
import ctypes
import errno
import os
import select
import signal
import struct
import threading
import time

from anybinder import driver
from anybinder.driver import (
    ACCEPTS_FDS,
    BINDER,
    BR_DEAD_BINDER,
    BR_NOOP,
    BR_REPLY,
    BR_TRANSACTION,
    BR_TRANSACTION_COMPLETE,
    DONE,
    FILE,
    OBJECT,
    TF_ACCEPT_FDS,
    TF_ONE_WAY,
    Bytes,
    Client,
    encode,
)
from anybinder.process import child, ready_child, run_child, until
from replaced import (
    DEADLINE_S,
    Replaced,
    Signals,
    answer,
    become_manager,
    check,
    hold_a_call,
    replies,
    send,
    take_call,
    wait_for,
)
from served import add_device, assert_served, ended_open, expect_error, server
from test_bound import bound
from test_events import Events
from test_stuck import read_from_traps, trap_or_skip

BUILDS, MACHINES = ("anybinderd", "anybinderd-asan"), True


# ---- clients that wait ---------------------------------------------------------------------------

def test_idle_clients_go_on(directory):
    with Replaced(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        assert client.call(b"before") == b"before"
        for number in range(3):
            daemon.hand_over()
            data = b"%d" % number * 1000
            assert client.call(data) == data
            assert_served(daemon, DEADLINE_S)


def test_a_call_in_progress_goes_on(directory):
    with Replaced(directory) as daemon:
        step, back = Signals(), Signals()
        with child(hold_a_call, daemon, step, back):
            step.wait(b"m")
            with child(lambda: check(Client(daemon.path("binder")).call(b"x") == b"late")) as pid:
                step.wait(b"t")
                daemon.hand_over()
                daemon.hand_over()
                back.send()
                wait_for(pid)


def test_nested_calls_go_on(directory):
    """A calls B, B calls A back in the same thread, at each step there is another daemon."""
    with Replaced(directory) as daemon:
        step, back = Signals(), Signals()

        def serve():
            manager = become_manager(daemon, step)
            argument = take_call(manager)
            step.send(b"t")
            back.wait()
            # the first handle that the call brought
            commands, _keep = encode(driver.BC_TRANSACTION, Bytes(b"nested"), 1, 1)
            code, nested = replies(manager, commands)
            assert code == BR_REPLY and manager.data_of(nested) == b"inner", hex(code)
            step.send(b"n")
            back.wait()
            answer(manager, argument, b"outer")
            time.sleep(DEADLINE_S)

        def call():
            client = Client(daemon.path("binder"))
            own = Bytes(OBJECT.pack(BINDER, 0, 7, 7), [0])
            commands, _keep = encode(driver.BC_TRANSACTION, own, code=1)
            code, argument = replies_of(client, commands)
            assert code == BR_TRANSACTION and client.data_of(argument) == b"nested"
            step.send(b"i")
            back.wait()
            answer(client, argument, b"inner")
            code, argument = replies_of(client, b"")
            assert code == BR_REPLY and client.data_of(argument) == b"outer"

        with child(serve):
            step.wait(b"m")
            with child(call) as pid:
                for where in b"t", b"i", b"n":
                    step.wait(where)
                    daemon.hand_over()
                    back.send()
                wait_for(pid)


def replies_of(client, commands):
    """The same as replies(), acknowledging references to an object of the client."""
    while True:
        done = b""
        found = None
        for code, argument in client.write_read(commands, 512):
            if code in DONE:
                done += struct.pack("<I", DONE[code]) + argument
            elif code not in (BR_NOOP, BR_TRANSACTION_COMPLETE):
                found = code, argument
        if found:
            if done:
                client.write_read(done, 0)
            return found
        commands = done


def test_oneway_calls_stay_in_order(directory):
    with Replaced(directory) as daemon:
        step, back = Signals(), Signals()

        def serve():
            manager = become_manager(daemon, step)
            back.wait()
            for number in range(20):
                argument = take_call(manager)
                assert manager.data_of(argument) == b"%4d" % number * 100
                manager.write_read(driver.free_buffer(argument), 0)

        with child(serve) as pid:
            step.wait(b"m")
            client = Client(daemon.path("binder"))
            for number in range(10):
                send(client, b"%4d" % number * 100, TF_ONE_WAY)
            daemon.hand_over()
            for number in range(10, 20):
                send(client, b"%4d" % number * 100, TF_ONE_WAY)
            daemon.hand_over()
            back.send()
            wait_for(pid)


def test_files_in_transit_arrive(directory):
    with Replaced(directory) as daemon:
        step, back = Signals(), Signals()

        def serve():
            manager = Client(daemon.path("binder"))
            manager.become_manager(ACCEPTS_FDS)
            step.send(b"m")
            back.wait()
            for number in range(3):
                argument = take_call(manager)
                fd = OBJECT.unpack(manager.data_of(argument))[2]
                with os.fdopen(fd & 0xFFFFFFFF, "rb") as file:
                    assert file.read() == b"content %d" % number
                manager.write_read(driver.free_buffer(argument), 0)

        with child(serve) as pid:
            step.wait(b"m")
            client = Client(daemon.path("binder"))
            for number in range(3):
                name = os.path.join(directory, f"file{number}")
                with open(name, "wb") as file:
                    file.write(b"content %d" % number)
                fd = os.open(name, os.O_RDONLY)
                send(client, OBJECT.pack(FILE, 0, fd, 0),
                     TF_ONE_WAY | TF_ACCEPT_FDS, (0,))
                os.close(fd)
                daemon.hand_over()
            back.send()
            wait_for(pid)


def test_deaths_are_told(directory):
    """Of a process that dies after the hand-over; and before it, not delivered yet."""
    for early in False, True:
        with Replaced(directory) as daemon, contextlib.ExitStack() as stack:
            manager = stack.enter_context(server(daemon.path("binder")))
            client = Client(daemon.path("binder"))
            client.write_read(driver.watch_handle(0), 0)
            if early:
                os.kill(manager, signal.SIGKILL)
                report = daemon.path(f"binder_logs/proc/{manager}")
                until(lambda: not os.path.exists(report), DEADLINE_S)
            daemon.hand_over()
            if not early:
                os.kill(manager, signal.SIGKILL)
            code, _ = replies(client)
            assert code == BR_DEAD_BINDER, hex(code)
            client.close()


def test_an_open_that_has_ended_stays_ended(directory):
    with Replaced(directory) as daemon, server(daemon.path("binder")):
        used, closed = ended_open(daemon), ended_open(daemon)
        daemon.hand_over()
        expect_error(errno.EBADF, driver.ioctl, used, driver.THREAD_EXIT,
                     ctypes.create_string_buffer(4))
        os.close(closed)
        daemon.hand_over()
        os.close(os.dup(used))
        os.close(used)
        assert_served(daemon, DEADLINE_S)


def test_a_frozen_process_stays_frozen(directory):
    with Replaced(directory) as daemon, server(daemon.path("binder")) as manager:
        client = Client(daemon.path("binder"))
        assert client.call(b"x") == b"x"
        client.freeze(manager)
        daemon.hand_over()
        try:
            client.call(b"x")
            raise AssertionError("the process is not frozen any more")
        except RuntimeError as error:
            assert str(error) == "frozen", error
        client.freeze(manager, on=False)
        assert client.call(b"y") == b"y"


def test_pollers_are_woken(directory):
    with Replaced(directory) as daemon:
        step, back = Signals(), Signals()

        def serve():
            manager = Client(daemon.path("binder"), os.O_NONBLOCK)
            manager.become_manager()
            epoll = select.epoll()
            epoll.register(manager.fd, select.EPOLLIN)
            assert not epoll.poll(0.05)
            step.send(b"m")
            assert epoll.poll(DEADLINE_S), "no event"
            argument = take_call(manager)
            answer(manager, argument, b"polled")
            back.wait()

        with child(serve) as pid:
            step.wait(b"m")
            time.sleep(0.05)
            daemon.hand_over()
            assert Client(daemon.path("binder")).call(b"x") == b"polled"
            back.send()
            wait_for(pid)


def test_memory_that_never_comes_keeps_no_daemon(directory):
    trap_or_skip()
    with Replaced(directory, "--threads=2") as daemon, server(daemon.path("binder")):
        left = 0
        client = Client(daemon.path("binder"))
        with ready_child(read_from_traps, daemon.path("binder"), 3):
            time.sleep(0.1)
            for _ in range(3):
                left += int(daemon.hand_over()["left_behind"])
                assert client.call(b"x") == b"x"
                assert_served(daemon, DEADLINE_S)
            assert left, "no call was left behind"


def test_files_of_a_call_left_behind_are_closed_once(directory):
    trap_or_skip()
    with Replaced(directory) as daemon:
        manager = Client(daemon.path("binder"))
        manager.become_manager(ACCEPTS_FDS)
        ready = Signals()
        read, write = os.pipe()

        def send_and_hang():
            trap = driver.Trap()
            client = Client(daemon.path("binder"))
            data = OBJECT.pack(FILE, 0, write, 0) + struct.pack(
                "<IIQQQQ", driver.BUFFER, 0, trap.address, 8, 0, 0)
            call, _keep = encode(driver.BC_TRANSACTION, Bytes(data, [0, OBJECT.size]), 0, 1,
                                 TF_ONE_WAY)
            ready.send()
            with contextlib.suppress(OSError):
                client.write_read(struct.pack("<I", driver.BC_TRANSACTION_SG) + call[4:]
                                  + struct.pack("<Q", 8), 0)
            os.close(write)
            time.sleep(DEADLINE_S)

        with child(send_and_hang):
            os.close(write)
            ready.wait()
            time.sleep(0.2)
            assert int(daemon.hand_over()["left_behind"]) == 1
            for _ in range(3):
                daemon.hand_over()
            assert select.select([read], [], [], DEADLINE_S)[0], "it was not closed"
            assert not os.read(read, 1)
        manager.close()
        os.close(read)


# ---- what else is open ---------------------------------------------------------------------------

def test_readers_of_events_miss_nothing(directory):
    with Replaced(directory) as daemon, server(daemon.path("binder")), \
            Events(daemon, ["txn", "lost"]) as events:
        client = Client(daemon.path("binder"))
        found = []
        for number in range(4):
            for _ in range(10):
                client.call(b"x")
            if number % 2:
                found += [event for event in events.read() if event.kind in ("txn", "lost")]
            daemon.hand_over()
            assert client.call(b"y") == b"y"
        while len(found) < 4 * 2 * 11:
            found += [event for event in events.read() if event.kind in ("txn", "lost")]
        assert {event.kind for event in found} == {"txn"}, "events were lost"
        numbers = [event.number for event in found]
        assert numbers == sorted(set(numbers))


def test_a_waiting_reader_of_events_goes_on(directory):
    with Replaced(directory) as daemon, server(daemon.path("binder")), \
            Events(daemon, ["txn"]) as events:
        found = []

        def read():
            while not any(event.kind == "txn" for event in found):
                found.extend(events.read())

        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(0.05)
        daemon.hand_over()
        assert Client(daemon.path("binder")).call(b"x") == b"x"
        reader.join(DEADLINE_S)
        assert not reader.is_alive()


def test_a_report_that_is_being_read_goes_on(directory):
    """From its beginning, from its middle, and from its end."""
    with Replaced(directory) as daemon:
        clients = [Client(daemon.path("binder")) for _ in range(100)]
        with open(daemon.path("binder_logs/state"), "rb", buffering=0) as file:
            daemon.hand_over()
            text = file.read(1000)
            daemon.hand_over()
            while True:
                part = file.read(3000)
                if not part:
                    break
                text += part
            daemon.hand_over()
            assert not file.read(3000)
        assert text.count(b"\nproc ") == len(clients), text.count(b"\nproc ")
        for client in clients:
            client.close()


def test_directories_and_texts_stay_open(directory):
    with Replaced(directory) as daemon:
        logs = os.open(daemon.path("binder_logs"), os.O_RDONLY | os.O_DIRECTORY)
        text = os.open(daemon.path("features/extended_error"), os.O_RDONLY)
        os.chmod(daemon.path("hwbinder"), 0o640)
        os.chown(daemon.path("hwbinder"), 5, 6)
        control = os.open(daemon.path("binder-control"), os.O_RDWR)
        add_device(control, b"added")
        held = Client(daemon.path("vndbinder"))
        os.unlink(daemon.path("vndbinder"))
        daemon.hand_over()
        assert os.read(text, 10) == b"1\n"
        assert "state" in os.listdir(logs)
        state = os.stat(daemon.path("hwbinder"))
        assert (state.st_mode & 0o777, state.st_uid, state.st_gid) == (0o640, 5, 6)
        Client(daemon.path("added")).close()
        held.write_read(b"", 0)
        os.fstat(held.fd)
        assert not os.path.exists(daemon.path("vndbinder"))
        add_device(control, b"another")
        for fd in logs, text, control:
            os.close(fd)


def test_bound_opens_go_on(directory):
    for option in "--threads=2", "--no-passthrough":
        with Replaced(directory, option) as daemon, bound(daemon, directory) as path, \
                server(path):
            client = Client(path)
            for size in 10, 5000, 60000:
                data = os.urandom(size)
                assert client.call(data) == data
                daemon.hand_over()
                assert client.call(data) == data
                run_child(lambda: check(Client(path).call(b"new") == b"new"))
            client.close()


def test_buffers_are_pushed_where_the_kernel_cannot_map_them(directory):
    with Replaced(directory, "--no-passthrough") as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        for _ in range(3):
            data = os.urandom(30000)
            assert client.call(data) == data
            daemon.hand_over()
            assert client.call(data) == data


# ---- load ----------------------------------------------------------------------------------------

def test_calls_under_load_are_neither_lost_nor_doubled(directory):
    with Replaced(directory, "--threads=2") as daemon, contextlib.ExitStack() as stack:
        step = Signals()
        ended = Signals()

        def serve():
            manager = become_manager(daemon, step)
            manager.retries = True    # a busy machine has calls left behind
            counts = {}
            while True:
                argument = take_call(manager)
                who, number = struct.unpack("<II", manager.data_of(argument))
                assert counts.get(who, -1) == number - 1, (who, number, counts.get(who))
                counts[who] = number
                answer(manager, argument, struct.pack("<II", who, number))

        def call(who):
            client = Client(daemon.path("binder"))
            client.retries = True
            number = 0
            while not select.select([ended.read], [], [], 0)[0]:
                data = struct.pack("<II", who, number)
                assert client.call(data) == data
                number += 1

        manager = stack.enter_context(child(serve))
        step.wait(b"m")
        callers = [stack.enter_context(child(call, who)) for who in range(3)]
        files = None
        for _ in range(10):
            daemon.hand_over()
            # of helper channels there may be a few more or less
            files = files or daemon.files()
            assert daemon.files() < files + 20
            time.sleep(0.05)
        ended.send()
        for pid in callers:
            wait_for(pid)
        assert os.waitpid(manager, os.WNOHANG) == (0, 0), "the manager failed"


def test_a_rehearsal_changes_nothing(directory):
    with Replaced(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        assert client.call(b"x") == b"x"
        before = daemon.status()
        for _ in range(3):
            after = daemon.ask(signal.SIGUSR1)
            assert after["last"] == "dry-run-done", after
            assert after["server"] == before["server"]
            assert client.call(b"y") == b"y"
        daemon.hand_over()
        assert client.call(b"z") == b"z"
