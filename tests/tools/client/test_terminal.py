# SPDX-License-Identifier: Apache-2.0
"""`anybinder top` on a terminal."""
import os
import select
import shutil
import signal
import subprocess
import termios

import pytest
from anybinder.process import PATIENCE_S, until

from peers import PEER, contains


class Terminal:
    """A terminal, by tmux."""
    count = 0

    def __init__(self, bus, command, columns=80):
        if not shutil.which("tmux"):
            pytest.skip("no tmux")
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as err:
            pytest.skip(f"no terminal can be made: {err}")
        # A server takes a while to end.
        Terminal.count += 1
        self.socket = os.path.join(bus.scratch, f"tmux{Terminal.count}")
        self.environment = bus.environment
        self.run("new-session", "-d", "-x", str(columns), "-y", "24", command)

    def run(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True, env=self.environment)
        return done.stdout

    def screen(self):
        return self.run("capture-pane", "-p")

    def shows(self, *parts):
        """Waits until all parts are on the screen."""
        try:
            until(lambda: all(part in self.screen() for part in parts))
        except AssertionError as err:
            raise AssertionError(f"no {parts} on the screen:\n{self.screen()}") from err

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("kill-server")


def test_top_on_a_terminal(bus):
    command = f"{bus.program} top --interval-ms 200; echo ended $?; exec cat"
    with Terminal(bus, command) as terminal:
        shows = terminal.shows
        shows("client-tests", "anybinder top:", "SERVED", "q quit")
        terminal.keys("/", "servicema", "Enter")
        until(lambda: "client-tests" not in terminal.screen())
        terminal.keys("Enter")
        shows("service manager", "thread ")
        terminal.keys("Escape", "s")
        shows("by latency")
        terminal.keys("Tab")
        shows("SERVICE ", "manager")
        terminal.keys("Enter")
        shows("METHOD", "CALLER")
        terminal.keys("q")
        # The terminal is as before.
        shows("ended 0")
        assert "q quit" not in terminal.screen(), terminal.screen()
        terminal.keys("echoed", "Enter")
        until(lambda: terminal.screen().count("echoed") == 2)


def test_top_fits_the_terminal(bus):
    """Names have the room that there is, whatever the terminal can do."""
    name = "test." + "a.long.name." * 5 + "end"
    bus.serve(name)
    top = f"{bus.program} top --interval-ms 200"
    for term in ["xterm", "xterm-256color", "vt100"]:
        with Terminal(bus, f"TERM={term} {top}; exec cat", columns=140) as terminal:
            terminal.shows("SERVED", " PRI ", "client-tests", "q quit")
            terminal.keys("Tab")
            terminal.shows(name, "SERVICE ")
            terminal.keys("q")
    with Terminal(bus, f"TERM=dumb {top}; echo ended $?; exec cat") as terminal:
        terminal.shows("TERM is dumb", "--once", "ended 2")
    contains(bus.run("top", "--once", "--view", "services", environment={"COLUMNS": "140"}), name)


def test_top_looks_into_what_is_named(bus):
    command = f"{bus.program} top --service {PEER}; echo ended $?; exec cat"
    with Terminal(bus, command) as terminal:
        terminal.shows("METHOD")
        terminal.keys("q")


def test_top_ends_with_its_terminal(bus):
    """A session that hangs up: no signal needs to arrive."""
    try:
        own, other = os.openpty()
    except OSError as err:
        pytest.skip(f"no terminal can be made: {err}")
    # It does not draw on a terminal without a size.
    termios.tcsetwinsize(own, (24, 80))
    top = subprocess.Popen([bus.program, "top"], stdin=other, stdout=other,
                           stderr=other, start_new_session=True,
                           env=bus.environment)
    os.close(other)
    try:
        shown = b""
        # Blanks are not drawn, the cursor goes past them.
        while b"quit" not in shown:
            assert select.select([own], [], [], PATIENCE_S)[0], shown
            shown += os.read(own, 4096)
        os.close(own)
        top.wait(PATIENCE_S)
    finally:
        top.kill()
        top.wait()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, "panic"])
def test_top_restores_the_terminal(bus, end):
    """At a signal and a panic."""
    pid_file = os.path.join(bus.scratch, "top.pid")
    variable = "ANYBINDER_TEST_PANIC=1" if end == "panic" else ""
    command = (f"sh -c 'echo $$ >{pid_file}; {variable} exec {bus.program} top'; "
               "echo ended; stty -a | grep -c -- ' -echo '; exec cat")
    with Terminal(bus, command) as terminal:
        if end != "panic":
            terminal.shows("q quit")
            with open(pid_file, encoding="utf-8") as file:
                os.kill(int(file.read()), end)
        terminal.shows("ended\n0\n")
        assert "q quit" not in terminal.screen(), terminal.screen()
