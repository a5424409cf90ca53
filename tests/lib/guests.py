# SPDX-License-Identifier: GPL-2.0
"""Tests in virtual machines: one function for the host and for every kernel.

    @pytest.mark.vm("6.12", driver="module", timeout=600)
    def test_that_binder_answers(): ...

On the host, the items of a file whose marks are equal share one machine: vm/run boots it once, with
pytest in it, which runs them and writes their reports to a file; the host reports them as its own.
The options are those of vm/run, with underscores, and `needs`: targets of make that are to be up to
date before, as nothing is built in a machine. The same mark without a kernel says that a test
belongs to `make vm-test` and starts machines itself, by the fixture `machine`.
"""
import json
import os
import subprocess
import sys
import tempfile

import pytest
from _pytest.reports import TestReport
from building import BUILD, IS_BUILT, TOP, built, environment, make
from cases import GUEST_REPORTS as REPORTS

GROUP = pytest.StashKey()
DONE = pytest.StashKey()
PYTHON = "/usr/bin/python3"


def vm_run(kernel, driver="none", **options):
    """The arguments that start a command on @kernel with @driver; builds the module first.

    Of the options, a list is given once for each element, True is a switch.
    """
    if driver.startswith("module"):
        locking = driver == "module-locking"
        built(f"build/module/{kernel}{'-locking' * locking}/anybinder.ko",
              f"module-{'locking-' * locking}{kernel}")
    argv = [os.path.join(TOP, "vm/run"), "--kernel", kernel, "--driver", driver]
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            argv += [f"--{name.replace('_', '-')}"] + ([] if each is True else [str(each)])
    return argv + ["--"]


@pytest.fixture(scope="session")
def machine():
    """machine("6.12", driver="module", timeout=600): the arguments that start a command there."""
    return vm_run


def in_guest():
    """Does this process run inside a virtual machine of vm/run, for the pytest of the host?"""
    return REPORTS in os.environ


def group_of(item):
    """What one machine serves: the file and the arguments of the mark; None for other items."""
    mark = item.get_closest_marker("vm")
    if not mark or in_guest() or not (mark.args or "kernel" in mark.kwargs):
        return None
    return json.dumps([str(item.path), mark.args, sorted(mark.kwargs.items())])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A worker gets all items of a machine. Their time is limited by that of the machine."""
    for item in items:
        item.stash[GROUP] = group_of(item)
        if item.stash[GROUP]:
            item.add_marker(pytest.mark.xdist_group(f"vm{hash_of(item.stash[GROUP])}"))
        if item.stash[GROUP] or in_guest():
            item.add_marker(pytest.mark.timeout(0), append=False)


def hash_of(text):
    """A short name, the same in every process."""
    return format(sum(map(ord, text)) * len(text), "x")


def plain(nodeid):
    """Without the group that xdist appends."""
    path, bracket, rest = nodeid.rpartition("]")
    return path + bracket + rest.split("@")[0]


def boot(items):
    """Runs @items in their machine. Returns reports by node id, what else is wrong, the output."""
    mark = items[0].get_closest_marker("vm")
    options = {"timeout": 600, **mark.kwargs}
    words = make(*options.pop("needs", ()))
    if words:
        pytest.fail(words, pytrace=False)
    os.makedirs(os.path.join(BUILD, "vm", "runs"), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pytest-") as directory:
        path = os.path.join(directory, "reports")
        options["share"] = [directory, *options.get("share", ())]
        options["env"] = [f"{REPORTS}={path}", f"{IS_BUILT}=all", "PYTHONDONTWRITEBYTECODE=1",
                          *options.get("env", ())]
        argv = vm_run(*mark.args, **options)
        done = subprocess.run([*argv, PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-q",
                               *[plain(item.nodeid) for item in items]], cwd=TOP, text=True,
                              env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace", check=False)
        reports = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    report = TestReport._from_json(json.loads(line))
                    if isinstance(report.longrepr, list):    # of a skipped one; JSON has no tuples
                        report.longrepr = tuple(report.longrepr)
                    reports.setdefault(report.nodeid, []).append(report)
    complaint = "" if done.returncode in (0, 1) else f"vm/run: exit status {done.returncode}"
    return reports, complaint, done.stdout


def failure(item, when, text):
    """A report that @item failed with @text."""
    return TestReport(item.nodeid, item.location, {}, "failed", text, when)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """An item of a machine: its reports are those of the guest."""
    group = item.stash.get(GROUP, None)
    if not group:
        return None
    runs = item.session.stash.setdefault(DONE, {})
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    if group not in runs:
        try:
            runs[group] = boot([each for each in item.session.items if each.stash[GROUP] == group])
        except pytest.fail.Exception as why:
            runs[group] = {}, "", str(why)
    reports, complaint, output = runs[group]
    mine = reports.get(plain(item.nodeid), [])
    if not any(report.when == "teardown" for report in mine):
        mine.append(failure(item, "call", f"it did not end in the machine. {complaint}\n{output}"))
    elif complaint and not (nextitem and nextitem.stash.get(GROUP, None) == group):
        mine.append(failure(item, "teardown", f"{complaint}\n{output}"))
    for report in mine:
        report.nodeid = item.nodeid
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_logreport(report):
    """In the guest: writes a report for the host."""
    if in_guest():
        with open(os.environ[REPORTS], "a", encoding="utf-8") as file:
            file.write(json.dumps(report._to_json()) + "\n")


def pytest_unconfigure():
    """What a guest printed is seen before its machine ends."""
    sys.stdout.flush()
