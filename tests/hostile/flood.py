#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""As many requests as many threads can make, beside programs that only use the processors."""
import os
import subprocess
import time

import hostile

PROGRAM = os.open(os.path.join(os.path.dirname(hostile.PROGRAM), "hostile-flood"), os.O_RDONLY)


def flood(ready, path, kind, threads):
    """The program is executed by its descriptor: its path may be closed to the user."""
    device = os.path.join(os.path.dirname(path), "hwbinder")
    with subprocess.Popen([f"/proc/self/fd/{PROGRAM}", device, kind, str(threads)],
                          stdout=subprocess.PIPE, pass_fds=[PROGRAM]) as process:
        assert process.stdout.readline() == b"begun\n"
        ready()
        time.sleep(1000)


def attack(kind, threads, title):
    row = hostile.attack(
        f"flood-{kind}", f"{threads} threads: {title}",
        lambda path: hostile.users((hostile.ATTACKER, flood, path, kind, threads)),
        lambda path: hostile.users((hostile.HONEST, flood, path, "burn", os.cpu_count())))
    row.check()
    return row


def small_requests():
    row = attack("version", 1000, "the smallest ioctl")
    # in the order in which requests come it would be 30 ms
    assert row.seen["attacked"]["calls"].quantile(.5) < \
        row.seen["honest"]["calls"].quantile(.5) + 10, "a user's turns grow with its threads"


def calls():
    attack("call", 200, "calls of one server")


def one_way_calls():
    attack("oneway", 64, "one-way calls")


def large_calls():
    attack("payload", 200, "calls of 1 MiB")


def opens():
    attack("open", 64, "opening and closing")


def path_lookups():
    attack("lookup", 64, "looking the device up")


def death_notifications():
    attack("deaths", 1, "2,000 death notifications at a time")


if hostile.TABLE:
    hostile.run("hostile-flood", small_requests, calls, one_way_calls, large_calls, opens,
                path_lookups, death_notifications)
else:
    hostile.run("hostile-flood", small_requests, large_calls, death_notifications)
