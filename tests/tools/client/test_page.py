# SPDX-License-Identifier: Apache-2.0
"""The page of `anybinder graph --format html` in a real browser, headless Chromium: its script
runs, its search narrows the table."""
import re
import shutil
import subprocess

import pytest
from anybinder.process import PATIENCE_S, until

from peers import AIDL, PeerBus

pytestmark = pytest.mark.long


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


@pytest.mark.parametrize("search, shown, hidden", [
    ("", ["<td>.*client-tests", "waits", "[0-9]* of [0-9]* connections"], None),
    ("", ["<td>.*calls/s, p50 .*, p99 "], None),
    ("&0.001", ["calls/s, p50"], "test.first"),
    ("test.first", ["test.first"], "test.second"),
    ("no%20such%20word", ["[^0-9]0 of [0-9]* connections"], "<td>")],
    ids=["script runs", "rates are shown", "rate filters", "search narrows", "nothing is found"])
def test_page(page, search, shown, hidden):
    text = page(search)
    for pattern in shown:
        assert re.search(pattern, text), text
    assert not hidden or hidden not in text, text
