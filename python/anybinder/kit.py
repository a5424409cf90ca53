# SPDX-License-Identifier: Apache-2.0
"""A private bus for a test: fake services, clients, callbacks, faults and traces.

    with Binder(aidl="aidl") as binder:
        board = binder.fake("board", readPin=7)
        assert binder.client("board").readPin(3) == 7
        assert board.calls[0].arguments == {"pin": 3}

Every value has the type that the .aidl file declares: a number, a text, a list, a dict for a
parcelable or union, the name of an enumerator, `bytes`, a path or an open file for a file, a fake,
a callback or a name for an object. A byte array that is returned is a text, "hex:00ff".
"""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import errors
from .bus import Bus
from .call import Command
from .process import PATIENCE_S, Program, until


class Typed(str):
    """An answer as it is typed for `anybinder fake`, which lists what else may be in one."""


DEAD = Typed("!dead")    # an answer: the process ends without a reply


def dies_behind(value: Any = None) -> str:
    """An answer: the process ends behind the reply."""
    return Typed(f"{_spec(value)} !dies")


def out(result: Any = None, **arguments: Any) -> str:
    """An answer: a result, and what arguments return."""
    given = ", ".join(f"{name}={_spec(value)}" for name, value in arguments.items())
    return Typed(f"{_spec(result)} !out({given})")


@dataclasses.dataclass
class Call:
    """A call that came. Its context is the caller's security context, where there are any."""
    number: int
    method: str
    arguments: dict
    pid: int
    uid: int
    context: str | None
    is_oneway: bool

    @classmethod
    def of(cls, text: bytes) -> Call:
        """As a line of `anybinder --json fake` tells it."""
        line = json.loads(text)
        names = "call", "method", "arguments", "pid", "uid", "context", "oneway"
        return cls(*[line[name] for name in names])


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (bytes, bytearray)):
        return f"hex:{value.hex()}"
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "fileno"):
        return f"/proc/{os.getpid()}/fd/{value.fileno()}"
    return value.reference() if hasattr(value, "reference") else value


def _spec(value: Any) -> str:
    """An answer as `anybinder fake` reads it."""
    if isinstance(value, Typed):
        return value
    if isinstance(value, errors.BinderError):
        return value.spec()
    if isinstance(value, type) and issubclass(value, errors.BinderError):
        return value().spec()
    return "" if value is None else json.dumps(_plain(value))


class _Process:
    """One `anybinder fake`, which is spoken to by lines of JSON.

    Whoever waits for a line reads what there is, or waits until another thread has read it: no
    line is handed from thread to thread where one thread makes all calls.
    """

    def __init__(self, bus: Command, on_call: Callable[[_Process, bytes], Any], *words: str):
        self.on_call = on_call
        self.ids = itertools.count(1)
        self.answers: dict[int | None, dict] = {}
        self.writing = threading.Lock()
        self.turn = threading.Condition()
        self.is_read = self.is_always_read = self.is_serving = self.has_ended = False
        self.rest = b""
        with tempfile.TemporaryFile("w+") as said:
            self.process = subprocess.Popen(
                [*bus.before, bus.program, "--json", "fake", *words, "-"], env=bus.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, bufsize=0)
            assert self.process.stdin and self.process.stdout
            self.input, self.output = self.process.stdin, self.process.stdout
            self._read_until(lambda: self.is_serving)
            if not self.is_serving:
                self.process.wait()
                said.seek(0)
                raise errors.Unanswered(_message(said.read()))

    def read_always(self) -> None:
        """Reads also where nobody waits for a line, from now on."""
        if self.is_always_read:
            return
        self.is_always_read = True
        threading.Thread(target=self._read_until, args=(lambda: False,), daemon=True).start()

    def _read_until(self, is_done: Callable[[], Any]) -> None:
        """Reads lines until a condition holds or the process has ended."""
        with self.turn:
            while not (is_done() or self.has_ended):
                if self.is_read:
                    self.turn.wait()
                    continue
                self.is_read = True
                self.turn.release()
                try:
                    data = self.output.read(1 << 16)
                finally:
                    self.turn.acquire()
                    self.is_read = False
                    self.turn.notify_all()
                *lines, self.rest = (self.rest + data).split(b"\n")
                for text in lines:
                    self._take(text)
                self.has_ended = not data

    def _take(self, text: bytes) -> None:
        if text.startswith(b'{"call":'):
            self.on_call(self, text)
            return
        line = json.loads(text)
        if "id" in line:
            self.answers[line["id"]] = line
        self.is_serving |= "serving" in line

    def write(self, line: dict) -> None:
        data = json.dumps(line).encode() + b"\n"
        with self.writing:
            while data:
                data = data[self.input.write(data):]

    def begin(self, **line: Any) -> int:
        """Writes a line. Returns the number of the line that will answer it."""
        number = next(self.ids)
        with contextlib.suppress(OSError):
            self.write({"id": number, **line})
        return number

    def answer(self, number: int) -> dict:
        """The line that answers the one with this number. Raises the error that it tells."""
        self._read_until(lambda: number in self.answers)
        line = self.answers.pop(number, None) or {"error": "the process has ended"}
        if error := errors.of_line(line):
            raise error
        return line

    def ask(self, **line: Any) -> dict:
        """The line that answers another. Raises the error that it tells."""
        return self.answer(self.begin(**line))

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.input.close()


def _message(text: str) -> str:
    """What the command says in a document of JSON, if it is one."""
    with contextlib.suppress(ValueError, KeyError):
        error = json.loads(text[text.index("{"):])["error"]
        return " ".join(filter(None, (error["message"], error["advice"])))
    return text.strip()


class _Answering:
    """What answers calls as told, and remembers which came."""
    _process: _Process

    def __init__(self) -> None:
        self._of: dict = {}    # the member of a line that says which object is meant
        self._calls: list[Call] = []
        # As they came: nobody waits until they are read.
        self._texts_of_calls: collections.deque[bytes] = collections.deque()
        self._functions: dict[str, Callable] = {}
        self._answers: dict[str, str] = {}

    @property
    def calls(self) -> list[Call]:
        """The calls that came so far, in their order."""
        with contextlib.suppress(errors.Unanswered):
            self._process.ask(flush=True)
        while self._texts_of_calls:
            self._calls.append(Call.of(self._texts_of_calls.popleft()))
        return list(self._calls)

    def _text(self, method: str, values: Sequence[Any], after: float = 0) -> str:
        """Answers as `anybinder fake` reads them."""
        self._functions.pop(method, None)
        if len(values) == 1 and callable(values[0]) and not isinstance(values[0], type):
            self._functions[method] = values[0]
            return "!ask"
        before = f"!after({after}s) " if after else ""
        return " !then ".join(before + _spec(value) for value in values or (None,))

    def answers(self, method: str, *values: Any, after: float = 0) -> None:
        """What the next calls of a method are answered with; the last value is for all that follow.

        values: results; exceptions, to be raised; DEAD; or one function, which is given the
            arguments by their names and returns a result, or raises an exception
        after: seconds from the call to the answer
        """
        text = self._text(method, values, after)
        self._process.ask(answers={method: text}, **self._of)
        self._answers[method] = text

    def raises(self, method: str, error: errors.BinderError | type) -> None:
        """A method answers with an exception from now on."""
        self.answers(method, error)

    def _came(self, process: _Process, text: bytes) -> None:
        self._texts_of_calls.append(text)
        if b'"asks":true' in text:
            args = process, Call.of(text)
            threading.Thread(target=self._answer, args=args, daemon=True).start()

    def _answer(self, process: _Process, call: Call) -> None:
        try:
            function = self._functions.get(call.method)
            if not function:
                raise errors.UnknownTransaction()
            step = {"result": _plain(function(**call.arguments))}
        except (errors.AidlException, errors.Status) as error:
            step = error.step()
        except Exception as error:    # pylint: disable=broad-except
            step = errors.IllegalState(f"{call.method}: {error!r}").step()
        with contextlib.suppress(OSError):
            process.write({"answer": call.number, **step})


class Fake(_Answering):
    """A service that answers as told, in a process of its own (see Binder.fake)."""

    def __init__(self, binder: Binder, name: str, words: Sequence[str], answers: dict[str, Any]):
        super().__init__()
        self.name = name
        self._binder = binder
        self._words = list(words)
        self._answers = {method: self._text(method, [value]) for method, value in answers.items()}
        self._process = self._start()

    def _start(self) -> _Process:
        answers = [f"{method}={text}" for method, text in self._answers.items()]
        process = _Process(self._binder.bus, self._came, *self._words, self.name, *answers)
        process.read_always()
        self._binder.look_up_anew()
        return process

    def reference(self) -> str:
        """What it is as a value: its name."""
        return self.name

    @property
    def pid(self) -> int:
        """The process of the service."""
        return self._process.process.pid

    def call_back(self, argument: str, method: str, *arguments: Any) -> None:
        """Calls a method of the object that a client has given as the argument of that name."""
        self._process.ask(call_back={"object": argument, "method": method,
                                     "arguments": _plain(arguments)})

    def dies(self) -> None:
        """The process of the service is killed."""
        self._process.end()

    def restart(self) -> None:
        """The service is there again, with the answers that it had, in a new process."""
        self.dies()
        self._process = self._start()

    def wait_dead(self) -> None:
        """Waits until the process has ended, as an answer told it to."""
        self._process.process.wait(PATIENCE_S)


class Client:
    """Calls a service or an object: each method of its interface is one of this.

    A method takes arguments by place or by name, and returns the result; where arguments return
    something, too, a tuple of the result and of those by their names. An object that is returned
    is a Client, a file is an open file. The service is looked up at the first call and kept, as
    other clients do, until it is dead or a fake or a disturbance begins or ends.
    """

    def __init__(self, process: _Process, target: str | dict, interface: str | None = None):
        self._process = process
        self._target = target
        self._interface = interface

    def reference(self) -> Any:
        """What it is as a value."""
        return self._target

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)

        def call(*arguments: Any, **named: Any) -> Any:
            if arguments and named:
                raise TypeError(f"{method}: arguments by place or by name, not both")
            line = self._process.ask(call={
                "to": self._target, "method": method, "interface": self._interface,
                "arguments": _plain(named or list(arguments))})
            result, out = (self._made(line[one]) for one in ("result", "out"))
            return (result, out) if out else result

        call.__name__ = method
        return call

    def _made(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._made(one) for one in value]
        if isinstance(value, dict):
            if set(value) == {"handle"}:
                return Client(self._process, value)
            if "fd" in value and set(value) <= {"fd", "path"}:
                pid = self._process.process.pid
                # pylint: disable=consider-using-with
                return open(f"/proc/{pid}/fd/{value['fd']}", "rb")
            return {name: self._made(one) for name, one in value.items()}
        return value


class Callback(_Answering):
    """An object of the client's side, for services to call (see Binder.callback)."""

    def __init__(self, process: _Process, interface: str, answers: dict[str, Any]):
        super().__init__()
        self._process = process
        self._of = {"of": process.ask(object={"interface": interface})["object"]}
        for method, value in answers.items():
            self.answers(method, value)

    def reference(self) -> dict:
        """What it is as a value."""
        return {"object": self._of["of"]}


class Binder:
    """A private bus, as a context; or what is added to one that is there, and goes at the end.

    aidl: the directory or directories with the .aidl files
    bus: one that is there; None for an own one
    options: of an own one, see bus.Bus
    """

    def __init__(self, aidl: Any = (), bus: Command | None = None, **options: Any):
        self.aidl = aidl
        self._stack = contextlib.ExitStack()
        self._own = Bus(managers="binder", **options) if bus is None else None
        self.bus: Command = bus or self._own    # type: ignore[assignment]
        self._clients: dict[tuple[str, ...], _Process] = {}
        self._callbacks: dict[tuple[_Process, str], Callback] = {}

    def __enter__(self) -> Binder:
        if self._own:
            self._stack.enter_context(self._own)
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()
        self._clients.clear()

    def _words(self, aidl: Any) -> tuple[str, ...]:
        """The options with the .aidl files."""
        chosen = aidl or self.aidl
        paths = [chosen] if isinstance(chosen, (str, os.PathLike)) else chosen
        return tuple(word for path in paths for word in ("--aidl", os.fspath(path)))

    def fake(self, name: str, *, aidl: Any = None, interface: str | None = None,
             answers_file: str | None = None, recording: str | None = None,
             threads: int | None = None, **answers: Any) -> Fake:
        """Registers a service.

        name: as which; its interface is what stands before a `/`, or the only one of @aidl
        answers_file, recording, threads: of `anybinder fake --answers`, `--from` and `--threads`
        answers: by methods, see Fake.answers(). Others are not known, but for one-way methods
        """
        words = [*self._words(aidl)]
        for option, value in (("--interface", interface), ("--answers", answers_file),
                              ("--from", recording), ("--threads", threads)):
            words += [option, str(value)] if value else []
        fake = Fake(self, name, words, answers)
        self._stack.callback(fake.dies)
        return fake

    def _client_process(self, aidl: Any) -> _Process:
        words = self._words(aidl)
        if words not in self._clients:
            process = _Process(self.bus, self._came, *words)
            self._stack.callback(process.end)
            self._clients[words] = process
        return self._clients[words]

    def look_up_anew(self) -> None:
        """Clients look their services up anew before their next calls."""
        for process in self._clients.values():
            with contextlib.suppress(OSError):
                process.write({"forget": True})

    def _came(self, process: _Process, text: bytes) -> None:
        # pylint: disable-next=protected-access
        self._callbacks[process, json.loads(text)["service"]]._came(process, text)

    def client(self, name: str, *, aidl: Any = None, interface: str | None = None) -> Client:
        """A client of a service, which need not be there yet."""
        return Client(self._client_process(aidl), name, interface)

    def callback(self, interface: str, *, aidl: Any = None, **answers: Any) -> Callback:
        """An object that is passed to a service by a client with the same @aidl."""
        process = self._client_process(aidl)
        process.read_always()
        callback = Callback(process, interface, answers)
        number = callback.reference()["object"]
        self._callbacks[process, f"object {number}"] = callback
        return callback

    def run(self, words: Sequence[str], check: bool = True, **more: Any
            ) -> subprocess.CompletedProcess:
        """Runs a program that finds the bus at /dev/binder; more: for subprocess.run()."""
        done = self.bus.execute(self.bus.program, "run", "--", *words, **more)
        if check and done.returncode:
            raise subprocess.CalledProcessError(done.returncode, list(words), done.stdout,
                                                done.stderr)
        return done

    @contextlib.contextmanager
    def trace(self, *words: str) -> Iterator[list[dict]]:
        """The calls of the bus, as a list that is complete behind the `with`.

        words: more options of `anybinder trace`
        """
        calls: list[dict] = []
        tracer = Program([*self.bus.before, self.bus.program, "--json", "trace", *words],
                         env=self.bus.environment)
        with tracer:
            try:
                # A call that is shown: it has begun.
                until(lambda: self.bus.outcome("list") and tracer.log(), what="the trace begins")
                begun = tracer.log().count("\n")
                yield calls
                tracer.send_signal(signal.SIGINT)
                tracer.wait(PATIENCE_S)
            finally:
                tracer.kill()
        lines = tracer.log().splitlines()[begun:]
        calls += [json.loads(line) for line in lines if line.startswith("{")]

    @contextlib.contextmanager
    def disturb(self, name: str, **faults: Any) -> Iterator[subprocess.Popen]:
        """Calls of a service are disturbed: a proxy has its place until the end of the `with`.

        faults: options of `anybinder disturb`: delay="2s", fail="DEAD_OBJECT", dead=True, rate=0.1
        """
        words: list[str] = []
        for option, value in faults.items():
            words.append(f"--{option.replace('_', '-')}")
            words += [] if value is True else [str(value)]
        with self.bus.started("disturb", name, *words) as proxy:
            assert proxy.stdout
            first = proxy.stdout.readline()
            if " is disturbed by process " not in first:
                raise errors.Unanswered(first + proxy.stdout.read())
            self.look_up_anew()
            try:
                yield proxy
            finally:
                # It gives the name back.
                proxy.send_signal(signal.SIGINT)
                proxy.wait(PATIENCE_S)
                self.look_up_anew()
