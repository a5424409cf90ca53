# SPDX-License-Identifier: GPL-2.0
"""What the tests of the service manager share: a daemon of their own, clients in processes of their
own. The program is the first argument; TEST=NAME runs one test.

With KERNEL=1 the driver is the kernel's, and each service manager has an instance of binderfs. In a
virtual machine everything may take longer."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOP = pathlib.Path(__file__).resolve().parents[3]
ANYBINDER = os.path.abspath(sys.argv[1])
IS_KERNEL = os.environ.get("KERNEL") == "1"
# Said by vm/run.
IS_EMULATED = "VM_KERNEL" in os.environ
SECONDS_UNTIL, SECONDS_CLIENT = (300, 1200) if IS_EMULATED else (20, 250)


class Manager:
    """A daemon, or an instance of binderfs, and its service manager."""

    def __init__(self, *options, managers="binder,vndbinder"):
        self.options = options
        self.managers = managers
        self.process = None

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="servicemanager-")
        os.chmod(self.directory, 0o755)
        self.command = [ANYBINDER, "--mount", f"{self.directory}/mount", "--state-dir",
                        f"{self.directory}/state"]
        if IS_KERNEL:
            self.start_on_kernel()
            return self
        text = subprocess.run([*self.command, "up", "--mode", "0666", "--managers",
                               self.managers, *self.options], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        words = text.splitlines()[1].split()
        self.pid = int(words[words.index("manager") + 1])
        return self

    def start_on_kernel(self):
        mount, state = (pathlib.Path(self.directory, name) for name in ("mount", "state"))
        mount.mkdir()
        state.mkdir()
        subprocess.run(["mount", "-t", "binder", "-o", "stats=global", "binder", mount], check=True)
        for name in ("binder", "hwbinder", "vndbinder"):
            os.chmod(mount / name, 0o666)
        with open(state / "manager.log", "wb") as log:
            self.process = subprocess.Popen([*self.command, "servicemanager", "--device",
                                             self.managers, *self.options], stderr=log)
        self.pid = self.process.pid
        device = self.managers.split(",", maxsplit=1)[0]

        def answers():
            assert self.process.poll() is None, self.log()
            return not subprocess.run([*self.command, "list", "--device", device], check=False,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                                      ).returncode

        until(answers)

    def path(self, device="binder"):
        return f"{self.directory}/mount/{device}"

    def log(self):
        logs = pathlib.Path(self.directory, "state").glob("*manager.log")
        return "".join(log.read_text() for log in logs)

    def memory_kib(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()
            subprocess.run(["umount", f"{self.directory}/mount"], check=True)
            subprocess.run(["rm", "-rf", self.directory], check=True)
            return
        subprocess.run([*self.command, "down"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", self.directory], check=True)


def enter(context):
    """Changes the security context of this process."""
    pathlib.Path("/proc/self/attr/current").write_text(context, encoding="ascii")


def child(function, *arguments, uid=None, context=None):
    """Runs it in a process of its own; returns its pid and a pipe that it writes to.

    context: the security context that SELinux is to give it
    """
    ready, notify = os.pipe()
    pid = os.fork()
    if pid:
        os.close(notify)
        return pid, ready
    status = 1
    try:
        os.close(ready)
        signal.alarm(SECONDS_CLIENT)
        if context is not None:
            enter(context)
        if uid is not None:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        function(notify, *arguments)
        status = 0
    except BaseException:    # pylint: disable=broad-except
        traceback.print_exc()
    os._exit(status)


def wait(pid, ready):
    os.close(ready)
    assert os.waitpid(pid, 0)[1] == 0, "the client failed"


def run(function, *arguments, uid=None, context=None):
    wait(*child(function, *arguments, uid=uid, context=context))


def until(condition, seconds=SECONDS_UNTIL):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def run_tests(title, tests, manager):
    """Runs the functions test_* of a module, each in a process of its own, on one manager."""
    tests = [(name, test) for name, test in tests.items() if name.startswith("test_")]
    wanted = os.environ.get("TEST")
    passed = failed = 0
    with manager:
        for name, test in tests:
            if wanted and wanted != name:
                continue
            begin = time.monotonic()
            try:
                # The service manager remembers what level a process has.
                run(lambda _, test=test: test(manager))
                passed += 1
                word = "ok    "
            except AssertionError:
                failed += 1
                word = "FAILED"
            print(f"{word} {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        os.kill(manager.pid, 0)
    print(f"{title}: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
