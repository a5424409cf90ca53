# SPDX-License-Identifier: Apache-2.0
"""`anybinder top`: what it counts, measures and marks."""
import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from anybinder.process import in_own_mounts, until

from peers import AIDL, PEER, circle_services, contains


def test_top_of_processes(bus):
    name = "test.waited_for"
    with bus.waiting_call(name) as service:
        found = {}

        def hanging():
            """The clients of the service that are marked, and for what they wait."""
            marked_pids = [one["pid"] for one in found["marks"] if one["mark"] == "HANGING"]
            return [(row, one) for row in found["processes"] for one in row["activities"]
                    if row["pid"] in marked_pids and "HANGING" in row["marks"]
                    and one["doing"] == "waits" and one["with"]["service"] == name]

        def hangs():
            found.update(bus.json("top", "--interval-ms", "300", "--hanging-ms", "100"))
            return hanging()

        until(hangs)
        client, doing = hanging()[0]
        assert (doing["with"]["pid"], doing["with"]["code"]) == \
            (service.pid, bus.code("maxConcurrent"))
        row = next(one for one in found["processes"] if one["pid"] == service.pid)
        assert name in row["services"] and row["busy"] >= 1 and row["buffer_size"] > 1 << 19, row
        handled = {(one["with"]["pid"], one["tid"]) for one in row["activities"]
                   if one["doing"] == "handles"}
        assert (client["pid"], doing["with"]["tid"]) in handled, row
        only = bus.run("top", "--once", "--interval-ms", "50", "--hanging-ms", "1", "--filter",
                         str(client["pid"]))
        lines = only.splitlines()
        assert [line.split()[0] for line in lines[:2]] == ["PID", str(client["pid"])]
        contains(only, f"HANGING {client['pid']} anybinder: thread", "waits", name)
        assert max(map(len, lines)) <= 80, only
        inside = bus.run("top", "--once", "--process", str(service.pid))
        contains(inside, f"service {name}", f"a call of {client['pid']} anybinder: code",
                 "waits for work")
    contains(bus.run("top", "--once", "--process", "no such", status=1), "No process no such")
    contains(bus.run("top", "--once", "--service", "no such", status=6), "No service is")
    contains(bus.run("top", status=2), "no terminal", "--once")


def test_top_counts_calls(bus):
    loop = bus.command("ping", PEER, "--count", "1000000", "--quiet")

    def rate(name, key):
        rows = bus.json("top", "--interval-ms", "300")["processes"]
        return next((row[key] for row in rows if name in row["services"]), 0)

    until(lambda: rate(PEER, "received_per_s") > 10)
    bus.stop(loop)
    until(lambda: rate(PEER, "received_per_s") == 0)


def test_top_has_latencies(bus):
    bus.command("ping", PEER, "--count", "1000000", "--quiet")
    found = {}

    def is_measured():
        found.update(bus.json("top", "--interval-ms", "500", "--service", PEER))
        return pings()

    def pings():
        """It asks the service for its interface first."""
        return [one for one in found["services"][0]["methods"] if one["code"] == 0x5f504e47]

    until(is_measured)
    service = found["services"][0]
    assert (pings()[0]["is_oneway"], found["no_latencies"]) == (False, None)
    assert service["calls_per_s"] > 0 and service["errors_per_s"] == 0, service
    times = service["latency"]
    assert 0 < times["p50_us"] <= times["p99_us"] <= times["max_us"] < 60e6, times
    caller = next(one for one in service["callers"] if one["calls_per_s"] > 0)
    assert (caller["command"], caller["has_handle"]) == ("anybinder", True)
    process = bus.json("top", "--process", str(caller["pid"]))["processes"][0]
    assert process["made"]["p50_us"] > 0 and process["served"] is None, process
    text = bus.run("top", "--once", "--service", PEER)
    contains(text, "ping", f"{caller['pid']} anybinder")
    assert max(map(len, text.splitlines())) <= 80, text
    contains(bus.run("top", "--once", "--view", "services"), "SERVICE", PEER[-20:])


def test_top_as_a_stream(bus):
    def keys(document):
        nested = document.values() if isinstance(document, dict) else document
        own = set(document) if isinstance(document, dict) else set()
        return own.union(*(keys(one) for one in nested if isinstance(one, (dict, list))))

    bus.command("ping", PEER, "--count", "1000000", "--quiet")
    stream = bus.command("top", "--json", "--stream", "--interval-ms", "100")
    found = set()
    for _ in range(3):
        found |= keys(json.loads(stream.stdout.readline()))
    told = set(re.findall(r"\w+", bus.run("top", "--help")))
    assert {"p50_us", "activities", "methods"} <= found <= told, found - told
    stream.send_signal(signal.SIGINT)
    stream.stdout.read()
    assert stream.wait() == 0
    contains(bus.run("top", "--stream", status=2), "--json")


def test_top_without_events(bus):
    """The events are hidden, in a mount namespace."""
    hide = f"mount --bind /dev/null {bus.mount}/binder_logs/events"
    if bus.is_kernel:
        hide = "; ".join(f"[ ! -d {one} ] || mount -t tmpfs none {one}"
                         for one in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"])
    done = bus.execute(*in_own_mounts("sh", "-c", f'{hide}; exec "$@"', "sh"), bus.program, "top",
                       "--once", "--view", "services")
    assert done.returncode == 0
    assert [line.startswith("no latencies: ") for line in done.stdout.splitlines()].count(True) == 1
    contains(done.stdout, PEER[-20:])


def test_top_marks_a_circle(bus):
    flag = os.path.join(bus.scratch, "flag")
    names = ["test.circle.one", "test.circle.two"]
    with contextlib.ExitStack() as stack:
        services = [stack.enter_context(one) for one in circle_services(bus, names, flag)]
        for name in names:
            bus.command("call", name, "1")
        check_circle(bus, sorted(service.pid for service in services), flag)


def check_circle(bus, pids, flag):
    """Both handle a call; as soon as the flag is there they wait for each other."""
    def handled():
        rows = bus.json("top", "--interval-ms", "50")
        assert [mark for mark in rows["marks"] if mark["mark"] == "CIRCLE"] == []
        return sum(row["busy"] for row in rows["processes"] if row["pid"] in pids) == 2

    until(handled)
    with open(flag, "w", encoding="utf-8"):
        pass

    def circles():
        marks = bus.json("top", "--interval-ms", "50")["marks"]
        return [mark for mark in marks if mark["mark"] == "CIRCLE"]

    until(circles)
    assert sorted(mark["pid"] for mark in circles()) == pids
    until(lambda: bus.json("graph")["cycles"] == [pids])
    contains(bus.run("graph"), f"in a circle: {pids[0]} -> {pids[1]}")


def test_top_marks_no_thread(bus):
    service = bus.serve("test.few", threads=1)
    assert service.pid not in bus.marked("NO THREAD")
    for _ in range(5):
        bus.command("call", "--aidl", AIDL, "test.few", "maxConcurrent", "60000")
    until(lambda: service.pid in bus.marked("NO THREAD"))


def test_calls_that_wait_for_a_thread_are_queued(bus):
    """Two callers of a service with one thread: each waits while the other is served."""
    bus.serve("test.queue", threads=1)
    call = [bus.program, "call", "--aidl", AIDL, "test.queue", "maxConcurrent",
            "300"]
    loop = f"while :; do {shlex.join(call)} >{os.devnull}; done"
    for _ in range(4):
        bus.start("sh", "-c", loop)

    def is_queued():
        rows = bus.json("top", "--interval-ms", "2000", "--service", "test.queue")["services"]
        if rows[0]["calls_per_s"] is None:
            pytest.skip("events cannot be read here")
        # A client asks for the interface first, which waits for the thread, too.
        return any(one["queued"]["max_us"] > 100_000 for one in rows[0]["methods"]
                   if one["queued"])

    until(is_queued)


# Has the device open, under a name that would change the title of a terminal and end elements.
EVIL = "\x1b]0;x\x07<\n\"'&>"
OPEN_AS = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
device = os.open(sys.argv[1], os.O_RDWR)
print("open", flush=True)
time.sleep(9999)
"""


def test_names_do_not_control_the_terminal(bus):
    words = [sys.executable, "-c", OPEN_AS, f"{bus.mount}/binder", EVIL]
    process = bus.start(*words)
    assert process.stdout.readline() == "open\n"
    for command in [["ps"], ["top", "--once"], ["graph"], ["graph", "--format", "dot"],
                    ["report", "--include", "commands"]]:
        text = bus.run(*command)
        contains(text, "u001b]0;x")
        assert not set("\x1b\x07") & set(text), (command, text)
    svg = bus.run("graph", "--format", "svg")
    names = [one.text for one in ElementTree.fromstring(svg.encode()).iter()
             if one.text and "u001b" in one.text]
    assert len(names) == 1
    contains(names[0], EVIL.translate({27: r"\u001b", 7: r"\u0007", 10: r"\u000a"}))
    rows = [row for row in bus.json("ps") if row["pid"] == process.pid]
    assert [row["command"] for row in rows] == [EVIL]


def test_oneway_calls_that_wait_are_seen(bus):
    """One is handled, the others wait for their turn."""
    name = "test.backlog"
    service = bus.serve(name)
    for _ in range(5):
        bus.run("call", name, str(bus.code("postSlowly")), "i32", "3600000", "--oneway",
                  "--interface", "anybinder.test.IPeer")
    until(lambda: service.pid in bus.marked("BACKLOG"))
    found = bus.json("top")
    row = next(one for one in found["processes"] if one["pid"] == service.pid)
    backlog = row["backlogs"][0]
    assert (backlog["calls"], backlog["service"], row["waiting"]) == (4, name, 0)
    assert backlog["oldest_ms"] >= 1000 and 4 * 4 <= backlog["bytes"] < 4096, backlog
    assert sum(one["calls"] for one in backlog["senders"]) == 4
    assert [one["doing"] for one in row["activities"]].count("oneway") == 1
    assert row["busy"] == 1, row
    waits = f"wait for {name}"
    contains(bus.run("top", "--once", "--process", str(service.pid)),
             " handles a one-way call", "BACKLOG")
    contains(bus.run("top", "--once", "--service", name), "BACKLOG 4 one-way calls",
             "no call has ended")
    # Since when, the kernel's driver says from 6.2 on only.
    if backlog["oldest_ms"] > 1000 and not bus.is_kernel:
        contains(bus.run("ps"), "ONEWAY", f"BACKLOG {service.pid} client-tests: 4 one-way calls")
        contains(bus.run("graph"), "BACKLOG 4 one-way calls", waits)
    assert [one["backlogs"][0]["calls"] for one in bus.json("ps") if one["pid"] == service.pid] == \
        [4]
    report = bus.run("report")
    wrong = report[:report.index("== versions")]
    contains(wrong, "== what looks wrong", f"BACKLOG {service.pid}: 4 one-way calls")
    assert name not in report, wrong
    contains(bus.run("report", "--include", "services,commands"),
             f"BACKLOG {service.pid} client-tests: 4 one-way calls", waits)


def test_top_marks_no_space(bus):
    """One-way calls that are handled one by one fill their half of the buffer."""
    service = bus.serve("test.full")
    large = bus.file("large", 101_000)
    assert service.pid not in bus.marked("NO SPACE")
    for _ in range(5):
        bus.run("call", "test.full", str(bus.code("postSlowly")), "i32", "60000", "bytes",
                  f"@{large}", "--oneway")
    until(lambda: bus.marked("NO SPACE") == [service.pid])


def test_oneway_calls_to_a_stopped_service(bus):
    """They are sent without a question, until the buffer of the service is full."""
    name = "test.stopped"
    service = bus.serve(name)
    large = bus.file("large", 64_000)
    call = ["call", name, str(bus.code("post")), "i32", "7", "bytes", f"@{large}", "--oneway",
            "--interface", "anybinder.test.IPeer"]
    os.kill(service.pid, signal.SIGSTOP)
    try:
        for _ in range(8):
            bus.run(*call)
        contains(bus.run(*call, status=7), "no space for it in the buffer of its receiver")
        until(lambda: bus.marked("NO SPACE") == [service.pid])
        until(lambda: bus.marked("FROZEN") == [service.pid])
    finally:
        os.kill(service.pid, signal.SIGCONT)
    until(lambda: bus.marked("NO SPACE") == [])
    bus.run(*call[:-1], "another.IPeer", "handle", "of", name, "file", large)
    assert bus.ask("add", "1", "2", name=name) == "3"


# Opens the device in so many processes, one after the other.
OPEN_MANY = """
import os, sys, time
for _ in range(int(sys.argv[2])):
    end, other = os.pipe()
    if not os.fork():
        os.open(sys.argv[1], os.O_RDWR)
        os.write(other, b"x")
        os.close(end)
        os.close(other)
        time.sleep(9999)
    os.close(other)
    if not os.read(end, 1):
        sys.exit("an open failed")
    os.close(end)
print("open", flush=True)
time.sleep(9999)
"""


@pytest.mark.takes(20)
def test_many_processes(bus):
    """Processes that have the device open, and do nothing."""
    count = 100 if bus.is_kernel else 2000
    words = [sys.executable, "-c", OPEN_MANY, f"{bus.mount}/binder", str(count)]
    group = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert group.stdout.readline() == "open\n"
        lines = bus.run("top", "--once", "--sort", "pid").splitlines()
        assert len(lines) > count and PEER in bus.run("top", "--once", "--view", "services")
        assert len(bus.run("graph").splitlines()) > count
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group.pid, signal.SIGKILL)
        group.communicate()
