# SPDX-License-Identifier: GPL-2.0
"""Hand-overs that do not come about: clients notice a pause at most, or what a crash is."""
import contextlib
import os
import signal
import threading
import time

from anybinder.driver import Client
from anybinder.process import children_of
from replaced import DEADLINE_S, Replaced, Upgraded
from served import assert_served, server

BUILDS = ("anybinderd-asan",)


def test_a_successor_that_ends_changes_nothing(directory):
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


def test_a_successor_that_hangs_changes_nothing(directory):
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


def test_either_is_killed_at_any_time(directory):
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
            daemon.wait_for_the_end(before)
            with server(daemon.path("binder")):
                assert_served(daemon, DEADLINE_S)
