# SPDX-License-Identifier: Apache-2.0
"""`anybinder graph`, now and of a recording."""
import json
import os
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from anybinder.process import PATIENCE_S, until

from peers import AIDL, PEER, PeerBus, contains


def test_graph_of_calls(bus):
    name = "test.waited_for"
    with bus.waiting_call(name) as service:
        def waits():
            return [edge for edge in bus.json("graph")["edges"]
                    if edge["to"] == service.pid and edge["waiting"]]

        until(waits)
        edge = waits()[0]
        graph = bus.json("graph")
        node = next(one for one in graph["processes"] if name in one["services"])
        assert (node["pid"], edge["services"]) == (service.pid, [name])
        code = bus.code("maxConcurrent")
        assert (edge["waiting"][0]["code"], edge["waiting"][0]["service"]) == (code, name)
        assert all("manager" not in one["services"] for one in graph["processes"]), graph
        contains(bus.run("graph"), f"-> {service.pid} client-tests ({name})", "waits",
                 f"code {code} of {name}")
        contains(bus.run("graph", "--manager"), "(manager)")
        dot = bus.run("graph", "--format", "dot")
        contains(dot, "digraph", f"p{edge['from']} -> p{service.pid}", "color=red")
        svg = os.path.join(bus.scratch, "graph.svg")
        bus.run("graph", "--output", svg)
        elements = list(ElementTree.parse(svg).iter())
        boxes = [one.get("data-pid") for one in elements]
        assert {str(edge["from"]), str(service.pid)} <= set(boxes), boxes
        labels = "\n".join("".join(one.itertext()).strip() for one in elements)
        assert re.search(r"^1 object(, \d+ calls?)?, 1 waiting$", labels, re.M), labels
        for ending, status in (("pdf", 2), ("txt", 0)):
            path = os.path.join(bus.scratch, f"graph.{ending}")
            text = bus.run("graph", "--output", path, status=status)
            assert os.path.exists(path) == ("No format has the ending of" not in text), text
        page = bus.run("graph", "--format", "html", "--only", name)
        contains(page, "Content-Security-Policy", "let data = {", f'data-pid="{service.pid}"')
        assert "http://" not in page.replace("http://www.w3.org/2000/svg", ""), "a link"
        contains(bus.run("graph", "--only", name, "--only", "nosuch", status=1),
                 "No process nosuch has a device open, and no service has such a name.")


def test_graph_with_rates(bus):
    loop = bus.command("ping", PEER, "--count", "1000000", "--quiet")
    found = {}

    def is_measured():
        found.update(bus.json("graph", "--for", "1"))
        return measured()

    def measured():
        return [edge for edge in found["edges"] if edge["rate"] and edge["services"] == [PEER]]

    until(is_measured)
    edge = measured()[0]
    assert (found["no_rates"], edge["rate"]["errors_per_s"]) == (None, 0)
    times = edge["rate"]["latency"]
    assert edge["rate"]["calls_per_s"] > 1 and 0 < times["p50_us"] <= times["p99_us"], edge
    text = bus.run("graph", "--for", "1")
    assert re.search(r"rates and latencies of \d+\.\d", text), text
    contains(text, " calls/s, p50 ")
    contains(bus.run("graph", "--for", "1", "--format", "dot"), 'label="rates and',
             " calls/s, p50 ")
    contains(bus.run("graph", "--for", "1", "--format", "svg"), "/s ")
    contains(bus.run("graph", "--for", "1", "--format", "html"), '"calls_per_s":',
             '"notes":["rates and')
    bus.stop(loop)
    assert bus.json("graph")["measured_s"] == None
    bus.run("graph", "--for", "0", status=2)


@pytest.mark.usefixtures("daemon_only")
def test_a_recording_is_a_graph_and_a_table(bus):
    file = os.path.join(bus.scratch, "recording")
    bus.run("trace", "--record", file, "--", bus.program, "ping", PEER, "--count", "50", "--quiet")
    graph = bus.json("graph", "--from", file)
    edge, = [edge for edge in graph["edges"] if edge["services"] == [PEER]]
    # One more call asks for the interface.
    assert round(edge["rate"]["calls_per_s"] * graph["measured_s"]) == 51
    assert edge["rate"]["latency"]["p50_us"] > 0, edge
    # What is not recorded is no zero.
    assert (edge["objects"], edge["recent"]) == (None, None)
    assert {process["threads"] for process in graph["processes"]} == {None}
    contains(bus.run("graph", "--from", file), "a recording has no objects", f": {PEER}; ")
    contains(bus.run("graph", "--from", file, "--only", "x", status=1), "The recording has no")
    table = bus.json("top", "--from", file, "--service", PEER)
    service, process = table["services"][0], table["processes"][0]
    pings, = [one for one in service["methods"] if one["code"] == 0x5f504e47]
    assert round(pings["calls_per_s"] * table["measured_s"]) == 50
    assert [one["pid"] for one in service["callers"]] == [edge["from"]]
    assert [process[key] for key in ("threads", "references", "buffer_bytes")] == [None] * 3
    text = bus.run("top", "--from", file)
    contains(text, "a recording has no objects")
    assert re.search(rf"^ *{process['pid']} client-tests .* 0/- +- +-", text, re.M), text
    # When the first call was sent, its caller waits, and no call has ended.
    table = bus.json("top", "--from", file, "--at", "0")
    waits = [row for row in table["processes"] if row["activities"]]
    assert [(row["pid"], row["sent_per_s"]) for row in waits] == [(edge["from"], 0)]
    assert waits[0]["activities"][0]["doing"] == "waits"
    contains(bus.run("top", "--from", file, "--at", "9999", status=2), "s after its first call")
    os.truncate(file, os.path.getsize(file) - 2)
    for command in "graph", "top":
        contains(bus.run(command, "--from", file, status=1), "is cut short")


@pytest.mark.usefixtures("daemon_only")
def test_a_recording_carries_its_types(bus):
    file, types = (os.path.join(bus.scratch, name) for name in ("recording", "types"))
    shutil.copytree(AIDL, types)
    bus.run("trace", "--quiet", "--record", file, "--aidl", types, "--", bus.program, "call", PEER,
            str(bus.code("add")), "i32", "1", "i32", "2")
    shutil.rmtree(types)
    shown = [json.loads(line) for line in bus.run("trace", "--json", "--from", file).splitlines()]
    assert "add" in {call["method"] for call in shown}, shown
    service, = bus.json("top", "--from", file, "--service", PEER)["services"]
    assert "add" in {method["name"] for method in service["methods"]}, service


@pytest.fixture(scope="module")
def page(tmp_path_factory, programs):    # pylint: disable=unused-argument
    """page(SEARCH): what the page shows, of a graph with a waiting call and rates."""
    if not shutil.which("chromium"):
        pytest.skip("no chromium: apt-get install chromium")
    directory = tmp_path_factory.mktemp("page")

    def show(search):
        url = f"file://{directory}/graph.html#{search}"
        dom = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                              f"--user-data-dir={directory}/profile", "--dump-dom", url],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL, timeout=2 * PATIENCE_S, check=False).stdout
        return re.search("<tbody.*?<script", dom, re.S)[0] + re.search('.*id="count".*', dom)[0]

    def is_drawn():
        bus.run("graph", "--for", "1", "--manager", "--output", f"{directory}/graph.html")
        return "calls/s, p50" in (directory / "graph.html").read_text(encoding="utf-8")

    with PeerBus() as bus:
        bus.serve("test.first")
        bus.serve("test.second")
        # One waits for the other for a while.
        bus.command("call", "--aidl", AIDL, "test.first", "maxConcurrent", "600000")
        until(lambda: "waits" in bus.run("graph"))
        bus.command("ping", "test.second", "--count", "100000000", "--quiet")
        until(is_drawn)
        bus.stop(*list(bus.running))
    return show


@pytest.mark.long
@pytest.mark.parametrize("search, shown, hidden", [
    ("", ["<td>.*client-tests", "waits", "[0-9]* of [0-9]* connections"], None),
    ("", ["<td>.*calls/s, p50 .*, p99 "], None),
    ("&0.001", ["calls/s, p50"], "test.first"),
    ("test.first", ["test.first"], "test.second"),
    ("no%20such%20word", ["[^0-9]0 of [0-9]* connections"], "<td>")],
    ids=["script runs", "rates are shown", "rate filters", "search narrows", "nothing is found"])
def test_page(page, search, shown, hidden):
    """In a real browser, headless Chromium: the script runs, the search narrows the table."""
    text = page(search)
    for pattern in shown:
        assert re.search(pattern, text), text
    assert not hidden or hidden not in text, text
