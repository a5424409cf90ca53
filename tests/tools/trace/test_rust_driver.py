# SPDX-License-Identifier: GPL-2.0
"""The tracepoints of the kernel's driver in Rust, which `make vm-rust` builds."""
import json

import pytest

from tracing import TracedBus, caller, calls_of

# One processor: see test_trace.py. The service manager asks for security contexts.
pytestmark = [pytest.mark.long,
              pytest.mark.vm("newest", driver="rust", smp=1, timeout=1800,
                             append="security=selinux")]
MOUNT = "/dev/binderfs"


@pytest.fixture(scope="module")
def rust(programs):    # pylint: disable=unused-argument
    """A bus on the driver in Rust."""
    with TracedBus(MOUNT) as bus:
        yield bus


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
