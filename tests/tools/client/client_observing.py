# SPDX-License-Identifier: Apache-2.0
"""The tests of `anybinder top` and `anybinder graph`."""
import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
from xml.etree import ElementTree

from client_bench import AIDL, PATIENCE_S, PEER, TOP, Skipped, case, contains, equal


@contextlib.contextmanager
def waiting_call(bench, name):
    """A client waits for a service of its own, and both end."""
    service = bench.serve(name)
    client = bench.start(f"{bench.programs}/anybinder", "call", "--aidl", AIDL, name,
                         "maxConcurrent", "60000")
    try:
        yield service
    finally:
        bench.stop(client)
        bench.stop(service)


@case
def graph_of_calls(bench):
    name = "test.waited_for"
    with waiting_call(bench, name) as service:
        def waits():
            return [edge for edge in bench.json("graph")["edges"]
                    if edge["to"] == service.pid and edge["waiting"]]

        bench.wait_for(waits)
        edge = waits()[0]
        graph = bench.json("graph")
        node = next(one for one in graph["processes"] if name in one["services"])
        equal((node["pid"], edge["services"]), (service.pid, [name]))
        code = bench.code("maxConcurrent")
        equal((edge["waiting"][0]["code"], edge["waiting"][0]["service"]), (code, name))
        assert all("manager" not in one["services"] for one in graph["processes"]), graph
        contains(bench.run("graph"), f"-> {service.pid} client-tests ({name})", "waits",
                 f"code {code} of {name}")
        contains(bench.run("graph", "--manager"), "(manager)")
        dot = bench.run("graph", "--format", "dot")
        contains(dot, "digraph", f"p{edge['from']} -> p{service.pid}", "color=red")
        svg = os.path.join(bench.scratch, "graph.svg")
        bench.run("graph", "--output", svg)
        elements = list(ElementTree.parse(svg).iter())
        boxes = [one.get("data-pid") for one in elements]
        assert {str(edge["from"]), str(service.pid)} <= set(boxes), boxes
        labels = "\n".join("".join(one.itertext()).strip() for one in elements)
        assert re.search(r"^1 object(, \d+ calls?)?, 1 waiting$", labels, re.M), labels
        page = bench.run("graph", "--format", "html", "--only", name)
        contains(page, "Content-Security-Policy", "const data = {", f'data-pid="{service.pid}"')
        assert "http://" not in page.replace("http://www.w3.org/2000/svg", ""), "a link"
        contains(bench.run("graph", "--only", name, "--only", "nosuch", status=1),
                 "No process nosuch has a device open, and no service has such a name.")


@case
def graph_with_rates(bench):
    loop = bench.start(f"{bench.programs}/anybinder", "ping", PEER, "--count", "1000000", "--quiet")
    found = {}

    def is_measured():
        found.update(bench.json("graph", "--for", "1"))
        return measured()

    def measured():
        return [edge for edge in found["edges"] if edge["rate"] and edge["services"] == [PEER]]

    bench.wait_for(is_measured)
    edge = measured()[0]
    equal((found["no_rates"], edge["rate"]["errors_per_s"]), (None, 0))
    times = edge["rate"]["latency"]
    assert edge["rate"]["calls_per_s"] > 1 and 0 < times["p50_us"] <= times["p99_us"], edge
    text = bench.run("graph", "--for", "1")
    assert re.search(r"rates and latencies of \d+\.\d", text), text
    contains(text, " calls/s, p50 ")
    contains(bench.run("graph", "--for", "1", "--format", "dot"), 'label="rates and',
             " calls/s, p50 ")
    contains(bench.run("graph", "--for", "1", "--format", "svg"), "/s ")
    contains(bench.run("graph", "--for", "1", "--format", "html"), '"calls_per_s":',
             '"notes":["rates and')
    bench.stop(loop)
    equal(bench.json("graph")["measured_s"], None)
    bench.run("graph", "--for", "0", status=2)


@case
def a_recording_is_a_graph_and_a_table(bench):
    if bench.kernel:
        raise Skipped("a kernel's events are read by tests/tools/trace")
    file = os.path.join(bench.scratch, "recording")
    command = f"{bench.programs}/anybinder"
    subprocess.run([command, "trace", "--record", file, "--", command, "ping", PEER, "--count",
                    "50", "--quiet"], capture_output=True, timeout=PATIENCE_S, check=True)
    graph = bench.json("graph", "--from", file)
    edge, = [edge for edge in graph["edges"] if edge["services"] == [PEER]]
    # One more call asks for the interface.
    equal(round(edge["rate"]["calls_per_s"] * graph["measured_s"]), 51)
    assert edge["rate"]["latency"]["p50_us"] > 0, edge
    # What is not recorded is no zero.
    equal((edge["objects"], edge["recent"]), (None, None))
    equal({process["threads"] for process in graph["processes"]}, {None})
    contains(bench.run("graph", "--from", file), "a recording has no objects", f": {PEER}; ")
    contains(bench.run("graph", "--from", file, "--only", "x", status=1), "The recording has no")
    table = bench.json("top", "--from", file, "--service", PEER)
    service, process = table["services"][0], table["processes"][0]
    pings, = [one for one in service["methods"] if one["code"] == 0x5f504e47]
    equal(round(pings["calls_per_s"] * table["measured_s"]), 50)
    equal([one["pid"] for one in service["callers"]], [edge["from"]])
    equal([process[key] for key in ("threads", "references", "buffer_bytes")], [None] * 3)
    text = bench.run("top", "--from", file)
    contains(text, "a recording has no objects")
    assert re.search(rf"^ *{process['pid']} client-tests .* 0/- +- +-", text, re.M), text
    # When the first call was sent, its caller waits, and no call has ended.
    table = bench.json("top", "--from", file, "--at", "0")
    waits = [row for row in table["processes"] if row["activities"]]
    equal([(row["pid"], row["sent_per_s"]) for row in waits], [(edge["from"], 0)])
    equal(waits[0]["activities"][0]["doing"], "waits")
    contains(bench.run("top", "--from", file, "--at", "9999", status=2), "s after its first call")
    os.truncate(file, os.path.getsize(file) - 2)
    for command in "graph", "top":
        contains(bench.run(command, "--from", file, status=1), "is cut short")


@case
def top_of_processes(bench):
    name = "test.waited_for"
    with waiting_call(bench, name) as service:
        found = {}

        def hanging():
            """The clients of the service that are marked, and for what they wait."""
            marked_pids = [one["pid"] for one in found["marks"] if one["mark"] == "HANGING"]
            return [(row, one) for row in found["processes"] for one in row["activities"]
                    if row["pid"] in marked_pids and "HANGING" in row["marks"]
                    and one["doing"] == "waits" and one["with"]["service"] == name]

        def hangs():
            found.update(bench.json("top", "--interval-ms", "300", "--hanging-ms", "100"))
            return hanging()

        bench.wait_for(hangs)
        client, doing = hanging()[0]
        equal((doing["with"]["pid"], doing["with"]["code"]),
              (service.pid, bench.code("maxConcurrent")))
        row = next(one for one in found["processes"] if one["pid"] == service.pid)
        assert name in row["services"] and row["busy"] >= 1 and row["buffer_size"] > 1 << 19, row
        handled = {(one["with"]["pid"], one["tid"]) for one in row["activities"]
                   if one["doing"] == "handles"}
        assert (client["pid"], doing["with"]["tid"]) in handled, row
        only = bench.run("top", "--once", "--interval-ms", "50", "--hanging-ms", "1", "--filter",
                         str(client["pid"]))
        lines = only.splitlines()
        equal([line.split()[0] for line in lines[:2]], ["PID", str(client["pid"])])
        contains(only, f"HANGING {client['pid']} anybinder: thread", "waits", name)
        assert max(map(len, lines)) <= 80, only
        inside = bench.run("top", "--once", "--process", str(service.pid))
        contains(inside, f"service {name}", f"a call of {client['pid']} anybinder: code",
                 "waits for work")
    contains(bench.run("top", "--once", "--process", "no such", status=1), "No process no such")
    contains(bench.run("top", "--once", "--service", "no such", status=6), "No service is")
    contains(bench.run("top", status=2), "no terminal", "--once")


@case
def top_counts_calls(bench):
    loop = bench.start(f"{bench.programs}/anybinder", "ping", PEER, "--count", "1000000", "--quiet")

    def rate(name, key):
        rows = bench.json("top", "--interval-ms", "300")["processes"]
        return next((row[key] for row in rows if name in row["services"]), 0)

    bench.wait_for(lambda: rate(PEER, "received_per_s") > 10)
    bench.stop(loop)
    bench.wait_for(lambda: rate(PEER, "received_per_s") == 0)


@case
def top_has_latencies(bench):
    loop = bench.start(f"{bench.programs}/anybinder", "ping", PEER, "--count", "1000000", "--quiet")
    found = {}

    def is_measured():
        found.update(bench.json("top", "--interval-ms", "500", "--service", PEER))
        return pings()

    def pings():
        """It asks the service for its interface first."""
        return [one for one in found["services"][0]["methods"] if one["code"] == 0x5f504e47]

    bench.wait_for(is_measured)
    service = found["services"][0]
    equal((pings()[0]["is_oneway"], found["no_latencies"]), (False, None))
    assert service["calls_per_s"] > 0 and service["errors_per_s"] == 0, service
    times = service["latency"]
    assert 0 < times["p50_us"] <= times["p99_us"] <= times["max_us"] < 60e6, times
    caller = next(one for one in service["callers"] if one["calls_per_s"] > 0)
    equal((caller["command"], caller["has_handle"]), ("anybinder", True))
    process = bench.json("top", "--process", str(caller["pid"]))["processes"][0]
    assert process["made"]["p50_us"] > 0 and process["served"] is None, process
    text = bench.run("top", "--once", "--service", PEER)
    contains(text, "_PNG", f"{caller['pid']} anybinder")
    assert max(map(len, text.splitlines())) <= 80, text
    contains(bench.run("top", "--once", "--view", "services"), "SERVICE", PEER[-20:])
    bench.stop(loop)


@case
def top_without_events(bench):
    """The events are hidden, in a mount namespace."""
    hide = f"mount --bind /dev/null {bench.mount}/binder_logs/events"
    if bench.kernel:
        hide = "; ".join(f"[ ! -d {one} ] || mount -t tmpfs none {one}"
                         for one in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"])
    if os.geteuid():
        raise Skipped("not root")
    words = [f"{TOP}/tests/own-mounts", "sh", "-c", f'{hide}; exec "$@"', "sh"]
    top = [f"{bench.programs}/anybinder", "top", "--once", "--view", "services"]
    done = subprocess.run([*words, *top], capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)
    equal(done.returncode, 0)
    equal([line.startswith("no latencies: ") for line in done.stdout.splitlines()].count(True), 1)
    contains(done.stdout, PEER[-20:])


@case
def top_marks_a_circle(bench):
    flag = os.path.join(bench.scratch, "flag")
    names = ["test.circle.one", "test.circle.two"]
    script = f"{TOP}/tests/tools/servicemanager/circle_service.py"
    services = [bench.start("python3", script, f"{bench.mount}/binder", name, other, flag)
                for name, other in zip(names, reversed(names))]
    for name in names:
        bench.run("wait", name)
    clients = [bench.start(f"{bench.programs}/anybinder", "call", name, "1") for name in names]
    pids = sorted(service.pid for service in services)

    def handled():
        rows = bench.json("top", "--interval-ms", "50")
        equal([mark for mark in rows["marks"] if mark["mark"] == "CIRCLE"], [])
        return sum(row["busy"] for row in rows["processes"] if row["pid"] in pids) == 2

    bench.wait_for(handled)
    with open(flag, "w", encoding="utf-8"):
        pass

    def circles():
        marks = bench.json("top", "--interval-ms", "50")["marks"]
        return [mark for mark in marks if mark["mark"] == "CIRCLE"]

    bench.wait_for(circles)
    equal(sorted(mark["pid"] for mark in circles()), pids)
    bench.wait_for(lambda: bench.json("graph")["cycles"] == [pids])
    contains(bench.run("graph"), f"in a circle: {pids[0]} -> {pids[1]}")
    for process in clients + services:
        bench.stop(process)


def marked(bench, name):
    """The pids that top marks so."""
    marks = bench.json("top", "--interval-ms", "300", "--hanging-ms", "100")["marks"]
    return [mark["pid"] for mark in marks if mark["mark"] == name]


@case
def top_marks_no_thread(bench):
    service = bench.serve("test.few", threads=1)
    assert service.pid not in marked(bench, "NO THREAD")
    clients = [bench.start(f"{bench.programs}/anybinder", "call", "--aidl", AIDL, "test.few",
                           "maxConcurrent", "60000") for _ in range(5)]
    bench.wait_for(lambda: service.pid in marked(bench, "NO THREAD"))
    for process in clients + [service]:
        bench.stop(process)


@case
def calls_that_wait_for_a_thread_are_queued(bench):
    """Two callers of a service with one thread: each waits while the other is served."""
    service = bench.serve("test.queue", threads=1)
    call = [f"{bench.programs}/anybinder", "call", "--aidl", AIDL, "test.queue", "maxConcurrent",
            "300"]
    loop = f"while :; do {shlex.join(call)} >{os.devnull}; done"
    clients = [bench.start("sh", "-c", loop) for _ in range(4)]

    def is_queued():
        rows = bench.json("top", "--interval-ms", "2000", "--service", "test.queue")["services"]
        if rows[0]["calls_per_s"] is None:
            raise Skipped("events cannot be read here")
        # A client asks for the interface first, which waits for the thread, too.
        return any(one["queued"]["max_us"] > 100_000 for one in rows[0]["methods"]
                   if one["queued"])

    bench.wait_for(is_queued)
    for process in clients + [service]:
        bench.stop(process)


# Has the device open, under a name that would change the title of a terminal and end elements.
EVIL = "\x1b]0;x\x07<\n\"'&>"
OPEN_AS = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
device = os.open(sys.argv[1], os.O_RDWR)
print("open", flush=True)
time.sleep(9999)
"""


@case
def names_do_not_control_the_terminal(bench):
    words = [sys.executable, "-c", OPEN_AS, f"{bench.mount}/binder", EVIL]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            equal(process.stdout.readline(), "open\n")
            for command in [["ps"], ["top", "--once"], ["graph"], ["graph", "--format", "dot"],
                            ["report", "--include", "commands"]]:
                text = bench.run(*command)
                contains(text, "u001b]0;x")
                assert not set("\x1b\x07") & set(text), (command, text)
            svg = bench.run("graph", "--format", "svg")
            names = [one.text for one in ElementTree.fromstring(svg.encode()).iter()
                     if one.text and "u001b" in one.text]
            equal(len(names), 1)
            contains(names[0], EVIL.translate({27: r"\u001b", 7: r"\u0007", 10: r"\u000a"}))
            rows = [row for row in bench.json("ps") if row["pid"] == process.pid]
            equal([row["command"] for row in rows], [EVIL])
        finally:
            process.kill()


@case
def oneway_calls_that_wait_are_seen(bench):
    """One is handled, the others wait for their turn."""
    name = "test.backlog"
    service = bench.serve(name)
    for _ in range(5):
        bench.run("call", name, str(bench.code("postSlowly")), "i32", "3600000", "--oneway",
                  "--interface", "anybinder.test.IPeer")
    bench.wait_for(lambda: service.pid in marked(bench, "BACKLOG"))
    found = bench.json("top")
    row = next(one for one in found["processes"] if one["pid"] == service.pid)
    backlog = row["backlogs"][0]
    equal((backlog["calls"], backlog["service"], row["waiting"]), (4, name, 0))
    assert backlog["oldest_ms"] >= 1000 and 4 * 4 <= backlog["bytes"] < 4096, backlog
    equal(sum(one["calls"] for one in backlog["senders"]), 4)
    equal([one["doing"] for one in row["activities"]].count("oneway"), 1)
    assert row["busy"] == 1, row
    waits = f"wait for {name}"
    contains(bench.run("top", "--once", "--process", str(service.pid)),
             " handles a one-way call", "BACKLOG")
    contains(bench.run("top", "--once", "--service", name), "BACKLOG 4 one-way calls",
             "no call has ended")
    # Since when, the kernel's driver says from 6.2 on only.
    if backlog["oldest_ms"] > 1000 and not bench.kernel:
        contains(bench.run("ps"), "ONEWAY", f"BACKLOG {service.pid} client-tests: 4 one-way calls")
        contains(bench.run("graph"), "BACKLOG 4 one-way calls", waits)
    equal([one["backlogs"][0]["calls"] for one in bench.json("ps") if one["pid"] == service.pid],
          [4])
    report = bench.run("report")
    wrong = report[:report.index("== versions")]
    contains(wrong, "== what looks wrong", f"BACKLOG {service.pid}: 4 one-way calls")
    assert name not in report, wrong
    contains(bench.run("report", "--include", "services,commands"),
             f"BACKLOG {service.pid} client-tests: 4 one-way calls", waits)
    bench.stop(service)


@case
def top_marks_no_space(bench):
    """One-way calls that are handled one by one fill their half of the buffer."""
    service = bench.serve("test.full")
    large = os.path.join(bench.scratch, "large")
    with open(large, "wb") as file:
        file.truncate(101_000)
    assert service.pid not in marked(bench, "NO SPACE")
    for _ in range(5):
        bench.run("call", "test.full", str(bench.code("postSlowly")), "i32", "60000", "bytes",
                  f"@{large}", "--oneway")
    bench.wait_for(lambda: marked(bench, "NO SPACE") == [service.pid])
    bench.stop(service)


@case
def oneway_calls_to_a_stopped_service(bench):
    """They are sent without a question, until the buffer of the service is full."""
    name = "test.stopped"
    service = bench.serve(name)
    large = os.path.join(bench.scratch, "large")
    with open(large, "wb") as file:
        file.truncate(64_000)
    call = ["call", name, str(bench.code("post")), "i32", "7", "bytes", f"@{large}", "--oneway",
            "--interface", "anybinder.test.IPeer"]
    os.kill(service.pid, signal.SIGSTOP)
    try:
        for _ in range(8):
            bench.run(*call)
        contains(bench.run(*call, status=7), "no space for it in the buffer of its receiver")
        bench.wait_for(lambda: marked(bench, "NO SPACE") == [service.pid])
        bench.wait_for(lambda: marked(bench, "FROZEN") == [service.pid])
    finally:
        os.kill(service.pid, signal.SIGCONT)
    bench.wait_for(lambda: marked(bench, "NO SPACE") == [])
    bench.run(*call[:-1], "another.IPeer", "handle", "of", name, "file", large)
    equal(bench.call("add", "1", "2", name=name), "3")
    bench.stop(service)


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


@case
def many_processes(bench):
    """Processes that have the device open, and do nothing."""
    count = 100 if bench.kernel else 2000
    words = [sys.executable, "-c", OPEN_MANY, f"{bench.mount}/binder", str(count)]
    group = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        equal(group.stdout.readline(), "open\n")
        lines = bench.run("top", "--once", "--sort", "pid").splitlines()
        assert len(lines) > count and PEER in bench.run("top", "--once", "--view", "services")
        assert len(bench.run("graph").splitlines()) > count
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group.pid, signal.SIGKILL)
        group.communicate()


class Terminal:
    """A terminal, by tmux."""
    count = 0

    def __init__(self, bench, command, columns=80):
        if not shutil.which("tmux"):
            raise Skipped("no tmux")
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as err:
            raise Skipped(f"no terminal can be made: {err}") from err
        # A server takes a while to end.
        Terminal.count += 1
        self.socket = os.path.join(bench.scratch, f"tmux{Terminal.count}")
        self.run("new-session", "-d", "-x", str(columns), "-y", "24", command)

    def run(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        return done.stdout

    def screen(self):
        return self.run("capture-pane", "-p")

    def shows(self, bench, *parts):
        """Waits until all parts are on the screen."""
        try:
            bench.wait_for(lambda: all(part in self.screen() for part in parts))
        except AssertionError as err:
            raise AssertionError(f"no {parts} on the screen:\n{self.screen()}") from err

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("kill-server")


@case
def top_on_a_terminal(bench):
    command = f"{bench.programs}/anybinder top --interval-ms 200; echo ended $?; exec cat"
    with Terminal(bench, command) as terminal:
        def shows(*parts):
            terminal.shows(bench, *parts)

        shows("client-tests", "anybinder top:", "SERVED", "q quit")
        terminal.keys("/", "servicema", "Enter")
        bench.wait_for(lambda: "client-tests" not in terminal.screen())
        terminal.keys("Enter")
        shows("service manager", "thread ")
        terminal.keys("Escape", "s")
        shows("by latency")
        terminal.keys("Tab")
        shows("SERVICE ", "manager")
        terminal.keys("Enter")
        shows("METHOD", "CALLER")
        terminal.keys("q")
        # The terminal is as before.
        shows("ended 0")
        assert "q quit" not in terminal.screen(), terminal.screen()
        terminal.keys("echoed", "Enter")
        bench.wait_for(lambda: terminal.screen().count("echoed") == 2)


@case
def top_fits_the_terminal(bench):
    """Names have the room that there is, whatever the terminal can do."""
    name = "test." + "a.long.name." * 5 + "end"
    service = bench.serve(name)
    top = f"{bench.programs}/anybinder top --interval-ms 200"
    for term in ["xterm", "xterm-256color", "vt100"]:
        with Terminal(bench, f"TERM={term} {top}; exec cat", columns=140) as terminal:
            terminal.shows(bench, "SERVED", " PRI ", "client-tests", "q quit")
            terminal.keys("Tab")
            terminal.shows(bench, name, "SERVICE ")
            terminal.keys("q")
    with Terminal(bench, f"TERM=dumb {top}; echo ended $?; exec cat") as terminal:
        terminal.shows(bench, "TERM is dumb", "--once", "ended 2")
    environment = {**os.environ, "COLUMNS": "140"}
    done = subprocess.run([f"{bench.programs}/anybinder", "top", "--once", "--view", "services"],
                          env=environment, capture_output=True, text=True, check=True,
                          timeout=PATIENCE_S)
    contains(done.stdout, name)
    bench.stop(service)


@case
def top_looks_into_what_is_named(bench):
    command = f"{bench.programs}/anybinder top --service {PEER}; echo ended $?; exec cat"
    with Terminal(bench, command) as terminal:
        terminal.shows(bench, "METHOD")
        terminal.keys("q")


@case
def top_ends_with_its_terminal(bench):
    """A session that hangs up: no signal needs to arrive."""
    try:
        own, other = os.openpty()
    except OSError as err:
        raise Skipped(f"no terminal can be made: {err}") from err
    # It does not draw on a terminal without a size.
    termios.tcsetwinsize(own, (24, 80))
    top = subprocess.Popen([f"{bench.programs}/anybinder", "top"], stdin=other, stdout=other,
                           stderr=other, start_new_session=True)
    os.close(other)
    try:
        shown = b""
        # Blanks are not drawn, the cursor goes past them.
        while b"quit" not in shown:
            assert select.select([own], [], [], PATIENCE_S)[0], shown
            shown += os.read(own, 4096)
        os.close(own)
        top.wait(PATIENCE_S)
    finally:
        top.kill()
        top.wait()


@case
def top_restores_the_terminal(bench):
    """At a signal and a panic."""
    pid_file = os.path.join(bench.scratch, "top.pid")
    for end in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, "panic"]:
        variable = "ANYBINDER_TEST_PANIC=1" if end == "panic" else ""
        command = (f"sh -c 'echo $$ >{pid_file}; {variable} exec {bench.programs}/anybinder top'; "
                   "echo ended; stty -a | grep -c -- ' -echo '; exec cat")
        with Terminal(bench, command) as terminal:
            if end != "panic":
                terminal.shows(bench, "q quit")
                with open(pid_file, encoding="utf-8") as file:
                    os.kill(int(file.read()), end)
            terminal.shows(bench, "ended\n0\n")
            assert "q quit" not in terminal.screen(), terminal.screen()
