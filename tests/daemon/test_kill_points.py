# SPDX-License-Identifier: GPL-2.0
"""SIGKILL at each message of a hand-over, on either side, also twice in a row.

Either side serves and clients go on, or it is a crash with its documented end; the mount works
and there is one.
"""
import errno
import os
import signal

import pytest
from anybinder.driver import Client
from anybinder.process import children_of, until
from message_trace import Point, Traced
from replaced import DEADLINE_S, Replaced
from served import assert_served, expect_error, server

# What makes one side refuse: a version that the other one does not have; a stream cut off.
NO_VERSION = {"HELLO": (4, b"\x63\0\0\0\x63\0\0\0")}
CUT_STREAM = {"STATE": (32, b"\x08\0\0\0\0\0\0\0")}


def points_of(kind, sender):
    """Each stop of a message, with each victim."""
    receiver = "old" if sender == "new" else "new"
    stops = [("before", sender), ("sent", sender), ("received", receiver)]
    for when, at in stops[:1] if kind == "START" else stops[:2] if kind == "SERVES" else stops:
        for victim in "old", "new":
            yield Point(kind, when, at, victim)


MESSAGES = (("START", "new"), ("HELLO", "new"), ("STATE", "old"), ("FILES", "old"),
            ("READY", "new"), ("COMMIT", "old"), ("SERVES", "new"))


def ends_of(point):
    """Who serves afterwards: the old or the new server, or one that follows a crash."""
    kind, when, _, victim = point
    if victim == "new":
        # the old one goes on, unless it has committed
        if kind == "SERVES" or (kind == "COMMIT" and when != "before"):
            return {"crash"}
        # it may commit before the kernel has closed the other's socket
        return {"old", "crash"} if (kind, when) == ("READY", "sent") else {"old"}
    if kind == "FILES" and when != "before":
        # it has got everything, but the helper process may have ended with its master
        return {"crash", "new"}
    return {"crash"} if kind in ("START", "HELLO", "STATE", "FILES") else {"new"}


def second_kills(end):
    """Of the server that serves after the first kill, or is about to."""
    if end == "old":
        return [Point("GAVE", when, "old", "old") for when in ("before", "sent")]
    if end == "new":
        return [Point("SERVES", when, "new", "new") for when in ("before", "sent")]
    return [Point("START", "before", "third", "third")] + [
        Point("SERVES", when, "third", "third") for when in ("before", "sent")]


class Clients:
    """A context manager and a client that calls it, until they are lost by a crash."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.manager = self.client = None

    def call(self):
        if not self.client:
            self.manager = server(self.daemon.path("binder"))
            self.manager.__enter__()
            self.client = Client(self.daemon.path("binder"))
        assert self.client.call(b"x" * 5000) == b"x" * 5000

    def are_lost(self):
        expect_error(errno.ECONNREFUSED, self.client.write_read, b"", 64)
        self.end()

    def end(self):
        if self.client:
            self.client.close()
            self.manager.__exit__(None, None, None)
        self.client = None


def nr_mounts(path):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return sum(line.split()[4] == path for line in file)


def is_over(daemon, before):
    """The hand-over has ended, and there is one server."""
    now = daemon.status()
    return (now["attempts"] != before["attempts"] and
            children_of(daemon.pid) == [int(now["server"])])


def one_hand_over(daemon, clients, points, ends, edits=None):
    """@points are the kills; the end must be one of @ends."""
    before = daemon.status()
    clients.call()
    traced = Traced(daemon, int(before["server"]), points, edits)
    os.kill(daemon.pid, signal.SIGHUP)
    _, servers = traced.end()
    until(lambda: is_over(daemon, before), DEADLINE_S)
    after = daemon.status()
    serving = int(after["server"])
    end = next((name for name in ("old", "new") if servers.get(name) == serving), "crash")
    assert end in ends, f"{end} instead of {ends}: {after}"
    assert (after["crashes"] == before["crashes"]) == (end != "crash"), after
    assert end == "crash" or (after["last"] == "done") == (end == "new"), after
    assert nr_mounts(daemon.mnt) == 1
    if end == "crash":
        clients.are_lost()
    clients.call()
    assert_served(daemon, DEADLINE_S)


def kill_at(daemon, rounds):
    """@rounds: (points, ends, edits). After the last one the daemon is handed over as usual."""
    clients = Clients(daemon)
    try:
        for points, ends, edits in rounds:
            try:
                one_hand_over(daemon, clients, points, ends, edits)
            except Exception as error:
                raise AssertionError(f"{' then '.join(map(str, points))}: {error!r}") from error
        clients.call()
        daemon.hand_over()
        clients.call()
    finally:
        clients.end()


def test_messages_are_those_of_the_table(directory):
    """So that no message is left out above."""
    expected = {(point.at, point.kind, point.when) for kind, sender in MESSAGES
                for point in points_of(kind, sender)}
    with Replaced(directory) as daemon:
        traced = Traced(daemon, daemon.server_pid())
        os.kill(daemon.pid, signal.SIGHUP)
        seen, _ = traced.end()
        # the old one may be killed before it returns
        assert set(seen) | {("old", "COMMIT", "sent")} == expected, set(seen) ^ expected


def test_one_is_killed_at_each_message(directory):
    rounds = [([point], ends_of(point), None) for kind, sender in MESSAGES
              for point in points_of(kind, sender)]
    with Replaced(directory, "--max-crashes=1000") as daemon:
        kill_at(daemon, rounds)


def test_one_is_killed_at_each_refusal(directory):
    rounds = []
    for sender, edits in ("old", NO_VERSION), ("new", CUT_STREAM):
        for point in points_of("REFUSED", sender):
            ends = {"old"} if point.victim == "new" else {"crash"}
            rounds.append(([point], ends, edits))
    with Replaced(directory, "--max-crashes=1000") as daemon:
        kill_at(daemon, rounds)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=[
    pytest.mark.long, pytest.mark.timeout(3600)])])
def test_those_who_go_on_are_killed_too(directory, every):
    """After each kill, or after the first and the last one with each end."""
    firsts = {}
    for kind, sender in MESSAGES:
        for point in points_of(kind, sender):
            if len(ends_of(point)) == 1 and not (kind == "SERVES" and point.victim == "old"):
                firsts.setdefault(*ends_of(point), []).append(point)
    rounds = []
    for end, points in firsts.items():
        for first in points if every else (points[0], points[-1]):
            rounds += [([first, second], {"crash"}, None) for second in second_kills(end)]
    with Replaced(directory, "--max-crashes=1000") as daemon:
        kill_at(daemon, rounds)
