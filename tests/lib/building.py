# SPDX-License-Identifier: GPL-2.0
"""Programs and modules that tests run: built when they are asked for."""
import contextlib
import fcntl
import functools
import os
import shlex
import signal
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")
BIN = os.path.join(BUILD, "bin")
# The targets of make that are up to date, of the process that starts pytest; inside a virtual
# machine that is all.
IS_BUILT = "ANYBINDER_BUILT"


@contextlib.contextmanager
def lock(name, take=fcntl.flock):
    """Holds the lock @name among all pytest processes of this tree."""
    os.makedirs(os.path.join(BUILD, "locks"), exist_ok=True)
    with open(os.path.join(BUILD, "locks", name), "w", encoding="utf-8") as file:
        take(file, fcntl.LOCK_EX)
        yield


def environment():
    """That of this process without what belongs to a `make` above it."""
    return {name: value for name, value in os.environ.items()
            if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "VARIANT")}


@contextlib.contextmanager
def untimed():
    """The time limit of the running test stands still."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, left)


@functools.lru_cache(maxsize=None)
def make(*targets):
    """Brings @targets of the Makefile up to date; returns what the compiler says if it cannot."""
    if not targets:
        return ""
    with untimed(), lock("make"):
        done = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *targets], cwd=TOP, text=True,
                              env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
    return done.stdout if done.returncode else ""


def built(path, *targets):
    """The absolute @path of the tree, which `make @targets` makes."""
    full = os.path.join(TOP, path)
    done = os.environ.get(IS_BUILT, "").split()
    if not (done == ["all"] or set(targets) <= set(done)) or not os.path.exists(full):
        words = make(*targets)
        if words or not os.path.exists(full):
            pytest.fail(f"no {path}: make {' '.join(targets)} failed:\n{words}", pytrace=False)
    return full


@functools.lru_cache(maxsize=None)
def variable(name):
    """The words of a variable of the Makefile."""
    done = subprocess.run(["make", "-s", "--no-print-directory", f"print-{name}"], cwd=TOP,
                          env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    return shlex.split(done.stdout)


def kernels():
    """The names of vm/kernels.tsv."""
    with open(os.path.join(TOP, "vm/kernels.tsv"), encoding="utf-8") as file:
        return [line.split()[0] for line in file if not line.startswith("#")]


@pytest.fixture(scope="session")
def program():
    """program("anybinderd-asan"): the absolute path of build/bin/anybinderd-asan, up to date."""
    return lambda name: built(f"build/bin/{name}", f"build/bin/{name}")


@pytest.fixture(scope="session")
def module():
    """module("6.12"): the path of the kernel module for that kernel of vm/kernels.tsv;
    module("6.12", locking=True): of the measuring build."""
    def get(kernel, locking=False, name="anybinder"):
        return built(f"build/module/{kernel}{'-locking' * locking}/{name}.ko",
                     f"module-{'locking-' * locking}{kernel}")
    return get
