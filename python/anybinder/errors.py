# SPDX-License-Identifier: Apache-2.0
"""What calls fail with, by the names that AIDL and libbinder have for it.

A fake is told to raise one, and a client raises it.
"""
from __future__ import annotations

import json


class BinderError(Exception):
    """Any of these."""

    def step(self) -> dict:
        """How a service answers with it, as `anybinder fake` is told."""
        raise TypeError(f"{self!r} is nothing that a service can answer")

    def spec(self) -> str:
        """The same as it is typed."""
        step = self.step()
        name = step.get("exception", "status")
        given = [step[key] for key in ("status", "code", "message") if step.get(key) is not None]
        return f"!{name}({', '.join(map(json.dumps, given))})" if given else f"!{name}"


class AidlException(BinderError):
    """An exception of AIDL: a service answers with it in place of a result."""

    def __init__(self, message: str | None = None):
        super().__init__(message)
        self.message = message

    def step(self) -> dict:
        return {"exception": type(self).__name__, "message": self.message}


class ServiceSpecific(AidlException):
    """An error of the service itself.

    code: its number, not 0
    """

    def __init__(self, code: int, message: str | None = None):
        super().__init__(message)
        self.code = code

    def __str__(self) -> str:
        return f"{self.code}, {self.message}"

    def step(self) -> dict:
        return {**super().step(), "code": self.code}


class Status(BinderError):
    """A call failed with a status of libbinder.

    number: negative
    """

    def __init__(self, number: int, message: str = ""):
        super().__init__(number, message)
        self.number = number
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} ({self.number})"

    def step(self) -> dict:
        return {"status": self.number}


class Unanswered(BinderError):
    """The kit itself was used wrongly, or cannot do what it was asked for: its text says why."""


def _exception(name: str, text: str) -> type[AidlException]:
    return type(name, (AidlException,), {"__doc__": text})


Security = _exception("Security", "The caller may not do this.")
BadParcelable = _exception("BadParcelable", "A parcelable cannot be read.")
IllegalArgument = _exception("IllegalArgument", "A value is not accepted.")
NullPointer = _exception("NullPointer", "Something is null that must not be.")
IllegalState = _exception("IllegalState", "It is not possible now.")
NetworkMainThread = _exception("NetworkMainThread", "The network is used where nothing may wait.")
UnsupportedOperation = _exception("UnsupportedOperation", "The service does not do this.")


def _status(name: str, number: int, text: str) -> type[Status]:
    def init(self: Status, message: str = text) -> None:
        Status.__init__(self, number, message)

    return type(name, (Status,), {"__doc__": f"{text[0].upper()}{text[1:]}.", "__init__": init})


DeadObject = _status("DeadObject", -32, "the process of the service is dead")
UnknownTransaction = _status("UnknownTransaction", -74, "the service does not know this method")
PermissionDenied = _status("PermissionDenied", -1, "permission denied")
NameNotFound = _status("NameNotFound", -2, "there is nothing with this name")
BadType = _status("BadType", -0x7FFFFFFF, "the service has another interface")
FailedTransaction = _status("FailedTransaction", -0x7FFFFFFE,
                            "the driver refused the transaction")

_EXCEPTIONS = {one.__name__: one for one in AidlException.__subclasses__()}
_STATUSES = {one().number: one for one in Status.__subclasses__()}


def of_line(line: dict) -> BinderError | None:
    """The error that a line of `anybinder --json fake -` tells; None if it tells none."""
    if name := line.get("exception"):
        if name == "ServiceSpecific":
            return ServiceSpecific(line["code"], line["message"])
        return _EXCEPTIONS.get(name, AidlException)(line["message"])
    if (number := line.get("status")) is not None:
        if number in _STATUSES:
            return _STATUSES[number](line["message"])
        return Status(number, line["message"])
    return Unanswered(line["error"]) if "error" in line else None
