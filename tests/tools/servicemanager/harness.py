# SPDX-License-Identifier: GPL-2.0
"""What the tests of the service manager share: a daemon of their own, raw clients of AIDL and of
HIDL, each in a process of its own. The program is the first argument; TEST=NAME runs one test.

With KERNEL=1 the driver is the kernel's, and each service manager has an instance of binderfs. In a
virtual machine everything may take longer."""
import contextlib
import ctypes
import os
import pathlib
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/daemon"))
import binder_client as raw    # pylint: disable=wrong-import-position

ANYBINDER = os.path.abspath(sys.argv[1])
IS_KERNEL = os.environ.get("KERNEL") == "1"
# Said by vm/run.
IS_EMULATED = "VM_KERNEL" in os.environ
SECONDS_UNTIL, SECONDS_CLIENT = (300, 1200) if IS_EMULATED else (20, 250)

SERVICE, CALLBACK = 0x1000, 0x2000
USER, OTHER = 3900007, 3900008
BR_INCREFS, BR_ACQUIRE = 0x80107207, 0x80107208
DONE = {BR_INCREFS: 0x40106308, BR_ACQUIRE: 0x40106309}
TF_ONE_WAY, TF_STATUS_CODE = 1, 8
FREEZE = 0x400C620E


class Failed(Exception):
    """The transaction failed; its argument is the status, or what the driver returned."""


def command(number, keep, parcel, code=0, flags=0):
    """The bytes of a command that sends a parcel to handle 0. What they point to is added to
    @keep."""
    offsets = struct.pack(f"<{len(parcel.offsets)}Q", *parcel.offsets)
    kept = [ctypes.create_string_buffer(bytes(part), len(part) or 1)
            for part in (parcel.data, offsets)]
    keep += kept
    return struct.pack("<I", number) + raw.TRANSACTION.pack(
        0, 0, code, flags, 0, 0, len(parcel.data), len(offsets), *map(ctypes.addressof, kept))


class Client(raw.Client):
    """A raw client that serves objects, too. Its kinds say what becomes of a call that it gets."""
    retries = True

    def __init__(self, path):
        super().__init__(path)
        self.received = []
        self.write_read(struct.pack("<I", raw.BC_ENTER_LOOPER), 0)

    def incoming(self, argument, keep):
        """Takes a call; returns commands, and adds what they point to to @keep."""
        raise NotImplementedError

    def exchange(self, commands=b""):
        """Writes and reads; answers the driver's questions about objects."""
        answers = b""
        keep = []
        codes = self.write_read(commands, 4096)
        for code, argument in codes:
            if code in DONE:
                answers += struct.pack("<I", DONE[code]) + argument
            if code == raw.BR_TRANSACTION:
                answers += self.incoming(argument, keep)
        if answers:
            self.write_read(answers, 0)
        return codes

    def transact(self, commands):
        """Returns the reply to a call, and whether it is a status."""
        while True:
            for number, argument in self.exchange(commands):
                if number in raw.BR_FAILURES:
                    raise Failed(raw.BR_FAILURES[number])
                if number == raw.BR_REPLY:
                    return argument, bool(raw.TRANSACTION.unpack(argument)[3] & TF_STATUS_CODE)
            commands = b""

    def next_received(self, seconds=20):
        """The next one-way call to an object of this process, None if there is none in time."""
        end = time.monotonic() + seconds
        while not self.received and time.monotonic() < end:
            if select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                self.exchange()
        return self.received.pop(0) if self.received else None

    def serve_until_killed(self):
        while True:
            self.next_received(1000)


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


@contextlib.contextmanager
def process(function, *arguments, uid=None, context=None):
    """A client in a process of its own that has said it is ready; it is killed in the end."""
    pid, ready = child(function, *arguments, uid=uid, context=context)
    try:
        assert os.read(ready, 1) == b"x", "it did not start"
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)


def freeze(client, pid):
    """As Android's system server does to the processes of apps in the background."""
    what = ctypes.create_string_buffer(struct.pack("<III", pid, 1, 100))
    raw.ioctl(client.fd, FREEZE, what)


@contextlib.contextmanager
def rules_of(text):
    """The path of a file with rules, which every user may read."""
    with tempfile.TemporaryDirectory(prefix="anybinder-test-rules.", dir="/run") as directory:
        rules = pathlib.Path(directory, "rules.toml")
        rules.write_text(text, encoding="ascii")
        rules.chmod(0o644)
        yield rules


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
