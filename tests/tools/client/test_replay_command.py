# SPDX-License-Identifier: Apache-2.0
"""`anybinder replay`: recorded calls are made again, and their replies compared."""
import json
import os
import shlex

import pytest
from anybinder.parcel import Parcel
from anybinder.service import service

from peers import AIDL, PEER, contains

TWIN = "anybinder.test.IPeer/twin"


@pytest.fixture(name="recording")
def make_recording(bus):
    """Some calls to the service."""
    if bus.is_kernel:
        pytest.skip("this driver does not tell what is passed")
    path = os.path.join(bus.scratch, "calls")
    calls = [["add", "2", "40"], ["echo", "näh"], ["pid"], ["echoBinder", PEER],
             ["callBack", "new", "7"], ["readFile", "/dev/null"], ["throwServiceSpecific", "9"]]
    lines = [shlex.join([bus.program, "call", "--aidl", AIDL, PEER, *words]) for words in calls]
    bus.run("trace", "--payload", "--record", path, "--", "sh", "-c", "; ".join([*lines, "true"]))
    return path


def test_the_same_service_answers_the_same(bus, recording):
    done = bus.execute(bus.program, "--json", "replay", recording, "--fast", "--aidl", AIDL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["calls"] == 6
    contains(done.stderr, "1 calls with objects that have no name: left out")
    contains(bus.run("replay", recording), "6 calls, 0 with another reply")


def test_another_service_answers_otherwise(bus, recording):
    bus.serve(TWIN)
    words = ["replay", recording, "--to", TWIN, "--fast"]
    done = bus.execute(bus.program, *words, "--aidl", AIDL)
    assert done.returncode == 1, done.stdout + done.stderr
    contains(done.stdout, f", pid of {TWIN}:", "- result: ", "+ result: ",
             "6 calls, 1 with another reply")
    bus.run(*words, "--aidl", AIDL, "--ignore", "result")
    contains(bus.outcome(*words)[1], "code 28 of", "words[1]")


def test_a_reply_of_another_kind_is_shown(bus, recording):
    answers = {1: Parcel().i32(-8).string("full").i32(0).i32(5), 2: -32}
    with service(bus.path(), TWIN, "anybinder.test.IPeer", answers):
        done = bus.execute(bus.program, "replay", recording, "--to", TWIN, "--fast", "--aidl", AIDL)
    assert done.returncode == 1
    contains(done.stdout, "- result: 42", "service specific, code 5", "status DeadObject")


def test_recordings_that_cannot_be_replayed(bus, recording):
    with open(recording, "rb") as file:
        data = file.read()
    cut, newer = (os.path.join(bus.scratch, name) for name in ("cut", "newer"))
    with open(cut, "wb") as file:
        file.write(data[:-9])
    with open(newer, "wb") as file:
        file.write(b"anybinder events 9\n" + data)
    contains(bus.run("replay", newer, status=1), "another version of anybinder")
    contains(bus.run("replay", "/etc/passwd", status=1), "not a recording")
    error = bus.run("replay", cut, "--fast", status=1)
    contains(error, "cut short")
    empty = os.path.join(bus.scratch, "empty")
    bus.run("trace", "--record", empty, "--", bus.program, "ping", PEER)
    contains(bus.run("replay", empty, status=1), "has no data", "--payload")
    contains(bus.run("replay", recording, "--to", "no.such", status=6), "No service is registered")
