# SPDX-License-Identifier: GPL-2.0
"""The tracepoints of the kernel's driver in Rust, alone and beside the module's. `make vm-rust`
builds that driver."""
import contextlib
import json
import os
import subprocess
import tempfile

import pytest
from anybinder.process import until
from building import BUILD

from tracing import TracedBus, caller, calls_of

KERNEL = "newest"
# One processor: see test_trace.py. The service manager asks for security contexts.
pytestmark = [pytest.mark.long,
              pytest.mark.vm(KERNEL, driver="rust", smp=1, timeout=1800,
                             append="security=selinux", needs=[f"module-{KERNEL}"])]
MOUNT, OWN_MOUNT = "/dev/binderfs", "/dev/anybinderfs"


@pytest.fixture(scope="module")
def rust(programs):    # pylint: disable=unused-argument
    """A bus on the driver in Rust."""
    with TracedBus(MOUNT) as bus:
        yield bus


@pytest.fixture
def own(programs):    # pylint: disable=unused-argument
    """A bus on the module, which is loaded beside it."""
    os.mkdir(OWN_MOUNT)
    subprocess.run(["insmod", f"{BUILD}/module/{KERNEL}/anybinder.ko"], check=True)
    subprocess.run(["mount", "-t", "anybinder", "-o", "stats=global", "anybinder", OWN_MOUNT],
                   check=True)
    with TracedBus(OWN_MOUNT) as bus:
        yield bus
    subprocess.run(["umount", OWN_MOUNT], check=True)
    subprocess.run(["rmmod", "anybinder"], check=True)


@contextlib.contextmanager
def pinging(bus, name):
    """Calls to the service manager without end, by a process of that name."""
    with tempfile.TemporaryDirectory() as directory:
        link = f"{directory}/{name}"
        os.symlink(bus.program, link)
        with bus.started(link, "ping", "manager", "--count", "100000000", "--quiet",
                         is_program=True, stdout=subprocess.DEVNULL):
            yield


def test_each_call_is_shown_once(rust):
    _, text = rust.trace("--json", program=caller(7, size=500))
    calls = [call for call in calls_of(text) if call["from"]["process"].startswith("python")]
    assert len({call["id"] for call in calls}) == len(calls) == 7, text
    for call in calls:
        assert call["to"]["process"] == "servicemanager" and call["to"]["pid"], call
        assert (call["service"], call["code"]) == ("manager", 1), call
        assert call["error"] is None and not call["unfinished"], call
        times = [call[key] for key in ("sent_ns", "received_ns", "replied_ns", "done_ns")]
        assert times == sorted(times), call


def test_a_failed_call_has_its_error(rust):
    _, text = rust.trace("--json", "--errors", program=caller(2, device="vndbinder"))
    assert [call["error"] for call in calls_of(text)] == ["DEAD_REPLY"] * 2, text


def test_recordings_and_perfetto(rust, scratch):
    recording, perfetto = f"{scratch}/recording", f"{scratch}/perfetto"
    rust.trace("--record", recording, "--perfetto", perfetto, program=caller(5))
    with open(perfetto, "rb") as file:
        assert b"servicemanager" in file.read()
    graph = json.loads(rust.tool("graph", "--manager", "--from", recording, "--json").stdout)
    assert ["manager"] in [edge["services"] for edge in graph["edges"]], graph
    table = json.loads(rust.tool("top", "--from", recording, "--json").stdout)
    assert "servicemanager" in [row["command"] for row in table["processes"]], table


def expect_only_own(bus, name, other, perfetto):
    """Each command shows the calls of the process @name, and none of the process @other."""
    def traced():
        done = bus.tool("trace", "--seconds", "2", "--json", "--perfetto", perfetto)
        calls = calls_of(done.stdout)
        assert other not in {call["from"]["process"] for call in calls}, done
        return [call for call in calls if call["from"]["process"] == name
                and call["service"] == "manager" and not call["unfinished"]]

    def rates():
        table = json.loads(bus.tool("top", "--json", "--interval-ms", "500").stdout)
        rows = {row["command"]: row["sent_per_s"] for row in table["processes"]}
        assert other not in rows, table
        return rows.get(name)

    def edges():
        graph = json.loads(bus.tool("graph", "--manager", "--json", "--for", "1").stdout)
        names = {one["pid"]: one["command"] for one in graph["processes"]}
        assert other not in names.values(), graph
        return [edge for edge in graph["edges"] if names[edge["from"]] == name and edge["rate"]]

    until(traced)
    with open(perfetto, "rb") as file:
        text = file.read()
    assert name.encode() in text and other.encode() not in text
    until(rates)
    until(edges)


def test_two_drivers_are_told_apart(rust, own, scratch):
    with pinging(rust, "at-rust"), pinging(own, "at-module"):
        expect_only_own(rust, "at-rust", "at-module", f"{scratch}/rust")
        expect_only_own(own, "at-module", "at-rust", f"{scratch}/module")
