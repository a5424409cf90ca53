# SPDX-License-Identifier: GPL-2.0
"""Pairs of a service and a client that count what they do, for hand-overs under load.

Each pair has a device of its own, which the service manages. What a client sends is numbered, each
kind by itself; the service sees that each number comes once and in its turn. With each reply it
tells how many of each kind it has had, and of how many deaths it was told.
"""
import collections
import contextlib
import errno
import faulthandler
import mmap
import os
import signal
import struct
import tempfile
import time
import traceback

from anybinder import driver
from anybinder.driver import (
    ACCEPTS_FDS,
    BC_RELEASE,
    BC_REPLY,
    BC_REQUEST_DEATH_NOTIFICATION,
    BC_TRANSACTION,
    BINDER,
    BR_DEAD_BINDER,
    BR_FAILURES,
    BR_NOOP,
    BR_REPLY,
    BR_TRANSACTION,
    BR_TRANSACTION_COMPLETE,
    DONE,
    OBJECT,
    TF_ACCEPT_FDS,
    TF_ONE_WAY,
    Client,
    acquire,
    free_buffer,
)
from anybinder.process import child
from replaced import DEADLINE_S, Signals, wait_for

BC_DEAD_BINDER_DONE = 0x40086310
BR_RELEASE, BR_DECREFS, BR_TRANSACTION_PENDING_FROZEN = 0x80107209, 0x8010720A, 0x7214
IGNORED = BR_NOOP, BR_TRANSACTION_COMPLETE, BR_TRANSACTION_PENDING_FROZEN, BR_RELEASE, BR_DECREFS
FREEZE_MS = 5000

CALL, FILE, NESTED, MORTAL, ONE_WAY = KINDS = range(5)
MESSAGE = struct.Struct("<II")      # kind, its number; then an object, if it has one
COUNTS = struct.Struct("<6I")       # in a reply: messages of each kind, deaths; then an object
FLOOD = 16                          # one-way calls in a row


def files_of(pid="self"):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Party(Client):
    """An open whose thread takes whatever comes: references, deaths, nested calls."""
    retries = True    # as libbinder, which a signal interrupts

    def __init__(self, path):
        self.due = b""                      # commands that are written next
        self.keep = None                    # what a call in them points to
        self.codes = collections.deque()    # read, and not taken yet
        super().__init__(path)

    def died(self, cookie):
        raise AssertionError(f"{cookie} is told to have died")

    def nested(self, argument):
        raise AssertionError(f"a call came in a call: {argument}")

    def put(self, command, data, flags=0, has_object=False, handle=0):
        """A call or a reply; an object is at the end of @data."""
        content = driver.Bytes(data, [len(data) - OBJECT.size] * has_object)
        commands, self.keep = driver.encode(command, content, handle, 1, flags)
        self.due += commands

    def flush(self):
        commands, self.due = self.due, b""
        self.write_read(commands, 0)

    def take(self):
        """Writes what is due, and reads until a call, a reply or a failure comes."""
        while True:
            if not self.codes:
                commands, self.due = self.due, b""
                self.codes.extend(self.write_read(commands, 512))
            while self.codes:
                code, argument = self.codes.popleft()
                if code in DONE:
                    self.due += struct.pack("<I", DONE[code]) + argument
                elif code == BR_DEAD_BINDER:
                    self.died(struct.unpack("<Q", argument)[0])
                elif code not in IGNORED:
                    return code, argument

    def request(self, *args, **kwargs):
        """put(), for a call. Returns the reply; RuntimeError: a failure."""
        self.put(BC_TRANSACTION, *args, **kwargs)
        code, argument = self.take()
        while code == BR_TRANSACTION:
            self.nested(argument)
            code, argument = self.take()
        if code in BR_FAILURES:
            raise RuntimeError(BR_FAILURES[code])
        assert code == BR_REPLY, hex(code)
        return argument


class Service(Party):
    """Manages a device, and checks the numbers of all that it gets."""

    def __init__(self, path):
        super().__init__(path)
        self.had = [0] * len(KINDS)
        self.deaths = 0
        self.mortals = {}    # handles that are watched, by cookie
        self.become_manager(ACCEPTS_FDS)

    def died(self, cookie):
        self.due += struct.pack("<IQ", BC_DEAD_BINDER_DONE, cookie)
        self.due += struct.pack("<II", BC_RELEASE, self.mortals.pop(cookie))
        self.deaths += 1

    def serve(self, calls=-1):
        while True:
            code, argument = self.take()
            assert code == BR_TRANSACTION, hex(code)
            data = self.data_of(argument)
            kind, number = MESSAGE.unpack_from(data)
            assert number == self.had[kind], (kind, number, self.had)
            self.had[kind] += 1
            value = OBJECT.unpack_from(data, MESSAGE.size)[2] & 0xFFFFFFFF if \
                len(data) > MESSAGE.size else 0
            self.answers[kind](self, argument, number, value)

    def reply(self, argument, an_object=b""):
        self.due += free_buffer(argument)
        self.put(BC_REPLY, COUNTS.pack(*self.had, self.deaths) + an_object,
                 has_object=bool(an_object))
        self.flush()

    def answer_call(self, argument, _number, _value):
        self.reply(argument)

    def answer_file(self, argument, number, fd):
        assert os.pread(fd, 16, 0) == b"%16d" % number, "another file"
        self.reply(argument, OBJECT.pack(driver.FILE, 0, fd, 0))
        os.close(fd)

    def answer_nested(self, argument, number, handle):
        inner = self.request(MESSAGE.pack(NESTED, number), handle=handle)
        assert self.data_of(inner) == MESSAGE.pack(NESTED, number)
        self.due += free_buffer(inner)
        self.reply(argument)

    def answer_mortal(self, argument, number, handle):
        self.due += acquire(handle)
        self.due += struct.pack("<IIQ", BC_REQUEST_DEATH_NOTIFICATION, handle, number)
        self.mortals[number] = handle
        self.reply(argument)

    def answer_one_way(self, argument, _number, _value):
        self.due += free_buffer(argument)

    answers = {CALL: answer_call, FILE: answer_file, NESTED: answer_nested,
               MORTAL: answer_mortal, ONE_WAY: answer_one_way}


class Caller(Party):
    """Does everything in turn."""

    def __init__(self, path, service_pid, note):
        super().__init__(path)
        self.path, self.service_pid, self.note = path, service_pid, note
        self.sent = [0] * len(KINDS)
        self.had, self.deaths = [], 0    # by the last reply

    def call(self, kind=CALL, an_object=b"", flags=0):    # pylint: disable=arguments-renamed
        """Returns the object of the reply, if it has one."""
        done = self.note()
        argument = self.request(MESSAGE.pack(kind, self.sent[kind]) + an_object, flags,
                                has_object=bool(an_object))
        done()
        self.sent[kind] += 1
        data = self.data_of(argument)
        self.due += free_buffer(argument)
        *self.had, self.deaths = COUNTS.unpack_from(data)
        assert self.had[:ONE_WAY] == self.sent[:ONE_WAY], (self.had, self.sent)
        assert self.had[ONE_WAY] <= self.sent[ONE_WAY], (self.had, self.sent)
        assert self.deaths <= self.sent[MORTAL], (self.deaths, self.sent)
        return data[COUNTS.size:]

    def one_way(self):
        self.put(BC_TRANSACTION, MESSAGE.pack(ONE_WAY, self.sent[ONE_WAY]), TF_ONE_WAY)
        self.flush()
        self.sent[ONE_WAY] += 1

    def flood(self):
        for _ in range(FLOOD):
            self.one_way()

    def send_file(self):
        """There and back."""
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(b"%16d" % self.sent[FILE])
            back = self.call(FILE, OBJECT.pack(driver.FILE, 0, file.fileno(), 0), TF_ACCEPT_FDS)
            fd = OBJECT.unpack(back)[2] & 0xFFFFFFFF
            assert os.path.sameopenfile(fd, file.fileno()), "another file"
            os.close(fd)

    def be_called(self):
        """The service calls an object of this client before it replies."""
        self.call(NESTED, OBJECT.pack(BINDER, 0, 7, 7))

    def nested(self, argument):
        data = self.data_of(argument)
        assert data == MESSAGE.pack(NESTED, self.sent[NESTED]), (data, self.sent)
        self.due += free_buffer(argument)
        self.put(BC_REPLY, data)

    def die(self):
        """Another open of this process, an object of which the service watches."""
        mortal = Party(self.path)
        try:
            mortal.request(MESSAGE.pack(MORTAL, self.sent[MORTAL]) +
                           OBJECT.pack(BINDER, 0, 9, 9), has_object=True)
        finally:
            mortal.close()
        self.sent[MORTAL] += 1

    def freeze(self, on):
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                return super().freeze(self.service_pid, FREEZE_MS, on)
            except OSError as error:    # a signal, or it has something to do
                if error.errno not in (errno.EINTR, errno.EAGAIN) or time.monotonic() > end:
                    raise

    def call_frozen(self):
        """A call is refused, one-way calls wait."""
        self.freeze(1)
        try:
            self.call()
            raise AssertionError("a frozen process has replied")
        except RuntimeError as error:
            assert str(error) == "frozen", error
        self.one_way()
        time.sleep(0.01)
        self.one_way()
        self.freeze(0)

    steps = (call, flood, call, send_file, call, be_called, call, die, call, call_frozen)

    def expect_all(self):
        """The last one-way calls and deaths may not have come yet."""
        end = time.monotonic() + DEADLINE_S
        self.call()
        while (self.had[ONE_WAY], self.deaths) != (self.sent[ONE_WAY], self.sent[MORTAL]):
            assert time.monotonic() < end, (self.had, self.deaths, self.sent)
            time.sleep(0.005)
            self.call()


class Pairs:
    """Services and clients on the devices p0, p1...; left as a context they are all killed.

    Time is divided into windows; the longest call of each client in each is kept.
    """

    def __init__(self, daemon, count, windows=1, rest_s=0.0):
        self.mnt, self.count, self.windows, self.rest_s = daemon.mnt, count, windows, rest_s
        self.shared = mmap.mmap(-1, 8 * (count + 2) + 4 * count * windows)
        view = memoryview(self.shared)
        self.turns = view[:8 * (count + 2)].cast("Q")    # of each client; whether to end; window
        self.longest_us = view[8 * (count + 2):].cast("I")
        self.stack = contextlib.ExitStack()
        self.services, self.clients, self.files = [], [], []

    def __enter__(self):
        for number in range(self.count):
            path = os.path.join(self.mnt, f"p{number}")
            ready = Signals()
            self.services.append(self.start(self.serve, path, ready))
            ready.wait()
            ready.close()
            self.files.append(files_of(self.services[-1]))
            self.clients.append(self.start(self.call, path, number))
        self.progress()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, function, *args):
        """In a process, which says why it fails. Returns its pid."""
        def run():
            faulthandler.register(signal.SIGUSR2)
            try:
                function(*args)
            except BaseException:
                os.write(2, traceback.format_exc().encode())
                raise

        return self.stack.enter_context(child(run))

    @staticmethod
    def serve(path, ready):
        service = Service(path)
        ready.send()
        service.serve()

    def call(self, path, at):
        files = files_of()
        client = Caller(path, self.services[at], lambda: self.note(at))
        while not self.turns[-2]:
            for step in client.steps:
                step(client)
                self.turns[at] += 1
                time.sleep(self.rest_s)
        client.expect_all()
        client.close()
        assert files_of() == files, (files_of(), files)

    def note(self, at):
        """A call begins. Returns what to call at its end."""
        window, begin_ns = self.turns[-1], time.monotonic_ns()

        def end():
            took_us = (time.monotonic_ns() - begin_ns) // 1000
            for number in window, self.turns[-1]:
                place = at * self.windows + number
                self.longest_us[place] = max(self.longest_us[place], took_us)

        return end

    def begin_window(self):
        self.turns[-1] += 1

    def longest_of(self, windows):
        """The longest call, in us, of each client in each of the windows, sorted."""
        return sorted(self.longest_us[at * self.windows + number] for at in range(self.count)
                      for number in windows)

    def progress(self, turns=3):
        """Waits until each client has done that much more."""
        due = [count + turns for count in self.turns[:-2]]

        def waiting():
            for pid in self.services + self.clients:
                assert not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), \
                    f"process {pid} has ended"
            return [at for at, count in enumerate(due) if self.turns[at] < count]

        end = time.monotonic() + DEADLINE_S
        while at := waiting():
            if time.monotonic() > end:
                for number in at[:3]:
                    self.describe(number)
                raise AssertionError(f"nothing happens at the pairs {at}")
            time.sleep(0.005)

    def describe(self, at):
        """Prints where a pair is; then its Python functions, to standard error."""
        for pid in self.services[at], self.clients[at]:
            for name in (f"/proc/{pid}/wchan", f"/proc/{pid}/syscall",
                         os.path.join(self.mnt, f"binder_logs/proc/{pid}")):
                with contextlib.suppress(OSError), open(name, encoding="utf-8") as file:
                    print(f"---- {name}\n{file.read().rstrip()}")
            os.kill(pid, signal.SIGUSR2)
            time.sleep(0.2)

    def end(self):
        """Each client has what it expects, no service has failed. Returns the number of turns."""
        self.turns[-2] = 1
        for pid in self.clients:
            wait_for(pid)
        for pid, files in zip(self.services, self.files):
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), "a service has failed"
            assert files_of(pid) == files, (files_of(pid), files)
        return sum(self.turns[:-2])


def devices(count):
    return "--devices=" + ",".join(["binder", *(f"p{number}" for number in range(count))])
