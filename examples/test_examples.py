# SPDX-License-Identifier: Apache-2.0
"""The examples: each service with the clients of all languages, and what they do when the driver or
the service manager ends.

The programs in Python run in a root that make-root.sh makes, of a Debian that has libgbinder; hence
they need root and the network.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest
from anybinder.bus import Bus
from anybinder.call import Command
from anybinder.process import PATIENCE_S, Program as Started, in_own_mounts, own_mounts, until
from building import TOP

NAME = "example.IBoard/default"
NOTES = "first line\nsecond line\nthird line\n"
# Enters a root, with the devices that `anybinder run` shows.
ENTER = 'mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
# A /dev with FUSE.
BARE = """mount -t tmpfs tmpfs /dev
mknod -m 666 /dev/fuse c 10 229
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/urandom c 1 9
"""
# And the link that the package makes.
SYSTEM = f"{BARE}ln -s binderfs/binder /dev/binder"


class Program(Started):
    """A running program whose lines of output are looked at one after the other."""

    def __init__(self, bus, command):
        super().__init__(command, env=bus.environment, stderr=None)
        self.seen = 0

    def expect(self, *wanted):
        for line in wanted:
            got = until(self.next_line, what=f"{self.args[-2:]} prints {line!r}")
            assert got == f"{line}\n", f"{self.args[-2:]} printed {got!r}, wanted {line!r}"
            self.seen += 1

    def next_line(self):
        # What libgbinder says is not the program's.
        lines = [line for line in self.log().splitlines(keepends=True)
                 if not line.startswith("[gbinder] ")][self.seen:]
        return lines and lines[0].endswith("\n") and lines[0]

    def expect_anew(self, *wanted):
        """The program has noticed that the driver is gone, and begins anew."""
        self.expect("the driver is gone: beginning anew", *wanted)


class Language:
    """How the service and the client of a language are started; where its file of notes is."""

    def __init__(self, bus, before, service, client, notes):
        self.bus = bus
        self.service = [*before, service]
        self.client = [*before, client]
        self.notes = notes

    @contextlib.contextmanager
    def started(self, command, line):
        """A program that has begun, which it says in its first line."""
        with Program(self.bus, command) as program:
            try:
                program.expect(line)
                yield program
            finally:
                program.kill()

    def served(self):
        return self.started(self.service, f"serving {NAME}")

    def watched(self, readers):
        return self.started([*self.client, "watch"], f"watching, {readers} readers")

    def call(self, *arguments):
        done = subprocess.run([*self.client, *arguments], text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE_S, check=False,
                              env=self.bus.environment)
        assert done.returncode == 0, f"{arguments} failed: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def answers(self, wanted, *arguments):
        got = self.call(*arguments)
        assert got == wanted, f"{arguments} printed {got!r}, wanted {wanted!r}"


class Setting:
    """A bus, the languages by name, and which kind of buffer is passed."""

    def __init__(self, bus, before, programs, kind, root=None):
        self.bus, self.kind = bus, kind
        self.made_of = (before, programs, kind, root)
        self.scratch = tempfile.TemporaryDirectory()
        self.languages = {
            name: Language(bus, before, programs(f"{directory}board-service"),
                           programs(f"{directory}board-client"), f"{self.scratch.name}/notes")
            for name, directory in (("rust", ""), ("cpp", "cpp/"))}
        if root:
            enter = [*before, "unshare", "--mount", "sh", "-c", ENTER, root]
            self.languages["python"] = Language(bus, enter, "/examples/python/board_service.py",
                                                "/examples/python/board_client.py", "/notes")
        for directory in filter(None, (self.scratch.name, root)):
            pathlib.Path(directory, "notes").write_text(NOTES, encoding="utf-8")

    def at(self, bus):
        """The same at another bus."""
        return Setting(bus, *self.made_of)

    def is_listed(self):
        return NAME in self.bus.outcome("list")[1]


@pytest.fixture(scope="module")
def heap():
    """The module of the heap, in a kernel that has none of its own."""
    subprocess.run(["insmod", f"{TOP}/build/module/6.1/anybinder_heap.ko"], check=True)


@pytest.fixture(scope="module", params=[
    "daemon", pytest.param("languages", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    pytest.param("module", marks=[pytest.mark.vm("6.1", driver="module", smp=1, timeout=500),
                                  pytest.mark.turn("clients of the module", "libraries")])])
def setting(request, program):
    if request.param == "module":
        request.getfixturevalue("heap")
        with Bus(managers="binder", driver="/dev/binderfs") as bus:
            yield Setting(bus, [], program, "DMA-BUF")
        return
    root = request.getfixturevalue("libgbinder_root") if request.param == "languages" else None
    with Bus(managers="binder,hwbinder", program=program("anybinder")) as bus:
        yield Setting(bus, [bus.program, "run", "--"], program, "memfd", root)


@pytest.fixture
def own_driver(setting):    # pylint: disable=redefined-outer-name
    """A setting whose driver may end."""
    if setting.bus.is_kernel:
        pytest.skip("the kernel does not end")
    return setting


# ---- calls --------------------------------------------------------------------------------------

def check_client(service, client, notes, kind):
    """A callback, an open file, a large buffer, and a client that dies; `notes` there already."""
    with client.watched(1) as watcher:
        service.expect("1 readers")
        client.answers(f"{notes + 1} notes", "post", "a note: ä, 日本")
        watcher.expect("note: a note: ä, 日本")
        client.answers(f"{notes + 4} notes", "file", client.notes)
        watcher.expect(*[f"note: {line}" for line in NOTES.splitlines()])
        got = client.call("sum", "8")
        assert got.startswith(f"8 MiB in a {kind}: sum 10"), got
        client.answers("1 readers", "readers")
    service.expect("a reader died, 0 left")
    client.answers("0 readers", "readers")


def test_each_language_calls_each(setting):
    for language in setting.languages.values():
        with language.served() as service:
            assert setting.is_listed()
            for number, client in enumerate(setting.languages.values()):
                check_client(service, client, 4 * number, setting.kind)


def test_a_fake_in_place_of_the_service(setting):
    """Declared by the same file."""
    with setting.bus.started("fake", NAME, "--aidl", f"{TOP}/examples/aidl", "post=7"):
        setting.bus.wait_for(NAME)
        for language in setting.languages.values():
            language.answers("7 notes", "post", "a note")


def test_every_client_is_told_that_a_service_died(setting):
    """Its name is free again."""
    for language in setting.languages.values():
        with language.served() as service, contextlib.ExitStack() as stack:
            watchers = [stack.enter_context(client.watched(number))
                        for number, client in enumerate(setting.languages.values(), 1)]
            service.kill()
            for watcher in watchers:
                watcher.expect("the service died")
                assert watcher.wait(PATIENCE_S) == 0
            until(lambda: not setting.is_listed())


REFUSING = """[global]
list = "any"

[[rule]]
name = "*"
add = "none"
find = "any"
"""


def test_a_service_that_is_refused_does_not_say_that_it_serves(own_driver, program):
    # Rules are taken from no directory that every user can write.
    under = f"{TOP}/build" if os.geteuid() else "/run"
    with tempfile.TemporaryDirectory(dir=under) as directory:
        rules = pathlib.Path(directory, "rules.toml")
        rules.write_text(REFUSING, encoding="utf-8")
        with Bus("--policy", str(rules), managers="binder", program=program("anybinder")) as bus:
            for language in own_driver.at(bus).languages.values():
                done = subprocess.run(language.service, stdin=subprocess.DEVNULL, text=True,
                                      capture_output=True, timeout=PATIENCE_S, check=False,
                                      env=bus.environment)
                assert done.returncode == 1 and "serving" not in done.stdout, done
                assert NAME in done.stderr, done


def test_wrong_calls_are_not_answered_with_nothing(setting):
    """An unknown code; a buffer that is null."""
    for language in setting.languages.values():
        with language.served():
            status, said = setting.bus.outcome("call", NAME, "77")
            assert status == 7 and "UnknownTransaction" in said, said
            status, said = setting.bus.outcome("call", NAME, "5", "i32", "0", "--reply", "status")
            assert status in (7, 11), said


def test_without_a_device_a_program_says_what_to_do(program):
    words = in_own_mounts("sh", "-ec", f'{BARE}exec "$0" readers', program("board-client"))
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1 and "anybinder run" in done.stderr, done


# ---- what ends ----------------------------------------------------------------------------------

def check_lost_driver(language, lose):
    """The driver ends, and is there again: both begin anew, and know each other again."""
    with language.served() as service, language.watched(1) as watcher:
        service.expect("1 readers")
        lose()
        service.expect_anew(f"serving {NAME}", "1 readers")
        watcher.expect_anew("watching, 1 readers")
        language.answers("1 notes", "post", "after")
        watcher.expect("note: after")


def test_a_server_that_crashes(own_driver):
    """Its supervisor starts another."""
    for language in own_driver.languages.values():
        check_lost_driver(language, lambda: os.kill(own_driver.bus.server_pid(), signal.SIGKILL))


def test_a_service_manager_that_dies(own_driver):
    """The service is registered with the next one."""
    bus = own_driver.bus
    for language in own_driver.languages.values():
        with language.served():
            until(own_driver.is_listed)
            manager = bus.manager_pid()
            os.kill(manager, signal.SIGKILL)
            until(lambda ended=manager: not os.path.exists(f"/proc/{ended}"))
            until(own_driver.is_listed)
            language.answers("1 notes", "post", "after")


def test_a_daemon_that_is_started_again(program, root):    # pylint: disable=unused-argument
    """Without `run`, whose program does not see the next mount."""
    with own_mounts(SYSTEM) as before, tempfile.TemporaryDirectory() as state:
        bus = Command("/dev/binderfs", state, before, program("anybinder"))

        def restart():
            for part in bus.json("status")["daemon"]["processes"]:
                os.kill(part["pid"], signal.SIGKILL)
            until(lambda: bus.outcome("status")[0] in (3, 4))
            bus.run("up")

        bus.run("up")
        try:
            rust = Setting(bus, before, program, "memfd").languages["rust"]
            check_lost_driver(rust, restart)
        finally:
            bus.run("down")
