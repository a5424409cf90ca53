# SPDX-License-Identifier: GPL-2.0
"""Recordings of `anybinder trace` that are made of others: a part, and one that names nobody."""
import os
import re
import struct
import zlib

import pytest

from tracing import AIDL, calls_of

NAMES = ["one.service", "other.service"]
FORMAT = b"anybinder events 4\n"


@pytest.fixture(name="recorded")
def fixture_recorded(bus, tmp_path):
    """recorded(FILE, OPTIONS...): the calls in a recording; recorded.file: one of calls to two
    services, some of which fail."""
    file = str(tmp_path / "recording")
    with bus.peer(NAMES[0]), bus.peer(NAMES[1]):
        calls = [f"{bus.program} call --aidl {AIDL} {name} {words}"
                 for name in NAMES for words in ("add 1 2", "echo secret", "exitNow 0 || true")]
        bus.trace("--quiet", "--payload=all", "--record", file,
                  program=["sh", "-c", "; ".join(calls)])

    def recorded(path, *options):
        done = bus.tool("trace", "--from", path, "--json", "--aidl", AIDL, *options)
        assert done.returncode == 0, done
        return calls_of(done.stdout)

    recorded.file = file
    recorded.part = str(tmp_path / "part")
    return recorded


def cut(bus, recorded, *options, status=0):
    done = bus.tool("trace", "--from", recorded.file, "--aidl", AIDL, "--quiet",
                    "--record", recorded.part, *options)
    assert done.returncode == status, done
    return done.stderr


def without_parents(calls):
    """Without the calls that these serve, which may be left out."""
    return [{**call, "parent": None, "by_other_thread": False} for call in calls]


@pytest.mark.parametrize("wanted", [
    [], ["--service", "one"], ["--service", "other", "--method", "echo"], ["--errors"],
    ["--process", "client-tests", "--code", "1"], ["--interface", "IPeer"]], ids=" ".join)
def test_a_part_has_the_calls_that_are_wanted(bus, recorded, wanted):
    said = cut(bus, recorded, *wanted)
    expected = recorded(recorded.file, *wanted, "--payload=all")
    assert without_parents(recorded(recorded.part, "--payload=all")) == without_parents(expected)
    assert f"{recorded.part} has {len(expected)} calls." in said and expected


def test_a_part_may_be_that_of_a_time(bus, recorded):
    whole = recorded(recorded.file)
    start_ns = min(call["sent_ns"] for call in whole)
    middle_ns = (whole[-1]["sent_ns"] - start_ns) // 2
    parts = []
    for option in "--since", "--until":
        cut(bus, recorded, option, f"{middle_ns / 1e9:.9f}")
        parts.append({call["id"] for call in recorded(recorded.part)})
    late = {call["id"] for call in whole if call["sent_ns"] - start_ns >= middle_ns}
    assert parts == [late, {call["id"] for call in whole} - late]
    assert late and late != {call["id"] for call in whole}


def test_what_is_not_there_is_not_written(bus, recorded):
    assert "has no such call" in cut(bus, recorded, "--service", "nosuch", status=1)
    assert not os.path.exists(recorded.part)
    copy = f"{bus.program} trace --from /dev/stdin --record {recorded.part}"
    done = bus.execute("sh", "-c", f"cat {recorded.file} | {copy}")
    assert done.returncode == 2 and "it is read twice" in done.stderr, done


def test_the_part_of_one_that_is_cut_short_is_that_too(bus, recorded):
    packer = zlib.compressobj(wbits=-15)
    # All but the item that says that the recording ends here.
    block = packer.compress(unpacked(recorded.file)[:-1]) + packer.flush()
    with open(recorded.file, "wb") as file:
        file.write(FORMAT + struct.pack("<I", len(block)) + block)
    assert "is cut short" in cut(bus, recorded, status=1)
    done = bus.tool("trace", "--from", recorded.part)
    assert done.returncode == 1 and "is cut short" in done.stderr, done


def unpacked(path):
    """The bytes of a recording's blocks."""
    with open(path, "rb") as file:
        data = file.read()
    assert data.startswith(FORMAT)
    at, text = len(FORMAT), b""
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        text += zlib.decompress(data[at + 4:at + 4 + size], wbits=-15)
        at += 4 + size
    return text


def test_one_without_names_has_nothing_of_programs(bus, recorded):
    cut(bus, recorded, "--anonymous")
    whole, masked = recorded(recorded.file), recorded(recorded.part)
    assert len(whole) == len(masked)
    threads, names = {}, {}
    for call, mask in zip(whole, masked):
        for side in "from", "to":
            real, stand_in = call.pop(side), mask.pop(side)
            for key in "pid", "tid":
                assert threads.setdefault(real[key], stand_in[key]) == stand_in[key]
            assert names.setdefault(real["process"], stand_in["process"]) == stand_in["process"]
        # All else is the same: times, sizes, services, codes. Which method of the service manager
        # one is, its arguments tell.
        assert {**call, "method": None} == {**mask, "method": None}
    for told in threads, names:
        assert len(set(told.values())) == len(told), told
    assert {"client-tests", "anybinder"} <= set(names), names
    assert all(re.fullmatch(r"process-\d+", name) for name in names.values()), names
    before, after = unpacked(recorded.file), unpacked(recorded.part)
    for text in b"client-tests", "secret".encode("utf-16-le"):
        assert text in before and text not in after, text
    assert b"one.service" in after
    done = bus.tool("trace", "--from", recorded.part, "--payload")
    assert "The recording has no data" in done.stderr, done
