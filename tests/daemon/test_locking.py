# SPDX-License-Identifier: GPL-2.0
"""The measuring build of the daemon (bench/locking): locking modes, and counts of locks."""
import contextlib
import os
from unittest import mock

from anybinder.daemon import Daemon, start
from anybinder.driver import Client
from anybinder.process import child, until
from served import assert_served, server

BUILDS = ("anybinderd-locking",)


def environment(**variables):
    return mock.patch.dict(os.environ, {f"ANYBINDER_{key}": each
                                        for key, each in variables.items()})


def counts_of(daemon):
    """(the locking mode, {lock: (taken, waited)})"""
    with open(daemon.path("binder_logs/lock_contention"), encoding="ascii") as file:
        first, *lines = [line.split() for line in file]
    assert first[0] == "locking", first
    return first[1], {name: (int(taken), int(waited)) for name, _, taken, _, waited in lines}


def test_locks_are_not_counted_unless_asked(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        assert_served(daemon, within_s=60)
        mode, counts = counts_of(daemon)
        assert mode == "fine" and len(counts) == 10, (mode, counts)
        assert set(counts.values()) == {(0, 0)}, counts


def test_locks_are_counted_in_locking_mode_fine(directory):
    with environment(COUNT_LOCKS="1"), Daemon(directory) as daemon, server(daemon.path("binder")):
        assert_served(daemon, within_s=60)
        before = counts_of(daemon)[1]
        assert_served(daemon, within_s=60)
        mode, counts = counts_of(daemon)
        assert mode == "fine" and counts["global"] == (0, 0), counts
        for name in ("world", "outer", "node", "inner", "alloc"):
            assert counts[name][0] > before[name][0] > 0, (name, before, counts)


def test_waiting_is_counted_in_locking_mode_global(directory):
    with environment(LOCKING="global", COUNT_LOCKS="1"), Daemon(directory, "--threads=4") as daemon:
        with server(daemon.path("binder")), contextlib.ExitStack() as stack:
            def call_for_ever():
                client = Client(daemon.path("binder"))
                while True:
                    client.call(b"")

            for _ in range(4):
                stack.enter_context(child(call_for_ever))
            until(lambda: counts_of(daemon)[1]["global"][1], seconds=60)
        mode, counts = counts_of(daemon)
        assert mode == "global" and counts["global"][0] > counts["global"][1] > 0, counts


def test_unknown_locking_mode_is_refused(directory):
    for name in ("", "coarse", "global-nopreempt"):
        with environment(LOCKING=name):
            result = start(os.path.join(directory, "mnt"))
        assert result.returncode == 2, result
        assert "expected fine or global" in result.stderr, result
