# SPDX-License-Identifier: GPL-2.0
"""As many requests as many threads can make, and many of other things, beside programs that use
only the processors."""
import os

import hostile
import pytest
from hostile import flood_by, opened, run_program


def attack(kind, count, title, honest="burn", honest_count=os.cpu_count(), **how):
    row = hostile.attack(f"flood-{kind}", title, flood_by(hostile.ATTACKER, kind, count),
                         flood_by(hostile.HONEST, honest, honest_count), **how)
    row.check()
    return row


def test_small_requests():
    row = attack("version", 1000, "1,000 threads make the smallest ioctl")
    # in the order in which requests come it would be 30 ms
    assert row.seen["attacked"]["calls"].quantile(.5) < \
        row.seen["honest"]["calls"].quantile(.5) + 10, "a user's turns grow with its threads"


def long(*flood):
    return pytest.param(*flood, marks=pytest.mark.long)


@pytest.mark.parametrize("kind, count, title", [
    ("payload", 200, "200 threads make calls of 1 MiB"),
    ("objects", 64, "64 threads make calls with 20,000 objects"),
    long("call", 200, "200 threads call one server"),
    long("oneway", 64, "64 threads make one-way calls"),
    long("open", 64, "64 threads open and close the device"),
    long("lookup", 64, "64 threads look the device up"),
    long("deaths", 1, "2,000 opens get a death notification at a time"),
    long("services", 10, "100,000 objects, 65,536 of them watched by one receiver, die at once"),
    long("vfork", 8, "8 threads call from vfork(2) children"),
    long("exit", 4, "processes end or exec while their threads make calls")])
def test_threads(kind, count, title):
    attack(kind, count, title)


@pytest.mark.long
def test_client_processes():
    """Beside as many that call at the same rate through sockets."""
    attack("clients", 2000, "2,000 processes that call", "socket-clients", 2000, steady=True)


@pytest.mark.long
def test_starts_and_ends_of_processes():
    """So many that start, or end, at a time take the processors for a second or two, whatever they
    do otherwise."""
    row = hostile.attack("flood-starts", "2,000 processes start, call, and end at once",
                         flood_by(hostile.ATTACKER, "clients", 2000),
                         flood_by(hostile.HONEST, "socket-clients", 2000),
                         margin_ms=max(hostile.MARGIN_MS, 500))
    row.check()


@pytest.mark.long
def test_requests_by_the_kernel():
    row = hostile.attack(
        "uring", "reads and polls through io_uring",
        lambda path: hostile.users((hostile.ATTACKER, run_program, path, opened("hostile-uring"))))
    row.check()
