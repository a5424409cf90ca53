# SPDX-License-Identifier: GPL-2.0
"""A private daemon whose memory is measured."""
import ctypes
import os
import signal
import subprocess
import time

START_LIMIT_S = 10
PR_SET_PDEATHSIG = 1


class Failure(Exception):
    """A measurement that did not run."""


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def family(pid):
    """The process and its descendants: children of its threads, and theirs."""
    yield pid
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            for child in file.read().split():
                yield from family(child)


class Daemon:
    """A running daemon; clients connect to `address`."""

    def __init__(self, name, command, address, log=subprocess.PIPE):
        self.name = name
        self.address = address
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL,
                                            stderr=log, preexec_fn=die_with_parent)
        except OSError as error:
            raise Failure(f"{name}: {error}") from error
        self._wait_up()

    def _wait_up(self):
        limit = time.monotonic() + START_LIMIT_S
        while not os.path.exists(self.address):
            if self.process.poll() is not None:
                log = self.process.stderr
                text = log.read().decode(errors="replace").strip() if log else ""
                raise Failure(f"{self.name}: {text or 'it ended at once'}")
            if time.monotonic() > limit:
                self.stop()
                raise Failure(f"{self.name}: it did not start within {START_LIMIT_S} s")
            time.sleep(0.02)

    def memory(self):
        """KiB of memory by kind, number of threads and of open files, of all its processes.

        A page that n processes map counts as 1/n of a page in each.
        """
        found = dict.fromkeys(("Pss", "Pss_Anon", "Pss_File", "Pss_Shmem", "threads", "files"), 0)
        for pid in family(self.process.pid):
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                for line in file:
                    key, _, value = line.partition(":")
                    if key in found:
                        found[key] += int(value.split()[0])
            found["threads"] += len(os.listdir(f"/proc/{pid}/task"))
            found["files"] += len(os.listdir(f"/proc/{pid}/fd"))
        return found

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(START_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_anybinder(programs, directory, *options, **kwargs):
    mount = os.path.join(directory, "binderfs")
    os.makedirs(mount)
    device = os.path.join(mount, "binder")
    return Daemon("anybinderd", [f"{programs}/anybinderd", mount, "--foreground", *options],
                  device, **kwargs)
