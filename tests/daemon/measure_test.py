#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the daemon has for measurements: stages of round trips."""
import errno
import sys

from binder_client import Client
from daemon_test import NAME, Daemon, assert_served, expect_error, main, server, tests_in


def write_word(path, word):
    with open(path, "w", encoding="ascii") as file:
        file.write(word + "\n")


def read_lines(path):
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


def stages_of_calls_are_recorded(directory):
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


def stages_older_than_the_ring_are_counted(directory):
    with Daemon(directory, "--record-stages") as daemon, server(daemon.path("binder")):
        client = Client(daemon.path("binder"))
        for _ in range(65536 // 10 + 100):
            client.call(b"")
        lines = read_lines(daemon.path("binder_logs/stages"))
        first, lost, last = lines[0].split()
        assert (first, last) == ("#", "lost") and int(lost) > 0
        assert len(lines) == 1 + 65536
        client.close()


if __name__ == "__main__":
    sys.exit(main(tests_in(globals()), NAME + "-measure"))
