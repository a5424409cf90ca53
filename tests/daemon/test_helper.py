# SPDX-License-Identifier: GPL-2.0
"""Helper processes that are killed or stopped before they serve."""
import os
import signal
import time

import pytest
from anybinder.daemon import Daemon
from anybinder.process import children_of, stat_of, until
from served import assert_served, server

BUILDS = ("anybinderd-asan",)


def stop_as_it_starts(pid):
    """Stops a process of the program. False: it has not executed the program yet, or has begun."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: stat_of(pid)[1] == "T")
    if stat_of(pid)[0] == "exe":
        return True
    os.kill(pid, signal.SIGCONT)
    return False


def kill_helper(server_pid, helper_pid):
    """Returns the process of the next one as soon as it is there."""
    before = set(children_of(server_pid))    # some may be dead, and not waited for
    os.kill(helper_pid, signal.SIGKILL)
    while not (new := set(children_of(server_pid)) - before):
        pass
    return new.pop()


def test_helpers_that_are_killed_as_they_start_are_replaced(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        server_pid = daemon.server_pid()
        killed = until(daemon.helper_pid)
        for _ in range(4):
            killed = kill_helper(server_pid, killed)
        assert_served(daemon, within_s=30.0)
        assert daemon.server_pid() == server_pid


def test_helper_that_takes_long_to_start_is_waited_for(directory):
    """For longer than it may take to answer. It is the one that replaces a helper that was killed,
    because that can be stopped."""
    def kill_and_stop_the_next():
        assert_served(daemon, within_s=30.0)
        stopped.append(kill_helper(server_pid, until(daemon.helper_pid)))
        return stop_as_it_starts(stopped[-1])

    stopped = []
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        server_pid = daemon.server_pid()
        if not any(kill_and_stop_the_next() for _ in range(50)):
            pytest.skip("a helper starts before it can be stopped")
        time.sleep(4)
        os.kill(stopped[-1], signal.SIGCONT)
        assert_served(daemon, within_s=30.0)
        assert daemon.server_pid() == server_pid
