#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hand-overs that do not come about: clients notice a pause at most, or what a crash is."""
import contextlib
import functools
import os
import shutil
import signal
import sys
import threading
import time

import daemon_test
from binder_client import Client
from daemon_test import NAME, assert_served, children_of, main, server, tests_in, until
from handover_test import DEADLINE_S, Replaced


class Upgraded(Replaced):
    """A daemon whose program is a copy, which can be replaced."""

    def __init__(self, directory, *options):
        super().__init__(directory, *options)
        self.program = os.path.join(directory, "anybinderd")
        shutil.copy(daemon_test.DAEMON, self.program)

    def __enter__(self):
        own, daemon_test.DAEMON = daemon_test.DAEMON, self.program
        try:
            return super().__enter__()
        finally:
            daemon_test.DAEMON = own

    def install(self, text):
        """Replaces the program by a script; by the real one again: an empty text."""
        new = self.program + ".new"
        if text:
            with open(new, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(new, 0o755)
        else:
            shutil.copy(daemon_test.DAEMON, new)
        os.rename(new, self.program)


def has_ended(daemon, before):
    """The hand-over; a report that is open while the server crashes cannot be read."""
    with contextlib.suppress(OSError):
        return daemon.status()["attempts"] != before["attempts"]
    return False


def a_successor_that_ends_changes_nothing(directory):
    with Upgraded(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        before = daemon.status()
        daemon.install("#!/bin/sh\nexit 1\n")
        for _ in range(3):
            after = daemon.ask()
            assert after["last"] == "failed" and after["reason"], after
            assert after["server"] == before["server"]
            assert client.call(b"x") == b"x"
        daemon.install("")
        daemon.hand_over()
        assert client.call(b"y") == b"y"


def a_successor_that_hangs_changes_nothing(directory):
    with Upgraded(directory) as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        before = daemon.status()
        daemon.install("#!/bin/sh\nexec sleep 100\n")
        asked = threading.Thread(target=daemon.ask)
        asked.start()
        while asked.is_alive():    # clients do not notice it
            assert client.call(b"x") == b"x"
            time.sleep(0.05)
        after = daemon.status()
        assert after["last"] == "failed" and after["server"] == before["server"], after
        daemon.install("")
        daemon.hand_over()
        assert client.call(b"y") == b"y"


def either_is_killed_at_any_time(directory):
    """Then the other one serves; or, had it committed, it is a crash: new opens are served."""
    with Replaced(directory, "--max-crashes=50") as daemon:
        for number in range(16):
            before = daemon.status()
            server_pid = int(before["server"])
            os.kill(daemon.pid, signal.SIGHUP)
            due = time.monotonic() + 0.004 * (number // 2)
            killed = False
            while not killed and daemon.status()["attempts"] == before["attempts"]:
                successors = set(children_of(daemon.pid)) - {server_pid}
                if successors and time.monotonic() >= due:
                    killed = True
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(server_pid if number % 2 else successors.pop(), signal.SIGKILL)
            until(functools.partial(has_ended, daemon, before), DEADLINE_S)
            with server(daemon.path("binder")):
                assert_served(daemon, DEADLINE_S)


if __name__ == "__main__":
    sys.exit(main(tests_in(globals()), f"{NAME}-handover-fail"))
