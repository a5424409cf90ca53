# SPDX-License-Identifier: GPL-2.0
"""Programs of other versions: what they know in common is used, and the rest is refused."""
import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import time

from anybinder.driver import BINDER, OBJECT, TF_ONE_WAY, Client
from anybinder.process import program, ready_child, run_child, until
from replaced import DEADLINE_S, Replaced, send
from served import Foreground, anybinderd, assert_calls_work, server

BUILDS = ("anybinderd-asan",)
PROGRAMS = ("anybinder", "anybinderd-next", "anybinderd-other-state", "anybinderd-other-records",
            "anybinderd-other-helper", "anybinderd-other-server")


def version(name):
    """The program of that version; the empty name: the present one."""
    if not name:
        return anybinderd()
    return program(f"anybinderd-{name}")


class Installed(Foreground, Replaced):
    """A daemon in the foreground whose program can be replaced by one of another version."""
    recovery = ()

    def __init__(self, directory, version):
        super().__init__(directory, program=os.path.join(directory, "anybinderd"))
        self.directory = directory
        self.install(version)

    def install(self, name):
        shutil.copy(version(name), self.program + ".new")
        os.rename(self.program + ".new", self.program)

    def words(self, *arguments):
        state = os.path.join(self.directory, "state")
        return [program("anybinder"), "--mount", self.mnt, "--state-dir", state, *arguments]

    def command(self, *arguments):
        return subprocess.run(self.words(*arguments), capture_output=True, text=True, timeout=60,
                              check=False)


def test_versions_that_know_each_other_hand_over_both_ways(directory):
    with Installed(directory, "") as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        own = daemon.status()["version"]
        for number, version in enumerate(["next", "", "next", "next", ""], 2):
            assert client.call(b"before") == b"before"
            daemon.install(version)
            after = daemon.hand_over()
            assert after["version"] == (version or own), after
            assert after["generation"] == str(number), after
            assert client.call(b"after") == b"after"
            assert_calls_of_new_clients(daemon)


def assert_calls_of_new_clients(daemon):
    run_child(lambda: check(Client(daemon.path("binder")).call(b"new") == b"new"))


def check(condition):
    assert condition


STATE = "reads the state in versions"
# version: what the daemon says of a hand-over, from it or to it, and the sentence in the log
UNKNOWN = {
    "other-state": ("refused", STATE, STATE),
    "other-records": ("refused", STATE, STATE),
    "other-helper": ("refused", "the helper process does not know versions",
                     "the helper process does not know versions"),
    "other-server": ("failed", "the log says why", "the daemon must be restarted"),
}


def test_versions_that_do_not_know_each_other_refuse(directory):
    for version, expected in UNKNOWN.items():
        for place, pair in enumerate([("", version), (version, "")]):
            place = os.path.join(directory, f"{version}{place}")
            os.mkdir(place)
            assert_refused(place, pair, *expected)


def assert_refused(directory, pair, end, reason, log):
    with Installed(directory, pair[0]) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        assert client.call(b"before") == b"before"
        before = daemon.status()
        daemon.install(pair[1])
        done = daemon.command("upgrade")
        after = daemon.status()
        assert after["last"] == end and reason in after["reason"], (pair, after)
        assert done.returncode == 4 and reason in done.stderr, (pair, done)
        assert log in daemon.log(), (pair, daemon.log())
        done = daemon.command("status")
        assert done.returncode == 0 and reason in done.stdout, (pair, done)
        assert (after["server"], after["generation"]) == (before["server"], before["generation"])
        assert client.call(b"after") == b"after"
        assert_calls_of_new_clients(daemon)
        done = daemon.command("doctor")
        assert re.search(f"server +limited .*{after['last']}: {re.escape(after['reason'])}",
                         done.stdout), (pair, done)
        daemon.install(pair[0])
        daemon.hand_over()
        assert client.call(b"later") == b"later"


def test_a_crash_is_survived_where_the_installed_program_cannot_serve(directory):
    """Then the one that was started serves: the supervisor still has it."""
    with Installed(directory, "") as daemon:
        daemon.install("other-server")
        for number in range(2):
            before = daemon.status()
            os.kill(int(before["server"]), signal.SIGKILL)
            until(lambda: daemon.is_followed(before), DEADLINE_S)
            assert_calls_work(daemon.path("binder"))
            # the server that was killed, and one that ended as it started
            assert daemon.status()["crashes"] == str(2 * (number + 1)), daemon.status()
        assert "the daemon must be restarted" in daemon.log()
        daemon.install("")
        daemon.hand_over()


def test_commands_tell_which_programs_there_are(directory):
    with Installed(directory, "") as daemon:
        def doctor(expected):
            done = daemon.command("doctor")
            assert re.search(expected, done.stdout, re.M), (expected, done)
            return done.stdout

        def upgrade():
            done = daemon.command("upgrade")
            assert done.returncode == 0 and "has taken over" in done.stdout, done
            return done.stdout

        text = doctor("^server +ok .*number 1 since the daemon was started, 0 crashes$")
        assert "\nsupervisor " not in text, text
        daemon.install("next")
        doctor(f"^server +limited .*{daemon.program} was replaced since.* -> run `anybinder upg")
        assert f"its supervisor, process {daemon.pid}, stays" in upgrade()
        doctor("^server +ok .*version next, number 2 since")
        doctor(f"^supervisor +limited +process {daemon.pid} is another program.* -> .*restarted")
        os.unlink(daemon.program)
        doctor(f"^server +limited .*{daemon.program} was removed since.* -> install it again")
        done = daemon.command("upgrade")
        assert done.returncode == 1 and "is not installed any more" in done.stderr, done
        assert daemon.status()["generation"] == "2"
        daemon.install("next")
        upgrade()


KEPT = 15000    # objects, which take longer than 1 ms


def keep_unread(ready, path):
    manager = Client(path)
    manager.become_manager()
    ready()
    time.sleep(10 * DEADLINE_S)


def ask_at_a_terminal(words, answer):
    """What the command @words prints there, whose question gets the @answer."""
    terminal, end = pty.openpty()
    with subprocess.Popen(words, stdin=end, stdout=end, stderr=end) as process:
        os.close(end)
        said = b""
        with contextlib.suppress(OSError):    # at the end
            while True:
                said += os.read(terminal, 1000)
                if said.endswith(b"[y/N] "):
                    os.write(terminal, answer)
    os.close(terminal)
    return said.decode()


def test_a_longer_pause_than_allowed_is_asked_about(directory):
    with Installed(directory, "") as daemon, server(daemon.path("binder")), \
            ready_child(keep_unread, daemon.path("hwbinder")):
        client, keeper = Client(daemon.path("binder")), Client(daemon.path("hwbinder"))
        send(keeper, b"".join(OBJECT.pack(BINDER, 0, 16 * i, 0) for i in range(1, KEPT + 1)),
             TF_ONE_WAY, range(0, KEPT * OBJECT.size, OBJECT.size))
        before = daemon.status()
        for words in ("upgrade",), ("upgrade", "--dry-run"):
            done = daemon.command(*words, "--max-pause=1")
            assert done.returncode == 4 and "longer than 1 ms" in done.stderr, done
            assert "--yes" in done.stderr, done
            assert daemon.status()["last"] == "too-long"
            assert client.call(b"x") == b"x"
        asked = daemon.words("upgrade", "--max-pause=1")
        assert "was not replaced" in ask_at_a_terminal(asked, b"\n")
        assert daemon.status()["server"] == before["server"]
        assert "has taken over" in ask_at_a_terminal(asked, b"y\n")
        assert client.call(b"y") == b"y"
        assert daemon.command("upgrade", "--yes").returncode == 0
        assert client.call(b"z") == b"z"
