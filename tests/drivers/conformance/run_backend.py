#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""run_backend.py BACKEND [option of anybinder-conformance ...]

Runs the conformance suite on one back end of the table below. What each of them lacks is in
missing_capabilities.txt. `module-KERNEL` and `ref-KERNEL` stand for another kernel of
vm/kernels.tsv than 6.12; for one of arm64 the program is taken from build/arm64.
"""
import contextlib
import glob
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, TOP + "/python")
from anybinder import daemon    # noqa: E402
from anybinder.process import bound_files, is_running    # noqa: E402

BIN = os.environ.get("ANYBINDER_BIN", TOP + "/build/bin")
# An emulated machine on busy processors is slow, one of another architecture slower still.
VM_TIMEOUT_S = os.environ.get("VM_TIMEOUT_S", "3600")
VM_TEST_TIMEOUT_S = os.environ.get("VM_TEST_TIMEOUT_S", "120")
# What a call can do; nothing else depends on the locking mode.
CALLS = tuple(f"--filter={part}_*" for part in "txn object loop oneway freeze death rt".split())


class Daemon(NamedTuple):
    """anybinderd on a temporary mount point, on this machine."""
    caps: str = "fuse"
    options: tuple = ()         # of anybinderd
    is_bound: bool = False      # through a bind mount of each device file
    suite: tuple = ()           # options of anybinder-conformance


class Machine(NamedTuple):
    """A driver of a kernel in a virtual machine."""
    kernel: str
    driver: str
    caps: str
    parameters: tuple = ()      # of the module
    suite: tuple = ()


BACKENDS = {
    "fuse": Daemon(),
    # as on kernels before 6.9 or without root
    "fuse-plain": Daemon("fuse-plain", ("--no-passthrough",)),
    # where SELinux has a policy that the daemon asks
    "fuse-selinux": Daemon(options=("--selinux",)),
    "fuse-bound": Daemon("fuse-bound", is_bound=True),
    "fuse-bound-plain": Daemon("fuse-bound", ("--no-passthrough",), is_bound=True),
    # the daemon hands over between steps of the tests; all the time, while calls are under way;
    # before each step of each test
    "fuse-replaced": Daemon(suite=("--replace-steps=30",)),
    "fuse-replaced-calls": Daemon(suite=("--replace-ms=10",)),
    "fuse-replaced-long": Daemon(suite=("--replace-steps=1", "--timeout=300")),
    # the measuring build in another locking mode
    "module-global": Machine("6.12", "module-locking", "module", ("locking=global",), CALLS),
    "module-nopreempt": Machine("6.12", "module-locking", "module",
                                ("locking=global-nopreempt",), CALLS),
    "stock": Machine("6.1", "stock", "stock"),
    "ref": Machine("6.12", "ref", "ref"),
    "rust": Machine("newest", "rust", "rust"),
    "module": Machine("6.12", "module", "module"),
    "module-restricted": Machine("6.12", "module", "module-restricted", ("restrict_freeze=1",),
                                 ("--filter=freeze_*",)),
}


def backend(name):
    """The back end of this name; KeyError if there is none."""
    if name not in BACKENDS and re.match("(module|ref)-.", name):
        driver, kernel = name.split("-", 1)
        caps = {"ref": "ref-newest"}.get(driver, "module")
        return Machine(kernel, driver, name if missing(name) else caps)
    return BACKENDS[name]


def missing(name):
    """What a back end lacks: {capability: reason}."""
    with open(f"{HERE}/missing_capabilities.txt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(" ", 2) for line in file if not line.startswith("#")]
    return {cap: reason for cap, backends, reason in rows if name in backends.split(",")}


def caps(name):
    """The options that name what a back end lacks."""
    return [f"--cap={cap}={reason}" for cap, reason in missing(name).items()]


@contextlib.contextmanager
def mounted(where):
    """Starts the daemon; gives the directory of its devices and its process number."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory, \
            daemon.Daemon(directory, *where.options, program=f"{BIN}/anybinderd") as server:
        if not where.is_bound:
            yield server.mnt, server.pid
            return
        bound = directory + "/bound"
        os.mkdir(bound)
        with bound_files(server.mnt, bound):
            yield bound, server.pid


def run_on_daemon(where, options):
    """Returns the exit status, also bad if the daemon did not survive."""
    words = caps(where.caps) + list(where.suite)
    if tuple(map(int, platform.release().split(".")[:2])) < (6, 9):
        words += ["--cap", "fd_of_thread=before Linux 6.9 there are pidfds of processes only"]
    with mounted(where) as (directory, pid):
        status = subprocess.call([BIN + "/anybinder-conformance", "--device-dir", directory,
                                  *words, *options])
        if not is_running(pid):
            sys.exit("run_backend.py: the daemon did not survive")
    return status


def knows_deferral(kernel):
    """Does the kernel's own header have TF_DEFER_COMPLETE?"""
    pattern = f"{TOP}/build/vm/{kernel}/headers/usr/src/*/include/uapi/linux/android/binder.h"
    return any("TF_DEFER_COMPLETE" in Path(name).read_text(encoding="utf-8")
               for name in glob.glob(pattern))


def run_in_machine(where, options):
    """Returns the exit status."""
    words = caps(where.caps) + list(where.suite)
    if where.driver == "rust" and not knows_deferral(where.kernel):
        words += ["--cap", "defer_complete=the driver is older"]
    arm64 = where.kernel.endswith("-arm64")
    program = f"{TOP}/build/arm64/bin" if arm64 else BIN
    limit = "360" if arm64 else VM_TEST_TIMEOUT_S
    parameters = [f"--parameter={each}" for each in where.parameters]
    return subprocess.call([TOP + "/vm/run", "--kernel", where.kernel, "--driver", where.driver,
                            *parameters, "--timeout", VM_TIMEOUT_S, "--",
                            program + "/anybinder-conformance", "--timeout", limit,
                            *words, *options])


def main(name, *options):
    """Returns the exit status."""
    if name == "engine":    # in the program of the tests, on the test host, with the sanitizers
        program = os.environ.get("CONFORMANCE_ENGINE", BIN + "/conformance-engine")
        return subprocess.call([program, "--device-dir", "/engine", *caps("engine"), *options])
    try:
        where = backend(name)
    except KeyError:
        sys.exit(f"run_backend.py: no back end {name}; there are engine, {', '.join(BACKENDS)}, "
                 "module-KERNEL and ref-KERNEL")
    run = run_on_daemon if isinstance(where, Daemon) else run_in_machine
    return run(where, options)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main(*sys.argv[1:]))
