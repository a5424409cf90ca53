#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Six fakes, each with a client in another process. Five have a fault: docs/OBSERVING.md finds
them.

`faulty.py call NAME` is what the process of a client does.
"""
import ctypes
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

EXAMPLES = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent / "python"))
from anybinder.driver import TF_ONE_WAY, Failed    # noqa: E402, pylint: disable=C0413
from anybinder.parcel import Parcel    # noqa: E402, pylint: disable=C0413
from anybinder.process import PR_SET_PDEATHSIG, program    # noqa: E402, pylint: disable=C0413
from anybinder.servicemanager import Client    # noqa: E402, pylint: disable=C0413

INTERFACE = "example.IFaulty"
WORK, NOTE, GIVE = 1, 2, 3
# What each fake answers. A fake keeps the objects that clients give to it.
SERVICES = {
    "pool": ("--threads", "2", "work=!after(5s) 1"),    # too few for its clients
    "backlog": ("note=!after(2s)",),    # slower than the notes come
    "leak": (),
    "hang": ("work=!after(1000000s) 1",),
    "dies": ("work=1 !times(20) !then !dead",),
    "fine": ("work=1",),
}


def call_for_ever(fault):
    """Calls the service of that name, when it is registered."""
    client = Client("/dev/binder")
    while (service := client.find(f"faulty.{fault}")) is None:
        time.sleep(0.1)
    for number in itertools.count():
        parcel, pause_s = Parcel(descriptor=INTERFACE), 0.05
        if fault == "backlog":
            client.transact(service, NOTE, parcel.i32(number), TF_ONE_WAY)
            pause_s = 0.002 if number < 150 else 0.05 if number < 200 else 1
        elif fault == "leak":
            client.release(client.transact(service, GIVE, parcel.binder(0x1000 + 16 * number)))
            pause_s = 0.002 if number < 200 else 0.05
        else:
            client.release(client.transact(service, WORK, parcel.i32(number)))
        time.sleep(pause_s)


def call(fault):
    """Ends with the service, and is started again."""
    pathlib.Path("/proc/self/comm").write_text(f"{fault}-client", encoding="ascii")
    for _ in range(5 if fault == "pool" else 0):
        threading.Thread(target=call_for_ever, args=(fault,), daemon=True).start()
    try:
        call_for_ever(fault)
    except Failed:
        pass


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main():
    """Starts all, and those again that end."""
    with tempfile.TemporaryDirectory() as names:
        commands = []
        for fault, answers in SERVICES.items():
            # `ps` shows the name of the file that was started: at most 15 characters.
            link = f"{names}/faulty-{fault}"
            os.symlink(program("anybinder"), link)
            commands += [[link, "fake", "--aidl", str(EXAMPLES / "aidl"), "--interface", INTERFACE,
                          f"faulty.{fault}", *answers],
                         [sys.executable, __file__, "call", fault]]

        def start(words):
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    preexec_fn=end_with_parent)

        running = [start(words) for words in commands]
        print(f"{len(SERVICES)} services and a client of each", flush=True)
        while True:
            time.sleep(0.2)
            running = [start(one.args) if one.poll() is not None else one for one in running]


if sys.argv[1:2] == ["call"]:
    call(sys.argv[2])
else:
    main()
