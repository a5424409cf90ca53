# SPDX-License-Identifier: Apache-2.0
"""A service that answers as told, in a process of its own, and records the calls that came."""
from __future__ import annotations

import contextlib
import os
import pickle
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from . import servicemanager
from .driver import INTERFACE, PING, Bytes, Call, Content, Failed
from .parcel import NEWEST, Parcel, Reader
from .process import ready_child

# What a method is answered with: the content of the reply, a status, or a function that makes one
# of them from the call; it may raise Failed with a status.
Answer = Union[Content, bytes, int, Callable[[Call], Any]]


class Record(NamedTuple):
    """A call that came: its code, and what it carries after the header."""
    code: int
    data: bytes
    is_oneway: bool


class Server(servicemanager.Client):
    """A client with an object that answers by code.

    interface: the descriptor of the object; calls with another one are refused
    level: the level that it is of, and so that of the calls that it takes
    """

    def __init__(self, path: str | os.PathLike, interface: str, answers: Mapping[int, Answer],
                 level: str = NEWEST, word: bytes = b"SYST"):
        super().__init__(path, level, word)
        self.interface = interface
        self.answers = answers
        self.record: Callable[[Record], Any] = lambda record: None
        self.header = Parcel(level, interface, word).data

    def incoming(self, call: Call) -> Any:
        if call.code == INTERFACE:
            return Parcel().string(self.interface_of(call))
        if call.code == PING:
            return Bytes()
        return self.answer(call)

    def interface_of(self, call: Call) -> str:
        """The descriptor of the object that is called."""
        del call
        return self.interface

    def body(self, call: Call) -> bytes:
        """What a call carries after its header, which has to be right."""
        if not call.data.startswith(self.header):
            raise Failed(servicemanager.BAD_TYPE)
        return call.data[len(self.header):]

    def reader(self, call: Call) -> Reader:
        """Reads the arguments of a call."""
        reader = Reader(call.data)
        reader.at = len(call.data) - len(self.body(call))
        return reader

    def answer(self, call: Call) -> Any:
        self.record(Record(call.code, self.body(call), call.is_oneway))
        answer = self.answers.get(call.code, servicemanager.UNKNOWN_TRANSACTION)
        if callable(answer):
            answer = answer(call)
        if isinstance(answer, int):
            raise Failed(answer)
        return Bytes(answer) if isinstance(answer, bytes) else answer


class Calls:
    """The calls that a service records in another process."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("calls")

    def add(self, record: Record) -> None:
        data = pickle.dumps(tuple(record))
        os.write(self.fd, struct.pack("<I", len(data)) + data)

    def all(self) -> list[Record]:
        """All that came so far, in their order."""
        data, at, found = os.pread(self.fd, os.fstat(self.fd).st_size, 0), 0, []
        while at + 4 <= len(data):
            size, = struct.unpack_from("<I", data, at)
            if at + 4 + size > len(data):
                break
            found.append(Record(*pickle.loads(data[at + 4:at + 4 + size])))
            at += 4 + size
        return found


class Service(NamedTuple):
    """A running service."""
    pid: int
    calls: Calls


@contextlib.contextmanager
def served(make: Callable[[], Server], *names: str, uid: int | None = None) -> Iterator[Service]:
    """Runs a server in a process of its own, which registers these names, until the end.

    make: makes the server, in that process
    uid: the user that the process becomes
    """
    calls = Calls()

    def run(ready: Callable[[], Any]) -> None:
        server = make()
        server.record = calls.add
        for name in names:
            assert server.add(name) == 0, name
        ready()
        server.serve_until_killed()

    with ready_child(run, uid=uid) as pid:
        try:
            yield Service(pid, calls)
        finally:
            os.close(calls.fd)


def service(path: str | os.PathLike, names: Sequence[str] | str, interface: str,
            answers: Mapping[int, Answer], **options: Any) -> Any:
    """served() of a Server with these answers, at a device."""
    names = [names] if isinstance(names, str) else names
    return served(lambda: Server(path, interface, answers, **options), *names)
