# SPDX-License-Identifier: Apache-2.0
"""`anybinder replay`: recorded calls are made again, and their replies compared."""
import contextlib
import json
import os
import pathlib
import shlex

import pytest
from anybinder import errors

from peers import AIDL, PEER, PeerBus, contains

TWIN = "anybinder.test.IPeer/twin"


@pytest.fixture(name="recording")
def make_recording(bus):
    """Some calls to the service; on a daemon, where the driver does not tell what is passed."""
    path = os.path.join(bus.scratch, "calls")
    calls = [["add", "2", "40"], ["echo", "näh"], ["pid"], ["echoBinder", PEER],
             ["callBack", "new", "7"], ["readFile", "/dev/null"], ["throwServiceSpecific", "9"]]
    lines = [shlex.join([bus.program, "call", "--aidl", AIDL, PEER, *words]) for words in calls]
    with contextlib.ExitStack() as stack:
        telling = bus
        if bus.is_kernel:
            telling = stack.enter_context(PeerBus(managers="binder"))
            stack.callback(telling.stop, telling.serve())
        telling.run("trace", "--payload", "--record", path, "--", "sh", "-c",
                    "; ".join([*lines, "true"]))
    return path


@pytest.mark.usefixtures("daemon_only")
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


def test_a_reply_of_another_kind_is_shown(bus, binder, recording):
    binder.fake(TWIN, add=errors.ServiceSpecific(5, "full"), echo=errors.DeadObject())
    done = bus.execute(bus.program, "replay", recording, "--to", TWIN, "--fast", "--aidl", AIDL)
    assert done.returncode == 1
    contains(done.stdout, "- result: 42", "service specific, code 5", "status DeadObject")


@pytest.mark.usefixtures("daemon_only")
def test_recordings_that_cannot_be_replayed(bus, recording):
    cut, newer, empty = (pathlib.Path(bus.scratch, name) for name in ("cut", "newer", "empty"))
    data = pathlib.Path(recording).read_bytes()
    cut.write_bytes(data[:-9])
    newer.write_bytes(b"anybinder events 9\n" + data)
    bus.run("trace", "--record", str(empty), "--", bus.program, "ping", PEER)
    for path, why in ((newer, "another version of anybinder"), ("/etc/passwd", "not a recording"),
                      (cut, "cut short"), (empty, "has no data")):
        contains(bus.run("replay", str(path), "--fast", status=1), why)
    contains(bus.run("replay", recording, "--to", "no.such", status=6), "No service is registered")
