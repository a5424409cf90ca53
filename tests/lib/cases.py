# SPDX-License-Identifier: GPL-2.0
"""Programs that print TAP: one test item each, and each of their cases is reported by its name.

A report of a case has the item's node id on a worker of xdist, which allows no other, and an
attribute `case`; the process that prints the results appends it to the node id. An item that has
cases is not counted itself unless it fails for another reason than a case.
"""
import os
import re
import signal
import subprocess

import pytest
from _pytest.reports import TestReport
from building import TOP, environment

LINE = re.compile(r"^(ok|not ok) +\d+(?: +-)? *([^#\n]*?) *(?:# *SKIP *(.*))?$", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)(?: *# *SKIP *(.*))?$", re.IGNORECASE)
SKIPPED = 77
GUEST_REPORTS = "ANYBINDER_GUEST_REPORTS"     # in a virtual machine: the file for its reports


class Tap:
    """What a program said: cases (name, outcome, text before it), and what is wrong beside them."""

    def __init__(self, output):
        self.cases, self.plan, self.skip, text = [], None, None, []
        for line in output.splitlines():
            case, plan = LINE.match(line), PLAN.match(line)
            if case:
                word, name, why = case.groups()
                outcome = "skipped" if why is not None else "passed" if word == "ok" else "failed"
                self.cases.append((name, outcome, why or "\n".join(text)))
                text = []
            elif plan:
                self.plan, self.skip = int(plan[1]), plan[2]
            else:
                text.append(line)
        self.rest = "\n".join(text[-100:])

    def complaint(self, status):
        """Why the exit @status and the cases are no whole run; None if they are."""
        failed = sum(outcome == "failed" for _, outcome, _ in self.cases)
        if status is None:
            return "killed at the end of its time"
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        if self.plan is None:
            return f"exit status {status}, and no plan (1..N)"
        if self.plan != len(self.cases):
            return f"exit status {status}, and {len(self.cases)} of {self.plan} cases"
        if bool(status) != bool(failed):
            return f"exit status {status}, and {failed} failed cases"
        return None


def report_case(item, name, outcome, text="", duration=0.0):
    """Reports one case of the running @item; the text of a skipped one is the reason."""
    longrepr = {"passed": None, "failed": text or "failed",
                "skipped": (*item.location[:2], f"Skipped: {text}")}[outcome]
    report = TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), outcome,
                        longrepr, "call", duration=duration, case=name)
    item.stash.setdefault(CASES, []).append(outcome)
    item.ihook.pytest_runtest_logreport(report=report)


CASES = pytest.StashKey()


@pytest.fixture
def case(request):
    """case(name, ok, text=""): reports one case of a test that finds them as it goes."""
    return lambda name, ok, text="": report_case(request.node, name,
                                                 "passed" if ok else "failed", text)


@pytest.fixture
def suite(request):
    """suite(argv, timeout=300, env={}, title=""): runs a program that prints TAP, in the root of
    the tree; a title is put before the names of its cases.

    Each case is reported. The test fails by itself if the program crashes, hangs, has no plan, or
    an exit status that its cases do not explain; status 77 skips it, the last line is the reason.
    Returns the output. The processes that it leaves are killed.
    """
    def run(argv, timeout=300, env=(), title=""):
        nice = []
        if request.node.get_closest_marker("computing"):
            nice, timeout = ["nice", "-n19"], max(timeout, 1800)    # the last to get a processor
        with subprocess.Popen([*nice, *argv], cwd=TOP, env=environment() | dict(env), text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output, status = process.communicate(timeout=timeout)[0], process.returncode
            except subprocess.TimeoutExpired:
                kill_group(process.pid)
                output, status = process.communicate()[0], None
            finally:
                kill_group(process.pid)
        tap = Tap(output)
        if status == SKIPPED:
            pytest.skip(output.strip().rpartition("\n")[2])
        if tap.skip is not None:
            pytest.skip(tap.skip)
        for name, *rest in tap.cases:
            report_case(request.node, f"{title}: {name}" if title else name, *rest)
        complaint = tap.complaint(status)
        if complaint:
            pytest.fail(f"{argv[0]}: {complaint}\n{tap.rest}", pytrace=False)
        return output
    return run


def kill_group(pid):
    """Kills what is left of the processes that @pid began."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """The item of failed cases fails itself, so that --lf runs it again; it is not counted."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and CASES in item.stash:
        report.has_cases = True
        if report.passed and "failed" in item.stash[CASES]:
            report.outcome, report.longrepr = "failed", "cases of it failed"
        elif report.passed:
            return
        else:
            report.has_cases = False


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report):
    """An item stands in the totals by its cases."""
    return ("", "", "") if getattr(report, "has_cases", False) else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    """On the side that prints: the names of cases, without the groups of xdist."""
    if ON_WORKER:
        return
    path, bracket, rest = report.nodeid.rpartition("]")
    report.nodeid = path + bracket + rest.split("@")[0]
    if hasattr(report, "case"):
        report.nodeid += f"::{report.case}"


ON_WORKER = False


def pytest_configure(config):
    """Which side this is; a guest of tests/lib/guests.py does not print either."""
    global ON_WORKER
    ON_WORKER = hasattr(config, "workerinput") or GUEST_REPORTS in os.environ
