# SPDX-License-Identifier: GPL-2.0
"""caller.py COUNT SIZE DEVICE FLAGS: makes so many calls to the context manager, of that size, with
code 1."""
import contextlib
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from anybinder.driver import Client    # noqa: E402, pylint: disable=wrong-import-position


def main(count, size, name, flags):
    device = Client(f"{os.environ['ANYBINDER_MOUNT']}/{name}")
    for _ in range(int(count)):
        with contextlib.suppress(RuntimeError):
            device.call(b"x" * int(size), flags=int(flags))
    # The daemon tells the name of the process; not every kernel records what a trace needs.
    if not os.path.exists(f"{os.environ['ANYBINDER_MOUNT']}/binder_logs/daemon"):
        time.sleep(0.5)


if __name__ == "__main__":
    main(*sys.argv[1:])
