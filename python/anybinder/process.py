# SPDX-License-Identifier: Apache-2.0
"""Processes of a test: programs of the project, children, users, mount namespaces, waiting."""
from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long
# A virtual machine may emulate its processor (vm/run says which kernel it runs).
IS_EMULATED = "VM_KERNEL" in os.environ
# No test waits longer for what has to happen.
PATIENCE_S = 300 if IS_EMULATED else 60
# No child lives longer.
CHILD_LIMIT_S = 1200 if IS_EMULATED else 300
CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG = 1


def program(name: str) -> str:
    """The path of a program of the project: in $ANYBINDER_BIN, else in build/bin of the tree or
    bin of the archive that this file is in, else where pip put it with this package,
    else its bare name, for $PATH."""
    top = pathlib.Path(__file__).resolve().parents[2]
    for directory in (os.environ.get("ANYBINDER_BIN"), top / "build/bin",
                      top / "bin" / os.uname().machine, sysconfig.get_path("scripts")):
        if directory and os.path.exists(os.path.join(directory, name)):
            return os.path.abspath(os.path.join(directory, name))
    return name


def until(condition: Callable[[], Any], seconds: float = PATIENCE_S, what: str = "") -> Any:
    """Waits until @condition returns something true, and returns that.

    seconds: after so long it is an AssertionError, which says @what
    """
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what or condition}"
        time.sleep(0.01)
    return result


# ---- what /proc says ---------------------------------------------------------------------------

def stat_of(pid: int) -> tuple[str, str]:
    """Name and state of a process; raises OSError if there is none."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
    return name, rest.split()[0]


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and is not waited for is none."""
    try:
        return stat_of(pid)[1] not in "ZX"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """The children of all threads of a process."""
    pids: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(
                    f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                pids += map(int, file.read().split())
    return pids


def threads_of(pid: int) -> int:
    """How many threads a process has."""
    return len(os.listdir(f"/proc/{pid}/task"))


def memory_kib(pid: int) -> int:
    """The resident memory of a process, in KiB."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * (os.sysconf("SC_PAGE_SIZE") // 1024)


def is_mounted(path: str | os.PathLike) -> bool:
    """Whether something is mounted at exactly this path."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return any(line.split()[4] == os.fspath(path) for line in file)


# ---- children ----------------------------------------------------------------------------------

def enter_context(context: str) -> None:
    """Changes the security context of this process, as SELinux allows."""
    pathlib.Path("/proc/self/attr/current").write_text(context, encoding="ascii")


def become(uid: int) -> None:
    """Makes this process, which is root's, one of a user and the group of the same number."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def _prepare(uid: int | None, context: str | None) -> None:
    if context is not None:
        enter_context(context)
    if uid:
        become(uid)
    # Those that the child starts itself end with it: they are of its group.
    os.setpgid(0, 0)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.alarm(CHILD_LIMIT_S)


def fork(function: Callable[..., Any], *args: Any, uid: int | None = None,
         context: str | None = None) -> int:
    """Runs a function in a child process; returns its pid.

    The child ends when the function returns, with status 0, or raises, with status 1 and a
    traceback; it also ends with this process, and after CHILD_LIMIT_S.

    uid: the user that it becomes, and group
    context: the security context that it enters
    """
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        _prepare(uid, context)
        function(*args)
        status = 0
    except BaseException:    # pylint: disable=broad-except
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


@contextlib.contextmanager
def child(function: Callable[..., Any], *args: Any, uid: int | None = None,
          context: str | None = None) -> Iterator[int]:
    """A child process, see fork(), which is killed at the end with its process group. Gives its
    pid."""
    pid = fork(function, *args, uid=uid, context=context)
    try:
        yield pid
    finally:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def run_child(function: Callable[..., Any], *args: Any, uid: int | None = None,
              context: str | None = None) -> None:
    """Runs a function in a child process, see fork(), to its end; it has to succeed."""
    with child(function, *args, uid=uid, context=context) as pid:
        assert os.waitpid(pid, 0)[1] == 0, f"the child failed: {function}"


@contextlib.contextmanager
def ready_child(function: Callable[..., Any], *args: Any, uid: int | None = None,
                context: str | None = None) -> Iterator[int]:
    """A child process as of child() that has said that it is ready.

    function: is given a function first, which it calls when it is ready
    """
    ready, notify = os.pipe()

    def run() -> None:
        os.close(ready)
        function(lambda: os.write(notify, b"x"), *args)

    try:
        with child(run, uid=uid, context=context) as pid:
            os.close(notify)
            assert os.read(ready, 1) == b"x", f"it did not start: {function}"
            yield pid
    finally:
        os.close(ready)


class Program(subprocess.Popen):
    """A program in the background, whose outputs are kept.

    more: for subprocess.Popen()
    """

    def __init__(self, words: Sequence[str], **more: Any):
        self.output = tempfile.TemporaryFile()    # pylint: disable=consider-using-with
        super().__init__(words, stdin=subprocess.DEVNULL,
                         **{"stdout": self.output, "stderr": self.output, **more})

    def log(self) -> str:
        """All that it has printed."""
        file = self.output.fileno()
        data = os.pread(file, os.fstat(file).st_size, 0)
        return data.decode("utf-8", "replace")

    def wait_for(self, text: str, times: int = 1) -> Program:
        """Waits until it has printed a text so often; it must not have ended."""
        until(lambda: self.log().count(text) >= times or self.poll() is not None, what=text)
        assert self.poll() is None, self.log()
        return self

    def end(self) -> None:
        self.terminate()
        self.wait(PATIENCE_S)


# ---- mounts ------------------------------------------------------------------------------------

def enter_own_mounts() -> None:
    """Moves this process, which has one thread, to a mount namespace of its own, from which no
    mount gets out; needs CAP_SYS_ADMIN.

    As `unshare --mount`, but also in a plain chroot. There / is no mount point, and the mount that
    it is part of cannot be named; so this is done at the root of the namespace, to which a process
    moves that enters its own mount namespace.
    """
    def must(function: Any, *args: Any) -> None:
        if function(*args):
            error = ctypes.get_errno()
            raise OSError(error, f"{function.__name__}: {os.strerror(error)}")

    must(LIBC.unshare, CLONE_NEWNS)
    root, here = os.open("/", os.O_PATH), os.open(".", os.O_PATH)    # in the new namespace
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    must(LIBC.setns, own, CLONE_NEWNS)
    must(LIBC.mount, None, b"/", None, MS_REC | MS_PRIVATE, None)
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(here)
    for descriptor in (root, here, own):
        os.close(descriptor)


@contextlib.contextmanager
def bound_files(source: str, target: str) -> Iterator[None]:
    """Bind mounts of all that is in the directory @source, each file and directory on its own, in
    the empty directory @target, which root can make."""
    try:
        for name in os.listdir(source):
            path = pathlib.Path(target, name)
            if os.path.isdir(f"{source}/{name}"):
                path.mkdir()
            else:
                path.touch()
            subprocess.run(["mount", "--bind", f"{source}/{name}", path], check=True)
        yield
    finally:
        for name in os.listdir(target):
            subprocess.run(["umount", "-l", f"{target}/{name}"], check=False)


def in_own_mounts(*words: str) -> list[str]:
    """The words of a command that runs @words after enter_own_mounts()."""
    return [sys.executable, os.path.abspath(__file__), *words]


@contextlib.contextmanager
def own_mounts(prepare: str) -> Iterator[list[str]]:
    """A mount namespace for several commands; gives the words before each of them.

    prepare: a shell script that runs in it first
    """
    words = in_own_mounts("sh", "-ec", f"{prepare}\necho ready; exec sleep infinity")
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as holder:
        try:
            assert holder.stdout and holder.stdout.readline() == "ready\n", "no mount namespace"
            yield ["nsenter", f"--target={holder.pid}", "--mount", "--root", "--wd"]
        finally:
            holder.kill()


def as_user(uid: int, *words: str) -> list[str]:
    """The words of a command that runs @words as another user, without groups."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]


def main(words: Sequence[str]) -> None:
    """process.py CMD...: runs CMD in a mount namespace of its own."""
    enter_own_mounts()
    os.execvp(words[0], list(words))


if __name__ == "__main__":
    main(sys.argv[1:])
