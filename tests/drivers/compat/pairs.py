#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pairs.py DEVICE|daemon PEER PEER...: programs of 32 and of 64 bits call each other.

Each pair of a manager and a client, on a device or on that of a daemon of their own. Prints TAP;
where the machine builds or runs no 32-bit programs, all is skipped (exit status 77).
"""
import contextlib
import itertools
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../python"))
from anybinder.daemon import Daemon    # noqa: E402
from anybinder.process import PATIENCE_S, program    # noqa: E402


@contextlib.contextmanager
def device_of(where):
    """The path of the device."""
    if where != "daemon":
        yield where
        return
    with tempfile.TemporaryDirectory() as directory, Daemon(directory) as daemon:
        yield daemon.path()


def lines_of(manager, client, device):
    """What both say, and lines for what they should have said."""
    with subprocess.Popen([program(manager), "manager", device], stdout=subprocess.PIPE,
                          text=True) as serving:
        try:
            first = serving.stdout.readline()
            if first.strip() != "ready":
                yield first
                yield "not ok the manager does not come up"
                return
            done = subprocess.run([program(client), "client", device], stdout=subprocess.PIPE,
                                  text=True, timeout=PATIENCE_S, check=False)
            yield from done.stdout.splitlines()
            yield from serving.communicate(timeout=PATIENCE_S)[0].splitlines()
        except subprocess.TimeoutExpired:
            yield "not ok in time"
            return
        finally:
            serving.kill()
    if done.returncode or serving.returncode:
        yield (f"not ok exit status {done.returncode} of the client, {serving.returncode} of the "
               "manager")


def main(where, *peers):
    """Returns the exit status."""
    for peer in peers:
        try:
            subprocess.run([program(peer), "--version"], check=True, stdout=subprocess.DEVNULL)
        except OSError as error:
            print(f"this machine builds or runs no {peer}: {error}")
            return 77
    number = failed = 0
    with device_of(where) as device:
        for manager, client in itertools.product(peers, repeat=2):
            for line in lines_of(manager, client, device):
                word, ok, name = line.partition("ok ")
                if not ok:
                    print(line)
                    continue
                number += 1
                failed += bool(word)
                print(f"{word}ok {number} - {client} calls {manager}: {name}", flush=True)
    print(f"1..{number}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
