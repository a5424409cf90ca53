# SPDX-License-Identifier: GPL-2.0
"""Which tests run, in which order, and what happens with those that failed.

--vm         the tests of `make vm-test` instead of those of `make test`
--long       also those that take long
--turn N     ($TURN) of each group of alternatives (mark `turn`) the Nth, counted round
--again N    ($TEST_AGAIN) runs up to N failed items once more; what passes then is UNSTABLE
--record F   writes "N passed, N failed, N skipped" to F
"""
import collections
import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time

import pytest
from building import lock
from guests import in_guest, plain


def pytest_addoption(parser):
    """See above."""
    group = parser.getgroup("anybinder")
    group.addoption("--vm", action="store_true", help="the tests of `make vm-test`")
    group.addoption("--long", action="store_true", help="also tests that take long")
    group.addoption("--turn", type=int, default=os.environ.get("TURN") or None,
                    help="the Nth of each group of alternatives")
    group.addoption("--again", type=int, default=int(os.environ.get("TEST_AGAIN") or 0),
                    help="run up to N failed tests once more")
    group.addoption("--record", help="file for the total line")


def not_in_turn(items, turn):
    """The items whose turn it is not, and those whose it is. The items of a group that name the
    same alternative take their turn together."""
    groups = collections.defaultdict(dict)
    for item in items if turn is not None else ():
        mark = item.get_closest_marker("turn")
        if mark:
            group, *alternative = mark.args
            groups[group].setdefault(tuple(alternative or [item.nodeid]), []).append(item)
    every, chosen = set(), set()
    for group in groups.values():
        alternatives = list(group.values())
        every.update(*alternatives)
        chosen.update(alternatives[turn % len(alternatives)])
    return every - chosen, chosen


@pytest.hookimpl(tryfirst=True)    # pytest-xdist looks for groups in its own
def pytest_collection_modifyitems(config, items):
    """Selects, unless tests are named by their node ids; then orders."""
    named = in_guest() or any("::" in word for word in config.args)
    if not named:
        option, words = config.option, config.option.markexpr
        out, chosen = not_in_turn(items, option.turn)
        for item in items:
            if "vm" not in words and bool(item.get_closest_marker("vm")) != option.vm:
                out.add(item)
            if "long" not in words and item.get_closest_marker("long") and not option.long \
                    and item not in chosen:
                out.add(item)
        if out:
            config.hook.pytest_deselected(items=[item for item in items if item in out])
            items[:] = [item for item in items if item not in out]
    for item in items:
        if item.get_closest_marker("computing") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1800))    # it is the last to get a processor
        if item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.xdist_group("alone"))    # the others need not wait for it
    items[:] = ordered(items)


def ordered(items):
    """What takes longest begins first; items that only compute are spread among the others, behind
    the first third, so that the processors are never without work."""
    def seconds_of(item):
        mark = item.get_closest_marker("takes")
        return mark.args[0] if mark else 1

    kinds = [[], []]
    for item in sorted(items, key=seconds_of, reverse=True):
        kinds[bool(item.get_closest_marker("computing"))].append(item)
    waiting, computing = kinds
    places = [(index / max(1, len(waiting)), item) for index, item in enumerate(waiting)]
    places += [(1 / 3 + index / max(1, len(computing)) * 2 / 3, item)
               for index, item in enumerate(computing)]
    return [item for _, item in sorted(places, key=lambda place: place[0])]


@contextlib.contextmanager
def before_others():
    """One at a time, and if the user may do that, what it runs gets a processor before others."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with lock("alone", fcntl.lockf):    # which no child that outlives its test inherits
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, max(usual - 10, -20))
        try:
            yield
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, usual)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Those that want to be alone wait for each other; in a virtual machine there is one test."""
    is_alone = item.get_closest_marker("alone") and not in_guest()
    with before_others() if is_alone else contextlib.nullcontext():
        yield


class Running:
    """Names the tests that run when none has ended for a while, in the process that shows the
    results: of one that hangs its time limit may come too late, or never."""

    QUIET_S = 180

    def __init__(self):
        self.began, self.ended = {}, time.monotonic()
        threading.Thread(target=self.watch, daemon=True).start()

    def pytest_runtest_logstart(self, nodeid):
        self.began[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid):
        self.began.pop(nodeid, None)
        self.ended = time.monotonic()

    def watch(self):
        while True:
            time.sleep(self.QUIET_S)
            now = time.monotonic()
            if now - self.ended > self.QUIET_S:
                for nodeid, began in sorted(self.began.items()):
                    print(f"\n{nodeid} runs for {now - began:.0f} s", end="", file=sys.stderr,
                          flush=True)


def pytest_configure(config):
    """See Running."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        config.pluginmanager.register(Running())


def pytest_sessionfinish(session):
    """Runs again what failed, then writes the totals."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(config, "workerinput") or not reporter:
        return
    stats = reporter.stats
    failed = {item_of(report) for kind in ("failed", "error") for report in stats.get(kind, [])
              if hasattr(report, "when") and report.when != "collect"}
    if 0 < len(failed) <= config.option.again:
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--again",
                               "0", *sorted(failed)], stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            stats["unstable"] = stats.pop("failed", []) + stats.pop("error", [])
            session.exitstatus = 0
    if config.option.record:
        counts = [len(stats.get(kind, [])) for kind in ("passed", "failed", "skipped", "error")]
        counts[0] += len(stats.get("unstable", []))
        counts[1] += counts.pop()
        os.makedirs(os.path.dirname(config.option.record) or ".", exist_ok=True)
        with open(config.option.record, "w", encoding="utf-8") as file:
            file.write("{} passed, {} failed, {} skipped\n".format(*counts))


def item_of(report):
    """The node id of the item that @report belongs to."""
    case = getattr(report, "case", None)
    return plain(report.nodeid[:-len(case) - 2] if case else report.nodeid)


def pytest_terminal_summary(terminalreporter):
    """Names what passed at the second time only."""
    for report in terminalreporter.stats.get("unstable", []):
        terminalreporter.write_line(f"UNSTABLE {report.nodeid}: passed when it was run again")
