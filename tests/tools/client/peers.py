# SPDX-License-Identifier: Apache-2.0
"""A bus with a service of tests/drivers/clients, for the tests of the commands that talk to
services and look at drivers."""
import contextlib
import json
import os
import pathlib
import subprocess
import time

from anybinder.bus import Bus
from anybinder.driver import DUMP, SHELL, TF_ONE_WAY, Bytes
from anybinder.parcel import Parcel, Reader
from anybinder.process import children_of, program, until
from anybinder.service import Server, served
from anybinder.servicemanager import Client

TOP = pathlib.Path(__file__).resolve().parents[3]
PEER = "anybinder.test.IPeer/default"
AIDL = str(TOP / "tests/drivers/clients/aidl")


def contains(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in {text!r}"


class PeerBus(Bus):
    """A bus, and what a test starts on it."""

    def __init__(self, **how):
        super().__init__(**how)
        self.scratch = None    # of the present test
        self.running = []

    def ask(self, method, *arguments, status=0, name=PEER):
        """What a method of the service returns, as text."""
        return self.call(name, method, *arguments, aidl=AIDL, status=status)

    def code(self, method):
        """The transaction code of a method of the service."""
        methods = self.json("interface", PEER, "--aidl", AIDL)["methods"]
        return next(one["code"] for one in methods if one["signature"].startswith(f"{method}("))

    def bad_call(self):
        """A transaction that the driver refuses: larger than any buffer."""
        self.run("call", PEER, "3", "bytes", f"@{self.file('big', 2 << 20)}", status=7)

    def file(self, name, size):
        """The path of a file of that many bytes, all zero."""
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.truncate(size)
        return path

    def start(self, *words):
        """A program in the background, which ends with the test."""
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.running.append(process)
        return process

    def command(self, *words):
        """The command in the background, which ends with the test."""
        return self.start(self.program, *words)

    def serve(self, name=PEER, threads=4):
        process = self.start(program("client-tests"), "--mount", self.mount, "serve", "--name",
                             name, "--max-threads", str(threads))
        self.wait_for(name)
        return process

    def has_all_pass(self, name, proxy, other):
        """Calls of the service pass through a process, with objects and files, in threads that wait
        back and forth with another one, and one-way calls in their order."""
        def ask(method, *words):
            return self.ask(method, *words, name=name)

        assert ask("add", "2", "40") == "42"
        assert ask("callingPid") == str(children_of(proxy.pid)[0])
        contains(ask("echoBinder", PEER), '"handle":')
        contains(ask("makeCounter"), '"handle":')
        assert ask("bounce", name, other, "5") == "5"
        contains(ask("callBack", "new", "7"), "7")
        notes = self.file("notes", 9)
        assert len(ask("readFiles", f'["{notes}", "{notes}"]')) > 2
        contains(ask("openText", "x"), '"path":"/memfd:')
        self.run("dump", name)
        for number in range(20):
            ask("post", str(number))
        until(lambda: json.loads(ask("posted")) == list(range(20)))

    def stop(self, *processes):
        for process in processes:
            # Also one that is stopped.
            process.kill()
            process.communicate()
            self.running.remove(process)

    def marked(self, mark):
        """The pids that top marks so."""
        marks = self.json("top", "--interval-ms", "300", "--hanging-ms", "100")["marks"]
        return [one["pid"] for one in marks if one["mark"] == mark]

    @contextlib.contextmanager
    def waiting_call(self, name):
        """A client waits for a service of its own, and both end."""
        service = self.serve(name)
        client = self.command("call", "--aidl", AIDL, name, "maxConcurrent", "60000")
        yield service
        self.stop(client, service)

    @contextlib.contextmanager
    def death_of(self, name):
        """A client is told of the death of the service, which dies meanwhile."""
        with Client(self.path()) as client:
            handle = client.find(name)
            client.watch(handle)
            yield
            assert client.wait_death() and client.dead == [handle]


# ---- services with one thread ------------------------------------------------------------------

def flood(file):
    """Writes until no one reads."""
    with contextlib.suppress(BrokenPipeError):
        while os.write(file, b"x" * 65536):
            pass


def run_words(words, source, output, error):
    """The result of a shell command, None for no result."""
    match words:
        case ["echo", *rest]:
            os.write(output, (" ".join(rest) + "\n").encode())
            return 0
        case ["cat"]:
            while chunk := os.read(source, 4096):
                os.write(output, chunk)
            return 0
        case ["fail", status, text]:
            os.write(error, text.encode() + b"\n")
            return int(status)
        case ["flood"]:
            os.write(error, b"begun")
            flood(output)
        case ["die"]:
            os._exit(1)
    return None


class ShellServer(Server):
    """A service with shell commands, which no library for Linux serves: `echo WORDS`, `cat`, `fail
    STATUS TEXT` (writes to the error output), `die`, `mute` (no result), `flood` (output without
    end). A dump has no end either."""

    def __init__(self, path):
        super().__init__(path, "anybinder.test.IShell", {})

    def answer(self, call):
        reader = Reader(call.data)
        if call.code == DUMP:
            file = reader.file()
            flood(file)
            os.close(file)
        elif call.code == SHELL:
            self.shell(reader)
        else:
            return super().answer(call)
        return Bytes()

    def shell(self, reader):
        files = [reader.file() for _ in range(3)]
        words = [reader.string() for _ in range(reader.i32())]
        assert reader.handle() is None, "a callback"
        receiver = reader.handle()
        result = run_words(words, *files)
        for file in files:
            os.close(file)
        if result is not None:
            header = "com.android.internal.os.IResultReceiver"
            parcel = Parcel(descriptor=header).i32(result).i32(-1)
            self.transact(receiver, 1, parcel, TF_ONE_WAY)


def shell_service(bus, name):
    """A ShellServer in a process of its own, as a context."""
    return served(lambda: ShellServer(bus.path()), name)


class CircleServer(Server):
    """One of two that wait for each other: code 1 waits until the file @flag is there, then calls
    code 2 of the other and awaits its reply."""

    def __init__(self, path, other, flag):
        super().__init__(path, "anybinder.test.ICircle", {1: self.call_other, 2: b""})
        self.other, self.flag = other, flag

    def body(self, call):
        return call.data    # the command sends no header

    def call_other(self, call):
        del call
        while not os.path.exists(self.flag):
            time.sleep(0.01)
        self.transact(self.find(self.other, "get"), 2)
        return b""


def circle_services(bus, names, flag):
    """Two of them, in processes of their own, as contexts."""
    return [served(lambda other=other: CircleServer(bus.path(), other, flag), name)
            for name, other in zip(names, reversed(names))]
