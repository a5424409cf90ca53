# SPDX-License-Identifier: Apache-2.0
"""`anybinder graph --serve`: the page as it changes, and who may read it."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
from anybinder.process import PATIENCE_S, until
from anybinder.service import service

from peers import AIDL, contains


@pytest.fixture(name="served")
def fixture_served(bus):
    """The address of the page, as urllib takes it apart."""
    if bus.is_kernel:
        pytest.skip("a kernel's events are read by tests/tools/trace")
    process = bus.command("graph", "--serve", "127.0.0.1:0", "--aidl", AIDL)
    served = urllib.parse.urlsplit(process.stdout.readline().strip())
    yield served
    process.send_signal(signal.SIGINT)
    process.wait(timeout=PATIENCE_S)


def graph(served):
    address = served._replace(path="/graph").geturl()
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def ask(served, request):
    """What is answered to a request of these bytes."""
    with socket.create_connection((served.hostname, served.port), timeout=PATIENCE_S) as peer:
        with contextlib.suppress(ConnectionError):
            peer.sendall(request)
        return peer.makefile("rb").read().decode()


def request_of(served, *, method="GET", host=None, query=None, path="/", more=""):
    query = served.query if query is None else query
    host = served.netloc if host is None else host
    return f"{method} {path}?{query} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def test_who_may_not_read_the_page_gets_a_status(served):
    assert served.hostname == "127.0.0.1" and re.fullmatch("token=[0-9a-f]{32}", served.query)
    wrong = served.query[:-1] + ("0" if served.query[-1] != "0" else "1")
    port = served.port
    cases = [
        ("200", {}), ("200", {"host": f"localhost:{port}"}), ("200", {"path": "/graph"}),
        ("403", {"query": ""}), ("403", {"query": wrong}), ("403", {"query": "token="}),
        ("403", {"query": "", "path": "/graph"}),
        ("421", {"host": f"evil.example:{port}"}), ("421", {"host": "127.0.0.1"}),
        ("405", {"method": "POST", "more": "Content-Length: 3\r\n"}), ("405", {"method": "HEAD"}),
        ("405", {"method": "OPTIONS"}), ("404", {"path": "/etc/passwd"}),
        ("400", {"more": f"Host: 127.0.0.1:{port}\r\n"}),
        ("431", {"more": "X: " + "x" * 100_000 + "\r\n"})]
    for status, how in cases:
        answer = ask(served, request_of(served, **how))
        assert answer.startswith(f"HTTP/1.1 {status} "), (how, answer[:200])
        assert status == "200" or served.query not in answer
        contains(answer, "Cache-Control: no-store", "Referrer-Policy: no-referrer",
                 "X-Frame-Options: DENY")
    for request in b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\xff\xfe / x\r\n\r\n":
        assert ask(served, request).startswith("HTTP/1.1 400 "), request


def test_slow_readers_hold_nobody_up(served):
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection((served.hostname, served.port)))
                for _ in range(20)]
        for peer in slow:
            peer.sendall(b"GET / HT")
        assert graph(served)["data"]["processes"]
        slow[0].settimeout(PATIENCE_S)
        assert slow[0].recv(100).startswith(b"HTTP/1.1 408 ")
        # More than are served at once are told so, and those that come later are served again.
        many = [stack.enter_context(socket.create_connection((served.hostname, served.port)))
                for _ in range(60)]
        many[-1].settimeout(PATIENCE_S)
        assert many[-1].recv(100).startswith(b"HTTP/1.1 503 ")

    def is_served():
        with contextlib.suppress(urllib.error.HTTPError, ConnectionError):
            return graph(served)["data"]["processes"]
        return None

    until(is_served)


def crash(bus, name, count, until_seen=lambda: None):
    """A service that is started so often, and seen each time, and dies."""
    for _ in range(count):
        with service(bus.path(), name, "test.ICrashing", {}):
            bus.wait_for(name)
            until_seen()


def boxes(served, name):
    """The processes of a service, with their marks."""
    processes = graph(served)["data"]["processes"]
    found = [one for one in processes if one["services"] == [name]]
    return [(one["pid"], one["restarts"], [mark["mark"] for mark in one["wrong"]])
            for one in found]


def test_it_has_the_marks_of_top(bus, served):
    name = "test.stuck"
    with bus.waiting_call(name) as waited_for:
        until(lambda: any("HANGING" in mark for mark in graph(served)["data"]["marks"]))
        contains(graph(served)["picture"], "HANGING", 'class="process marked"')
        edges = graph(served)["data"]["edges"]
        assert [one["waiting"] for one in edges if one["to"] == waited_for.pid] == [True], edges


def test_a_service_that_crashes_is_one_box(bus, served):
    name = "anybinder.test.crashing"

    def is_there():
        return [pid for pid, _, marks in boxes(served, name) if "GONE" not in marks]

    crash(bus, name, 3, lambda: until(is_there))
    # It stays for a while when it is gone,
    until(lambda: [marks for _, _, marks in boxes(served, name)] == [["GONE"]])
    with service(bus.path(), name, "test.ICrashing", {}) as last:
        # and has its place again when it is back.
        until(lambda: boxes(served, name) == [(last.pid, 3, ["RESTARTS"])])
        contains(graph(served)["picture"], "RESTARTS 3", name)


@pytest.mark.usefixtures("daemon_only")
def test_a_recording_has_one_box_too(bus):
    file, name = os.path.join(bus.scratch, "recording"), "anybinder.test.recorded"
    tracer = bus.command("trace", "--record", file, "--quiet")
    until(lambda: os.path.exists(file))
    seen = []

    def restarts():
        # Also of a recording that goes on, which has no end yet.
        done = bus.execute(bus.program, "--json", "graph", "--from", file)
        processes = json.loads(done.stdout)["processes"] if done.stdout else []
        return [one["restarts"] for one in processes if one["services"] == [name]]

    def see():
        bus.run("ping", name)
        # Until the tracer has been told the name of this one, too.
        until(lambda: restarts() == [len(seen) or None])
        seen.append(name)

    crash(bus, name, 3, see)
    tracer.send_signal(signal.SIGINT)
    tracer.wait(timeout=PATIENCE_S)
    assert restarts() == [2]


@pytest.mark.long
def test_a_browser_shows_what_changes(bus, served, tmp_path):
    """In a real browser, headless Chromium, which has the page open while a service crashes."""
    if not shutil.which("chromium"):
        pytest.skip("no chromium: apt-get install chromium")
    name = "anybinder.test.browsed"
    with subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={tmp_path}", "--remote-debugging-port=0", served.geturl()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True) as browser:
        try:
            tab = Tab(browser)
            until(lambda: tab.text("#live").startswith("live, "), 2 * PATIENCE_S)
            crash(bus, name, 2, lambda: until(lambda: name in tab.text("#picture")))
            until(lambda: "GONE" in tab.text("#marks"))
            with service(bus.path(), name, "test.ICrashing", {}):
                until(lambda: "RESTARTS 2" in tab.text("#picture") and
                      "GONE" not in tab.text("#marks"))
            bus.stop(next(one for one in bus.running if "--serve" in one.args))
            until(lambda: tab.text("#live").startswith("not live: "), 2 * PATIENCE_S)
        finally:
            browser.kill()


class Tab:
    """The page in a browser, asked by the protocol of its debugger over a WebSocket."""

    def __init__(self, browser):
        line = next(line for line in browser.stderr if "DevTools listening on" in line)
        port = urllib.parse.urlsplit(line.split()[-1]).port
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE_S) as reply:
            pages = [one for one in json.load(reply) if one["type"] == "page"]
        path = urllib.parse.urlsplit(pages[0]["webSocketDebuggerUrl"]).path
        self.peer = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.peer.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                          "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
        self.file = self.peer.makefile("rb")
        while self.file.readline().strip():
            pass

    def text(self, place):
        """The text of an element."""
        expression = f"document.querySelector('{place}')?.textContent ?? ''"
        asked = json.dumps({"id": 1, "method": "Runtime.evaluate",
                            "params": {"expression": expression}}).encode()
        # One frame of text, masked with zeros.
        self.peer.sendall(b"\x81" + bytes([0x80 | 126]) + len(asked).to_bytes(2) + bytes(4) + asked)
        size = self.file.read(2)[1]
        if size >= 126:
            size = int.from_bytes(self.file.read(2 if size == 126 else 8))
        return json.loads(self.file.read(size))["result"]["result"]["value"]
