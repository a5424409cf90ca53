#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Six fakes with a client of each. Five have a fault: docs/OBSERVING.md finds them."""
import itertools
import os
import pathlib
import sys
import tempfile
import threading
import time

EXAMPLES = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent / "python"))
from anybinder.call import Command    # noqa: E402, pylint: disable=wrong-import-position
from anybinder.errors import DeadObject    # noqa: E402, pylint: disable=wrong-import-position
from anybinder.kit import Binder, Typed    # noqa: E402, pylint: disable=wrong-import-position
from anybinder.process import program    # noqa: E402, pylint: disable=wrong-import-position

INTERFACE = "example.IFaulty"
# What each fake answers.
ANSWERS = {
    "pool": {"threads": 2, "work": Typed("!after(5s) 1")},    # too few for its clients
    "backlog": {"note": Typed("!after(2s)")},    # slower than the notes come
    "leak": {"give": Typed("!keep")},
    "hang": {"work": Typed("!after(1000000s) 1")},
    "dies": {"work": Typed("1 !times(20) !then !dead")},
    "fine": {"work": 1},
}


def call(fault, binder, service, number):
    """A call of the service; returns the seconds up to the next one."""
    if fault == "backlog":
        service.note(number)
        return 0.002 if number < 150 else 0.05 if number < 200 else 1
    if fault == "leak":
        service.give(binder.callback(INTERFACE))
        return 0.002 if number < 200 else 0.05
    service.work(number)
    return 0.05


def start(fault, named):
    """The service in a process of a name, and again whenever it dies; its client in another one."""
    fake = named(f"faulty-{fault}").fake(f"faulty.{fault}", interface=INTERFACE, **ANSWERS[fault])
    binder = named(f"{fault}-client")
    service = binder.client(fake.name, interface=INTERFACE)

    def call_for_ever():
        for number in itertools.count():
            try:
                time.sleep(call(fault, binder, service, number))
            except DeadObject:
                fake.restart()

    for _ in range(6 if fault == "pool" else 1):
        threading.Thread(target=call_for_ever).start()


def main():
    """Starts all."""
    anybinder = os.path.abspath(program("anybinder"))
    with tempfile.TemporaryDirectory() as names:
        def named(name):
            # `ps` shows the name of the file that was started: at most 15 characters.
            os.symlink(anybinder, f"{names}/{name}")
            bus = Command(os.environ["ANYBINDER_MOUNT"], names, program=f"{names}/{name}")
            return Binder(EXAMPLES / "aidl", bus)

        for fault in ANSWERS:
            start(fault, named)
        print(f"{len(ANSWERS)} services and a client of each", flush=True)
        threading.Event().wait()


main()
