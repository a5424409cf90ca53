# SPDX-License-Identifier: GPL-2.0
"""What the daemon has for measurements, stages of round trips; and the program that measures."""
import errno
import json
import os
import re
import subprocess
import time

from anybinder.daemon import Daemon
from anybinder.driver import Client
from anybinder.process import program
from served import assert_served, expect_error, server

PROGRAMS = ("bench-ipc",)
# Events that the ring holds.
SLOTS = 131072
# Seconds in which an idle daemon must not wake up, and the memory that it may take (Pss).
IDLE_S = 3
IDLE_KIB = 2560
OPERATIONS = ("binder", "oneway", "object", "handle", "nested", "file", "deaths", "open", "entry")


def write_word(path, word):
    with open(path, "w", encoding="ascii") as file:
        file.write(word + "\n")


def read_lines(path):
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


def test_stages_of_calls_are_recorded(directory):
    with Daemon(directory) as daemon, server(daemon.path("binder")):
        path = daemon.path("binder_logs/stages")
        assert not read_lines(path)
        assert_served(daemon, within_s=60)
        assert not read_lines(path), "recorded though never switched on"
        write_word(path, "on")
        assert_served(daemon, within_s=60)
        write_word(path, "off")
        lines = read_lines(path)
        assert_served(daemon, within_s=60)
        assert read_lines(path) == lines, "recorded though switched off"
        expect_error(errno.EINVAL, write_word, path, "perhaps")
        expect_error(errno.EINVAL, write_word, daemon.path("binder_logs/state"), "on")
    records = [dict(word.split("=") for word in line.split()) for line in lines]
    call = next(r["transaction"] for r in records if r["stage"] == "K_ENQ")
    reply = next(r for r in records if r["reply_to"] == call)
    for number in (call, reply["transaction"]):
        passed = [r for r in records if r["transaction"] == number]
        assert [r["stage"] for r in passed] == ["K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY"], passed
        times = [int(r["time"]) for r in passed]
        assert times == sorted(times)


def test_stages_older_than_the_ring_are_counted(directory):
    with Daemon(directory, "--record-stages") as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        for _ in range(SLOTS // 10 + 100):
            client.call(b"")
        lines = read_lines(daemon.path("binder_logs/stages"))
        first, lost, last = lines[0].split()
        assert (first, last) == ("#", "lost") and int(lost) > 0
        assert len(lines) == 1 + SLOTS
        client.close()


def test_each_operation_is_measured(directory):
    with Daemon(directory) as daemon:
        for peer in OPERATIONS:
            done = subprocess.run([program("bench-ipc"), "call", "--peer", peer, "--pairs", "2",
                                   "--calls", "3", "--address", daemon.path("binder")],
                                  capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, (peer, done)
            figures = json.loads(done.stdout)
            assert figures["calls"] == 6 and figures["classes"][0]["total_ns"] > 0, (peer, figures)


def total(pids, path, key):
    """The sum of the numbers behind @key in the files of all processes, or of all their threads."""
    found = 0
    for pid in pids:
        threads = os.listdir(f"/proc/{pid}/task") if "{tid}" in path else [""]
        for tid in threads:
            with open(path.format(pid=pid, tid=tid), encoding="ascii") as file:
                found += int(re.search(rf"^{key}:\s*(\d+)", file.read(), re.MULTILINE)[1])
    return found


def test_an_idle_daemon_never_wakes_up_and_is_small(directory):
    with Daemon(directory) as daemon:
        pids = daemon.pid, daemon.server_pid(), daemon.helper_pid()

        def sleeps():
            return total(pids, "/proc/{pid}/task/{tid}/status", "voluntary_ctxt_switches")

        def idles():
            before = sleeps()
            time.sleep(IDLE_S)
            return sleeps() == before

        # what it does after its start may still be going on
        assert idles() or idles(), "a thread of the idle daemon wakes up again and again"
        assert total(pids, "/proc/{pid}/smaps_rollup", "Pss") <= IDLE_KIB
