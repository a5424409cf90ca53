# SPDX-License-Identifier: GPL-2.0
"""Many hand-overs in a row under clients that do all kinds of things, and under stopped ones."""
import os
import shutil
import signal
import time

import pytest
from anybinder import daemon as daemons
from anybinder.driver import Client
from anybinder.process import child, program, stat_of, until
from pairs import Pairs, devices, files_of
from replaced import (
    DEADLINE_S,
    Replaced,
    Signals,
    Upgraded,
    answer,
    check,
    hold_a_call,
    take_call,
    wait_for,
)

# The smallest of so many sizes are compared: files and opens come and go.
LAST = 5
PROGRAMS = ("anybinderd-next",)
LONG = [pytest.mark.long, pytest.mark.timeout(3600)]


class Alternating(Upgraded):
    """The daemon and another program in turn.

    other: its name; without one, it is the same program under another version's name
    """

    def __init__(self, directory, other, *options):
        super().__init__(directory, *options)
        self.other_name, self.other = other, self.program + ".other"

    def __enter__(self):
        super().__enter__()
        version = self.status()["version"]
        if self.other_name:
            shutil.copy(program(self.other_name), self.other)
        else:
            self.make_other(version.encode() + b"\0")
        return self

    def make_other(self, version):
        with open(self.program, "rb") as file:
            data = file.read()
        assert version in data
        with open(self.other, "wb") as file:
            file.write(data.replace(version, b"0" + version[1:]))
        os.chmod(self.other, 0o755)

    def hand_over(self):
        os.rename(self.other, self.program + ".next")
        os.rename(self.program, self.other)
        os.rename(self.program + ".next", self.program)
        before, after = self.status(), super().hand_over()
        assert before["version"] != after["version"], after
        return after


class Sizes:
    """Descriptors and memory of a process or of its successors."""

    def __init__(self, name):
        self.name, self.found = name, []

    def add(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            kib = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
        self.found.append((files_of(pid), kib))

    def check(self, first_after, more_files, more_kib):
        """Prints a line of the table. Nothing may grow after so many hand-overs by more than
        that."""
        # two programs in turn may differ: each is compared with itself
        for way in 0, 1:
            found = self.found[way::2]
            parts = found[max(first_after // 2 - LAST, 0):first_after // 2], found[-LAST:]
            first, last = ([min(part) for part in zip(*sizes)] for sizes in parts)
            print(f"{self.name:>10} {way + 1:7} {first[0]:8} {last[0]:8} {first[1]:9} {last[1]:9}")
            assert last[0] <= first[0] + more_files, f"descriptors of the {self.name}"
            assert last[1] <= first[1] + more_kib, f"memory of the {self.name}"


def print_times(name, times_us):
    at = [times_us[len(times_us) * part // 100] for part in (50, 99)]
    print(f"{name:>30} {len(times_us):7} {at[0]:8} {at[1]:8} {times_us[-1]:8}")


# ---- load ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("hand_overs, nr_pairs, other", [
    (16, 6, None), pytest.param(200, 64, None, marks=LONG, id="64-pairs"),
    pytest.param(200, 16, "anybinderd-next", marks=LONG, id="two-versions")])
def test_many_hand_overs_lose_nothing_and_keep_nothing(directory, hand_overs, nr_pairs, other):
    windows = 2 * hand_overs + 1    # with hand-overs, and without
    rest_s = 0.002 * nr_pairs    # of a client after each step: processors are not to be the limit
    with Alternating(directory, other, devices(nr_pairs)) as daemon, \
            Pairs(daemon, nr_pairs, windows, rest_s) as pairs:
        sizes = [Sizes(name) for name in ("server", "supervisor", "helper")]
        helper = daemon.helper_pid()
        pauses_us, left_behind = [], 0
        for _ in range(hand_overs):
            pairs.begin_window()
            begin = time.monotonic()
            after = daemon.hand_over()
            took_s = time.monotonic() - begin
            left_behind += int(after["left_behind"])    # on a busy machine; clients try again
            pauses_us.append(int(after["pause_us"]))
            pairs.progress(1)
            pairs.begin_window()
            time.sleep(took_s)
            pairs.progress(1)
            for size, pid in zip(sizes, (after["server"], daemon.pid, helper)):
                size.add(pid)
        turns = pairs.end()
        print(f"{nr_pairs} pairs, {hand_overs} hand-overs, {turns} steps of clients, {left_behind} "
              "calls left behind")
        print(f"{'us':>30} {'times':>7} {'p50':>8} {'p99':>8} {'worst':>8}")
        print_times("no request is answered", sorted(pauses_us))
        print_times("longest call, hand-over", pairs.longest_of(range(1, windows, 2)))
        print_times("longest call, none", pairs.longest_of(range(2, windows, 2)))
        print(f"{'process':>10} {'program':>7} {'files':>8} {'at end':>8} {'VmRSS KiB':>9} "
              f"{'at end':>9}")
        # Freed memory may remain with the allocator, with AddressSanitizer much of it.
        more_kib = float("inf") if "asan" in daemons.PROGRAM or other else 1024
        for size in sizes:
            size.check(min(20, hand_overs // 2), 4 + nr_pairs // 4, more_kib)


# ---- clients that are stopped --------------------------------------------------------------------

def stop(pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        until(lambda pid=pid: stat_of(pid)[1] == "T", DEADLINE_S)


def go_on(pids):
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_stopped_clients_that_wait_go_on(directory):
    """A service that holds a call, its caller, and a service that waits for its first call."""
    with Replaced(directory, devices(1)) as daemon:
        step, back, reader = Signals(), Signals(), Signals()

        def call():
            client = Client(daemon.path("binder"))
            client.retries = True
            check(client.call(b"x") == b"late")

        def read():
            manager = Client(daemon.path("p0"))
            manager.retries = True
            manager.become_manager()
            reader.send()
            answer(manager, take_call(manager), b"read")
            time.sleep(DEADLINE_S)

        with child(hold_a_call, daemon, step, back) as holder, child(read) as waiting:
            step.wait(b"m")
            reader.wait()
            with child(call) as caller:
                step.wait(b"t")
                stopped = holder, caller, waiting
                stop(stopped)
                for _ in range(2):
                    assert daemon.hand_over()["left_behind"] == "0"
                go_on(stopped)
                daemon.hand_over()
                back.send()
                wait_for(caller)
                assert Client(daemon.path("p0")).call(b"x") == b"read"


def test_clients_that_are_stopped_at_any_time_go_on(directory):
    with Replaced(directory, devices(3)) as daemon, Pairs(daemon, 3) as pairs:
        for number in range(10):
            stopped = pairs.clients[:1] + pairs.services[1:2]
            if number % 2:    # both sides of a pair
                stopped += pairs.services[:1]
            stop(stopped)
            daemon.hand_over()
            go_on(stopped)
            pairs.progress()
        pairs.end()
