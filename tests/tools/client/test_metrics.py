# SPDX-License-Identifier: Apache-2.0
"""`anybinder metrics`: the page for Prometheus, read as OpenMetrics says."""
import os
import re
import urllib.error
import urllib.request

import pytest
from anybinder.process import until

from peers import AIDL, PEER, contains

SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')
SUFFIXES = {"counter": {"_total"}, "gauge": {""}, "histogram": {"_bucket", "_sum", "_count"}}


def read(page):
    """The samples of a page by name and labels, without le; buckets by le."""
    samples, family, kind = {}, None, None
    *lines, end = page.splitlines()
    assert end == "# EOF"
    for line in lines:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split()
        elif not line.startswith(f"# HELP {family} "):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert name.removeprefix(family) in SUFFIXES[kind], line
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
            assert (name, *labels.items()) not in samples, line
            samples[(name, *labels.items())] = float(value)
    return samples


def of(samples, name, **labels):
    return samples.get((f"anybinder_{name}", *labels.items()))


@pytest.mark.usefixtures("daemon_only")
def test_a_page_for_prometheus(bus):
    process = bus.command("metrics", "--listen", "127.0.0.1:0", "--interval-ms", "100",
                          "--aidl", AIDL)
    address = process.stdout.readline().strip()
    method = {"service": PEER, "method": "add"}
    found = {}

    def page():
        with urllib.request.urlopen(address, timeout=60) as reply:
            assert reply.headers["Content-Type"].startswith("application/openmetrics-text")
            found.clear()
            found.update(read(reply.read().decode()))

    def calls():
        page()
        return of(found, "calls_total", **method)

    until(lambda: of(found, "services") or page())
    for _ in range(5):
        bus.ask("add", "1", "2")
    until(lambda: calls() == 5)
    assert of(found, "errors_total", **method) == 0
    buckets = [value for key, value in found.items()
               if key[0] == "anybinder_call_seconds_bucket" and ("method", "add") in key]
    assert buckets == sorted(buckets) and buckets[-1] == 5, buckets
    assert 0 < of(found, "call_seconds_sum", **method) < 60
    assert of(found, "call_seconds_count", **method) == 5
    assert of(found, "threads", service=PEER) >= 1
    assert of(found, "buffer_size_bytes", service=PEER) > 0
    assert of(found, "backlog_calls", service=PEER) == 0
    assert of(found, "recent_restarts", service=PEER) == 0
    assert not any("pid" in dict(key[1:]) for key in found)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address.replace("metrics", "other"), timeout=60)
    bus.stop(process)


def test_a_file_for_prometheus(bus):
    path = os.path.join(bus.scratch, "anybinder.prom")
    process = bus.command("metrics", "--textfile", path, "--interval-ms", "100")
    until(lambda: os.path.exists(path))
    with open(path, encoding="utf-8") as file:
        assert of(read(file.read()), "services") > 0
    bus.stop(process)
    contains(bus.run("metrics", "--listen", "0.0.0.0:0", status=2), "other machines", "loopback")
