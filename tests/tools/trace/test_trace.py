# SPDX-License-Identifier: GPL-2.0
"""`anybinder trace` shows the calls that were made, no others, and ends well."""
import functools
import json
import os
import re
import shlex
import signal
import subprocess

import pytest
from anybinder.driver import TF_CLEAR_BUF
from anybinder.process import as_user, children_of, program, until

from tracing import AIDL, PEER, caller, calls_of

# One processor: each trace patches the code of the tracepoints, and QEMU may give another processor
# the breakpoint of a patch that is over.
VM = functools.partial(pytest.mark.vm, smp=1, timeout=900)
MOUNT = "/dev/binderfs"
# The service manager asks the kernel's drivers for security contexts.
SELINUX = {"append": "security=selinux"}
TURN = pytest.mark.turn("trace")
DRIVERS = [
    "daemon",
    pytest.param(MOUNT, marks=[VM("6.12", driver="module"), TURN], id="module"),
    # The oldest kernel's own driver, without binderfs.
    pytest.param("/dev", marks=[VM("6.1", driver="stock", **SELINUX), TURN], id="stock"),
    pytest.param(MOUNT, marks=[VM("6.12", driver="ref", **SELINUX), TURN, pytest.mark.long],
                 id="ref"),
    pytest.param(MOUNT, marks=[VM("6.1", driver="module"), TURN, pytest.mark.long],
                 id="module-6.1")]
NO_DATA = "does not tell what is passed"


def test_each_call_is_shown_once(bus):
    _, text = bus.trace("--json", program=caller(7, size=500))
    calls = calls_of(text)
    assert len(calls) == 7, text
    assert len({call["id"] for call in calls}) == 7
    for call in calls:
        assert call["from"]["process"].startswith("python"), call
        assert call["to"]["process"] == "servicemanager" and call["to"]["pid"], call
        assert call["service"] == "manager", call
        assert call["interface"] == "android.os.IServiceManager", call
        assert call["code"] == 1 and call["error"] is None and not call["unfinished"], call
        assert call["size"] == 500, call
        times = [call[key] for key in ("sent_ns", "received_ns", "replied_ns", "done_ns")]
        assert times == sorted(times), call
        assert call["freed_ns"] >= call["received_ns"], call


def test_sizes_and_objects_are_those_that_were_sent(bus):
    lookup = [bus.program, "call", "manager", "1", "s16", "manager"]
    _, text = bus.trace("--json", "--code", "0x1", program=lookup)
    last = calls_of(text)[-1]
    # A header of 12 bytes and more, then a string of 7 characters.
    assert last["size"] > 30 and last["reply_size"] > 30, last
    assert last["reply_objects"] == 1 and last["objects"] == last["files"] == 0, last


def test_calls_that_are_not_wanted_are_left_out(bus):
    program = ["sh", "-c", f"{bus.program} ping manager; {shlex.join(caller(1))}"]
    for wanted, codes in ((["--code", "_PNG"], {0x5f504e47}), (["--slower-than", "9s"], set()),
                          (["--service", "nosuch"], set())):
        _, text = bus.trace("--json", *wanted, program=program)
        assert {call["code"] for call in calls_of(text)} == codes, text


def test_a_line_names_both_ends(bus):
    _, line = bus.trace(program=caller(1, size=40))
    assert " -> servicemanager[" in line, line
    assert "manager android.os.IServiceManager getService(40 B) = " in line, line
    assert line.split()[1].startswith("python"), line


def test_a_call_that_fails_has_its_error(bus):
    _, text = bus.trace("--json", "--errors", program=caller(3, device="vndbinder"))
    calls = calls_of(text)
    assert [call["error"] for call in calls] == ["DEAD_REPLY"] * 3, text
    if not bus.is_kernel:
        assert {call["errno"] for call in calls} == {22}, text


def test_the_summary_counts(bus):
    _, text = bus.trace("--summary", "--json", program=caller(20))
    summary = json.loads(text[text.index("{"):])
    row, = summary["methods"]
    assert row["calls"] == 20 and row["errors"] == 0, row
    assert 0 < row["p50_ns"] <= row["p99_ns"] <= row["max_ns"], row
    assert summary["lost_events"] == 0, summary


def test_the_summary_has_rows_of_what_is_wanted(bus, scratch):
    file = f"{scratch}/recording"
    with bus.peer("one.service"), bus.peer("other.service"):
        call = f"{bus.program} call %s 1 i32 1 i32 1"
        program = ["sh", "-c", f"{call % 'one.service'}; {call % 'other.service'}"]
        _, text = bus.trace("--quiet", "--record", file, program=program)
        assert " -> " not in text, text

    def rows(*by):
        done = bus.tool("trace", "--from", file, "--json", "--summary", *by)
        return {(row["target"], row["code"]): row["calls"]
                for row in json.loads(done.stdout)["methods"]}

    assert {row[0] for row in rows("--by", "caller")} == {"anybinder"}
    assert 2 in rows().values(), "both have one interface"
    apart = rows("--by", "method")
    assert apart[("one.service", 1)] == apart[("other.service", 1)] == 1, apart
    assert rows("--by", "service")[("one.service", 0)] >= 2


def test_a_recording_shows_the_same(bus, scratch):
    file = f"{scratch}/recording"
    wanted = "--json", "--process", "python"
    _, live = bus.trace(*wanted, "--record", file, program=caller(5))
    again = bus.tool("trace", "--from", file, *wanted)
    assert again.returncode == 0, again
    assert calls_of(again.stdout) == calls_of(live) and len(calls_of(live)) == 5
    own = [call for call in calls_of(bus.tool("trace", "--from", file, "--json").stdout)
           if "anybinder" in (call["from"]["process"], call["to"]["process"])]
    assert not own, own
    size = os.path.getsize(file)
    with open(file, "r+b") as cut:
        cut.truncate(size - 2)
    done = bus.tool("trace", "--from", file, *wanted)
    assert done.returncode == 1 and "is cut short" in done.stderr, done
    done = bus.tool("trace", "--from", "/dev/null")
    assert done.returncode == 1 and "is not a recording" in done.stderr, done
    with open(file, "w", encoding="ascii") as old:
        old.write('{"Start":{"anybinder_events":1,"boot_offset_ns":0}}\n{"End":{}}\n')
    done = bus.tool("trace", "--from", file)
    assert done.returncode == 1 and "recorded by another version" in done.stderr, done


@pytest.mark.usefixtures("daemon_only")
def test_what_is_missing_is_said_by_the_exit_status(bus, scratch):
    file = f"{scratch}/recording"
    with bus.started("trace", "--summary", "--record", file, stderr=subprocess.PIPE) as tracer:
        until(lambda: os.path.exists(file))
        reader, = children_of(tracer.pid)
        os.kill(reader, signal.SIGSTOP)
        # More events than the daemon keeps for a reader.
        assert bus.tool("ping", "manager", "--count", "40000", "--quiet").returncode == 0
        os.kill(reader, signal.SIGCONT)
        until(lambda: os.path.getsize(file) > 100000)
        tracer.send_signal(signal.SIGINT)
        _, text = tracer.communicate(timeout=120)
    assert tracer.returncode == 1 and "events are missing" in text, text
    done = bus.tool("trace", "--from", file, "--summary")
    assert done.returncode == 1 and "events are missing" in done.stderr, done


@pytest.mark.usefixtures("daemon_only")
def test_it_lets_others_go_first_and_keeps_their_names(bus):
    with bus.started("trace", "--json", stderr=None) as tracer:
        if not subprocess.run(shlex.split("chrt -i 0 chrt -o 0 true"), check=False).returncode:
            until(lambda: os.SCHED_IDLE in map(os.sched_getscheduler, children_of(tracer.pid)))
            # The thread that reads the events goes before others.
            assert -10 in [os.getpriority(os.PRIO_PROCESS, int(thread))
                           for pid in children_of(tracer.pid)
                           for thread in os.listdir(f"/proc/{pid}/task")]
        # More than a pipe holds: nothing is shown until it is read.
        bus.tool("ping", "manager", "--count", "5000", "--quiet")
        bus.execute(*caller(1))
        tracer.send_signal(signal.SIGINT)
        last = json.loads(tracer.stdout.readlines()[-1])
    assert last["code"] == 1 and last["from"]["process"].startswith("python"), last


def signal_all(tracer, number):
    """Signals a trace and the process that does its work."""
    for pid in (tracer.pid, *children_of(tracer.pid)):
        os.kill(pid, number)


@pytest.mark.usefixtures("daemon_only")
def test_a_caller_that_has_ended_has_its_name(bus, scratch):
    file = f"{scratch}/recording"
    with bus.started("trace", "--json", "--record", file, stderr=None) as tracer:
        until(lambda: os.path.exists(file))
        # It sees no caller alive.
        signal_all(tracer, signal.SIGSTOP)
        bus.execute(*caller(1))
        signal_all(tracer, signal.SIGCONT)
        tracer.send_signal(signal.SIGINT)
        live = tracer.stdout.read()
    for text in live, bus.tool("trace", "--json", "--from", file).stdout:
        call, = [call for call in calls_of(text) if call["code"] == 1]
        assert call["from"]["process"].startswith("python"), call
    processes = json.loads(bus.tool("graph", "--json", "--from", file).stdout)["processes"]
    assert any(one["command"].startswith("python") for one in processes), processes


def test_calls_that_began_before_are_told_from_others(bus, scratch):
    file = f"{scratch}/recording"
    with bus.peer() as service:
        service.send_signal(signal.SIGSTOP)
        # The second one waits for its turn, if not both do.
        for _ in range(2):
            bus.tool("call", "--oneway", "--interface", "anybinder.test.IPeer", PEER, "8", "i32",
                     "1")
        with bus.started("trace", "--json", "--record", file, stderr=None) as tracer:
            until(lambda: os.path.exists(file))
            service.send_signal(signal.SIGCONT)
            posted = "call", "--aidl", AIDL, PEER, "posted"
            until(lambda: bus.tool(*posted).stdout.count("1") == 2)
            tracer.send_signal(signal.SIGINT)
            calls = calls_of(tracer.stdout.read())
    posts = [call for call in calls if call["code"] == 8 and call["service"] == PEER]
    assert 1 <= len(posts) <= 2, calls
    assert {(call["oneway"], call["begun_before"], call["unfinished"]) for call in posts} == \
        {(True, True, False)}, posts
    assert not any(call["begun_before"] for call in calls if call["code"] != 8), calls
    summary = json.loads(bus.tool("trace", "--from", file, "--summary", "--json").stdout)
    row, = [row for row in summary["methods"] if row["code"] == 8]
    assert row["calls"] == row["begun_before"] == len(posts) and row["p50_ns"] > 0, row
    assert ", begun before the trace\n" in bus.tool("trace", "--from", file).stdout


@pytest.mark.usefixtures("daemon_only")
def test_no_call_is_missing_however_slow_its_reader_is(bus, scratch):
    file = f"{scratch}/recording"
    # Nobody reads what is printed until all calls are made.
    with bus.started("trace", "--json", "--record", file, stderr=None) as tracer:
        until(lambda: os.path.exists(file))
        assert bus.tool("ping", "manager", "--count", "20000", "--quiet").returncode == 0
        tracer.send_signal(signal.SIGINT)
        count = sum('"code":1599098439' in line for line in tracer.stdout)
    assert tracer.returncode == 0 and count >= 20000, (tracer.returncode, count)
    size = os.path.getsize(file)
    assert size < 150 * count, size


def test_a_perfetto_trace_is_written(bus, scratch):
    file = f"{scratch}/perfetto"
    bus.trace("--perfetto", file, program=caller(3))
    with open(file, "rb") as trace_file:
        data = trace_file.read()
    # A trace is a sequence of packets, each a field 1 with a length.
    at = packets = 0
    while at < len(data):
        assert data[at] == 0x0A, at
        length = re.compile(rb"[\x80-\xff]*[\0-\x7f]").match(data, at + 1)
        size = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(length[0]))
        at, packets = length.end() + size, packets + 1
    assert at == len(data) and packets > 2, packets
    assert b"servicemanager" in data and (bus.is_kernel or b"queued" in data)


def test_a_service_that_is_new_has_its_name(bus):
    steps = f"""
        {program("client-tests")} --mount {bus.mount} serve --name {PEER} --max-threads 2 &
        service=$!
        {bus.program} --timeout 60 wait {PEER}
        {bus.program} call --aidl {AIDL} {PEER} add 1 2
        sleep 3  # The tracer asks the service for its interface meanwhile.
        kill $service; wait"""
    for _ in range(2):  # The second one replaces the first one.
        _, text = bus.trace("--json", program=["sh", "-c", steps])
        calls = [call for call in calls_of(text) if call["service"] == PEER]
        assert {call["interface"] for call in calls} == {"anybinder.test.IPeer"}, text
        assert {call["to"]["process"] for call in calls} == {"client-tests"}, text


def test_a_service_that_hangs_does_not_hinder(bus):
    with bus.peer() as service:
        service.send_signal(signal.SIGSTOP)
        with bus.started("call", PEER, "1", "i32", "1", "i32", "2"):
            _, text = bus.trace("--json", program=caller(3))
        service.send_signal(signal.SIGCONT)
    assert len([call for call in calls_of(text) if call["service"] == "manager"]) >= 3, text


def said(text):
    """The lines that say what is passed, without those about the descriptor."""
    lines = [line.strip() for line in text.splitlines() if line.startswith(14 * " ")]
    return [line for line in lines if not line.startswith("getInterfaceDescriptor()")]


def test_calls_stand_below_those_that_they_serve(bus):
    wanted = "--interface", "IPeer", "--code", "7", "--aidl", AIDL
    with bus.peer(), bus.peer(PEER + "2"):
        program = bus.calls_of_peer(("bounce", PEER, PEER + "2", "3"))
        _, text = bus.trace(*wanted, program=program)
        _, documents = bus.trace("--json", *wanted, program=program)
        _, summary = bus.trace("--json", "--summary", *wanted, program=program)
    found = calls_of(documents)
    assert len(found) == 4 and {call["method"] for call in found} == {"bounce"}, documents
    by_id = {call["id"]: call for call in found}
    assert sum(call["parent"] in by_id for call in found) == 3, documents
    lines = [line for line in text.splitlines() if " IPeer" in line.replace(".IPeer", " IPeer")]
    depths = [re.match(r" *[0-9.]+ ( *)", line).group(1).count("  ") for line in lines]
    assert depths == [0, 1, 2, 3], text
    assert all(" bounce(" in line for line in lines), text
    assert [" of its own" in line for line in lines] == [True] * 3 + [False], text
    row, = json.loads(summary[summary.index("{"):])["methods"]
    assert (row["calls"], row["interface"], row["method"]) == (4, "anybinder.test.IPeer", "bounce")


def test_what_another_thread_does_for_a_call_stands_below_it(bus):
    wanted = "--interface", "IPeer", "--aidl", AIDL
    with bus.peer(), bus.peer(PEER + "2"):
        program = bus.calls_of_peer(("addByThread", PEER + "2", "3", "4"), ("add", "1", "2"))
        _, text = bus.trace(*wanted, program=program)
        _, documents = bus.trace("--json", *wanted, program=program)
    lines = [line for line in text.splitlines() if " add" in line]
    assert [line.endswith(", by another thread") for line in lines] == [False, True, False], text
    found = [call for call in calls_of(documents) if (call["method"] or "").startswith("add")]
    outer, inner, last = sorted(found, key=lambda call: call["sent_ns"])
    assert (inner["parent"], inner["by_other_thread"]) == (outer["id"], True), documents
    assert (last["parent"], last["by_other_thread"]) == (None, False), documents


@pytest.mark.usefixtures("daemon_only")
def test_a_service_that_has_died_is_named(bus, scratch):
    with bus.peer() as service:
        # It has the handle, and calls when the service is dead.
        steps = f"""
            {bus.program} ping {PEER} --count 1000000 >{scratch}/answers & ping=$!
            until [ -s {scratch}/answers ]; do sleep 0.1; done
            kill -STOP $ping; sleep 0.5
            kill -KILL {service.pid}; kill -CONT $ping; wait $ping"""
        _, text = bus.trace("--json", "--errors", program=["sh", "-c", steps], status=7)
    failed = [call for call in calls_of(text) if call["error"] == "DEAD_REPLY"]
    assert failed and {call["service"] for call in failed} == {PEER}, text


def test_one_way_calls_that_are_queued_are_not_fast(bus):
    with bus.peer() as service:
        service.send_signal(signal.SIGSTOP)
        post = [bus.program, "call", "--oneway", "--interface", "anybinder.test.IPeer", PEER, "8",
                "i32", "1"]
        _, text = bus.trace("--summary", "--json", "--code", "8", program=post)
        service.send_signal(signal.SIGCONT)
    row, = json.loads(text[text.index("{"):])["methods"]
    assert (row["calls"], row["unfinished"], row["p50_ns"]) == (1, 1, None), row
    assert row["oldest_ns"] > 0, row


RECORD = {"id": 7, "big": 1 << 40, "ratio": 0.5, "flag": True, "name": "n", "blob": "hex:0102",
          "words": ["a", "b"], "object": None, "file": None}
RECORD_LINE = ('{id: 7, big: 1099511627776, ratio: 0.5, flag: true, name: "n", blob: "hex:0102", '
               'words: ["a", "b"], object: null, file: null}')


def test_what_is_passed_is_written_with_its_types(bus, scratch):
    with open(f"{scratch}/file", "w", encoding="ascii") as file:
        file.write("contents")
    expected = {
        ("add", "2", "40"): "add(a: 2, b: 40) = 42",
        ("echo", 'a "b"'): r'echo(text: "a \"b\"") = "a \"b\""',
        ("reverse", "hex:010203"): 'reverse(data: "hex:010203") = "hex:030201"',
        ("post", "5"): "post(value: 5)",
        ("posted",): "posted() = [5]",
        ("openGate",): "openGate() = void",
        ("echoRecord", json.dumps(RECORD)): f"echoRecord(record: {RECORD_LINE}) = {RECORD_LINE}",
        ("echoBinder", "manager"): "echoBinder(binder: handle 0 (manager)) = handle 0 (manager)",
        ("echoBinder", PEER): re.compile(
            rf"echoBinder\(binder: binder 0x[0-9a-f]+ \({PEER}\)\) = handle \d+ \({PEER}\)"),
        ("makeCounter",): re.compile(r"makeCounter\(\) = handle \d+ \(object \d+\)"),
        ("readFile", f"{scratch}/file"): re.compile(r'readFile\(file: fd \d+\) = "contents"'),
        ("throwException", "2", "why"): re.compile(
            r'throwException\(index: 2, message: "why"\) = exception -\d+ \(.+\): why'),
        ("throwServiceSpecific", "7"):
            "throwServiceSpecific(code: 7) = exception -8 (service specific, code 7): as asked",
        ("fail", "--", "-38"): "fail(status: -38) = status -38 (InvalidOperation)",
        ("exitNow", "0"): "exitNow(code: 0) = DEAD_REPLY",
    }
    with bus.peer():
        _, text = bus.trace("--payload", "--aidl", AIDL, "--service", PEER,
                            program=bus.calls_of_peer(*expected))
    if not bus.tells("binder_data"):
        assert NO_DATA in text and f" {PEER} " in text, text
        # The methods are known all the same.
        assert said(text)[0] == "add(?) = ?", text
        return
    # Without the dumps of standard calls.
    found = [line for line in said(text) if not line.startswith(("reply: ", "0000 "))]
    assert len(found) == len(expected), text
    for line, wanted in zip(found, expected.values()):
        if isinstance(wanted, str):
            assert line == wanted, (line, wanted)
        else:
            assert wanted.fullmatch(line), (line, wanted)


def test_what_is_known_needs_no_types(bus):
    """Methods of the service manager by the level that the arguments tell, and standard calls."""
    program = ["sh", "-c", f"{bus.program} check nosuch; {bus.program} ping manager"]
    _, text = bus.trace("--json", "--payload=all", program=program)
    methods = {call["code"]: call["method"] for call in calls_of(text)
               if call["interface"] == "android.os.IServiceManager"}
    assert methods[0x5f504e47] == "ping", text
    names = set(methods.values())
    if not bus.tells("binder_data"):
        assert "getService2/checkService" in names or "getService" in names, text
        return
    _, text = bus.trace("--payload=all", program=[bus.program, "check", "nosuch"], status=6)
    assert any(line.startswith('getService2(name: "nosuch") = {') for line in said(text)), text


def test_what_is_too_long_is_cut(bus):
    with bus.peer():
        program = bus.calls_of_peer(("fill", "3000", "7"), ("echo", "x" * 3000))
        found = [said(bus.trace("--payload", "--aidl", AIDL, "--service", PEER, *arguments,
                            program=program)[1])
                 for arguments in ([], ["--payload-bytes", "12"], ["--payload-bytes", "99999"])]
    if not bus.tells("binder_data"):
        return
    # A reply: an exception, a length, the bytes. A header of 60 bytes, a length, characters.
    for lines, size in zip(found, (1024, 12, 1024)):
        fill, echo = lines
        seven, given = "07" * (size - 8), min(size, 1024 - 60)
        assert fill == f'fill(size: 3000, value: 7) = "hex:{seven}" ... {3008 - size} B more', fill
        half = "x" * ((given - 4) // 2)
        assert f'echo(text: "{half}" ... {6008 - given} B more) = "' in echo, echo


def test_without_types_it_is_dumped(bus):
    arguments = "--payload", "--service", "manager"
    _, text = bus.trace(*arguments, program=caller(1, size=40))
    if not bus.tells("binder_data"):
        assert NO_DATA in text and not said(text), text
        return
    found = said(text)
    assert found[:5] == ["request of android.os.IServiceManager: 40 B",
                         "0000  " + "78 " * 16 + " " + 16 * "x", "*",
                         f"0020  {'78 ' * 8:<47}  {8 * 'x'}",
                         "reply: status -2147483647 (BadType)"], text
    with bus.peer():
        methods = bus.json("interface", PEER, "--aidl", AIDL)["methods"]
        code = next(str(one["code"]) for one in methods
                    if one["signature"].startswith("echoBinder("))
        program = [bus.program, "call", PEER, code, "handle", "of", "manager"]
        _, text = bus.trace("--payload", "--service", PEER, "--code", code, program=program)
    found = said(text)[-20:]
    assert any(line.startswith("request of anybinder.test.IPeer: ") for line in found), text
    assert any(line.endswith("  handle 0 (manager)") for line in found), text


def test_what_has_other_types_is_dumped(bus):
    with bus.peer():
        program = [bus.program, "call", PEER, "1", "i32", "1", "i32", "2", "i32", "3"]
        _, text = bus.trace("--payload", "--aidl", AIDL, "--service", PEER, "--code", "1",
                            program=["sh", "-c", f"{shlex.join(program)}; true"])
    if bus.tells("binder_data"):
        assert "add(?) = " in text, text
        assert "12 B, does not fit add of anybinder.test.IPeer: 4 bytes are left over" in text, text


def test_data_that_is_to_be_cleared_is_not_shown(bus):
    program = caller(1, size=40, flags=TF_CLEAR_BUF)
    _, text = bus.trace("--payload", "--service", "manager", program=program)
    expected = "request of android.os.IServiceManager: not shown: to be cleared after use"
    assert said(text)[0] == expected, text
    assert "78 78" not in text, text
    assert text.count("--payload=all") == 1, text


def test_root_sees_data_that_is_to_be_cleared_if_it_asks(bus, scratch):
    if not bus.tells("binder_data"):
        return
    file = f"{scratch}/recording"
    wanted = "--process", "python", "--code", "1"
    program = caller(2, size=40, flags=TF_CLEAR_BUF)
    _, text = bus.trace("--payload=all", *wanted, "--record", file, program=program)
    expected = ["request of android.os.IServiceManager: 40 B",
                "0000  " + "78 " * 16 + " " + 16 * "x"]
    assert said(text)[:2] == expected, text
    assert "not shown" not in text and "--payload=all" not in text, text
    # A recording has it, too, and hides it from those who did not ask.
    assert said(bus.tool("trace", "--from", file, *wanted, "--payload=all").stdout)[:2] == expected
    again = bus.tool("trace", "--from", file, *wanted, "--payload")
    assert "78 78" not in again.stdout and again.stderr.count("--payload=all") == 1, again
    for which, data, missing in ("", "", 40), ("=all", 40 * "78", 0):
        again = bus.tool("trace", "--from", file, *wanted, "--json", f"--payload{which}")
        requests = [call["request"] for call in calls_of(again.stdout)]
        found = {(one["data"], one["missing"], one["sensitive"]) for one in requests}
        assert found == {(data, missing, not data)}, again


@pytest.mark.usefixtures("daemon_only")
def test_root_of_a_container_is_not_told(bus):
    drop = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace",
            bus.program, "trace"]
    for arguments, status in (["--payload"], 8), (["--payload=all"], 8), ([], 0):
        done = bus.execute(*drop, *arguments, "--seconds", "1")
        assert done.returncode == status, done
        assert ("CAP_SYS_PTRACE" in done.stderr) == bool(status), done


def test_documents_and_recordings_have_the_data(bus, scratch):
    if not bus.tells("binder_data"):
        return
    file = f"{scratch}/recording"
    wanted = "--service", PEER, "--code", "1"
    typed = "--payload", "--aidl", AIDL
    with bus.peer():
        program = bus.calls_of_peer(("add", "2", "40"))
        _, text = bus.trace("--json", *wanted, *typed, "--record", file, program=program)
        call, = calls_of(text)
        bus.trace(*wanted, "--record", f"{scratch}/without", program=program)
    assert call["method"] == "add" and call["request"]["arguments"] == {"a": 2, "b": 40}, call
    assert call["request"]["interface"] == "anybinder.test.IPeer", call
    assert call["request"]["data"].endswith("0200000028000000"), call
    assert call["reply"]["result"] == 42 and call["reply"]["missing"] == 0, call
    again = bus.tool("trace", "--from", file, "--json", *wanted, *typed)
    assert calls_of(again.stdout) == [call], again
    again = bus.tool("trace", "--from", file, *wanted, *typed)
    assert said(again.stdout) == ["add(a: 2, b: 40) = 42"], again
    assert not said(bus.tool("trace", "--from", file, *wanted).stdout)
    # The data is in a recording only if it was asked for.
    again = bus.tool("trace", "--from", f"{scratch}/without", *wanted, "--payload")
    assert "The recording has no data" in again.stderr, again


def test_it_ends_as_its_program_does(bus):
    assert bus.trace(program=["sh", "-c", "echo hello; exit 7"], status=7)[0] == "hello\n"
    bus.trace(program=["sh", "-c", "kill -KILL $$"], status=137)
    assert "/nonexistent" in bus.trace(program=["/nonexistent"], status=127)[1]


def test_it_ends_while_calls_go_on(bus):
    with bus.flood(), bus.flood(), bus.flood():
        done = bus.tool("trace", "--summary", "--json", "--seconds", "1")
    summary = json.loads(done.stdout)
    assert summary["methods"] and done.returncode == (summary["lost_events"] > 0), done


def test_a_device_that_is_none_is_named(bus):
    done = bus.tool("trace", "--device", "nothing", "--seconds", "1")
    assert done.returncode and "There is no device" in done.stderr, done


def test_an_interrupt_ends_it_and_nothing_is_left(bus):
    with bus.started("trace", "--json", stderr=None) as process:
        with bus.flood():
            assert json.loads(process.stdout.readline())["id"]
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait() in (0, 1)  # 1: events are missing
    assert not bus.instances()


def test_what_a_killed_trace_leaves_is_removed_by_the_next(bus):
    with bus.flood():
        with bus.started("trace", "--json", stderr=None) as killed:
            assert killed.stdout.readline()
        left = bus.instances()
        assert len(left) == (1 if bus.is_kernel else 0), left
        # One that is in use stays, and goes on.
        with bus.started("trace", "--json", stderr=None) as used:
            assert used.stdout.readline()
            done = bus.tool("trace", "--seconds", "1", "--summary")
            assert done.returncode in (0, 1), done
            now = bus.instances()
            assert len(now) == len(left) and (not now or now != left), (left, now)
            used.send_signal(signal.SIGINT)
            used.stdout.read()
            assert used.wait() in (0, 1)
    assert not bus.instances()


def test_another_user_is_told_what_is_missing(bus, reachable):
    done = bus.execute(*as_user(12345, reachable, "--state-dir", "/nonexistent", "trace"),
                       environment={"HOME": "/"}, cwd="/")
    assert done.returncode == 8 and "root" in done.stderr, done
