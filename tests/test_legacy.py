# SPDX-License-Identifier: GPL-2.0
"""The bridge: tests that make fragments still declare (NAME.run) are one item each.

It goes when all are ported; what is ported leaves the lists of its fragment."""
import os
import re
import subprocess

import pytest
from building import TOP, environment

SUMMARY = re.compile(r"^[\w./+ -]+: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?(?: \(.*\))?\s*$",
                     re.M)


def listed(name):
    """A list of the Makefile; asked for once, by the process that starts the others."""
    key = f"ANYBINDER_LEGACY_{name}"
    if key not in os.environ:
        os.environ[key] = subprocess.run(
            ["make", "-s", "--no-print-directory", f"print-{name}"], cwd=TOP, env=environment(),
            stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return os.environ[key].split()


def parameters():
    """Each test with its marks."""
    turns = {test: words for words in listed("TURNS") for test in words.split(",")}
    computing = listed("COMPUTING")
    for kind in ("TESTS", "VM_TESTS", "LONG_TESTS"):
        for test in listed(kind):
            marks = [pytest.mark.timeout(7200)]
            if kind == "VM_TESTS":
                marks.append(pytest.mark.vm())
            if kind == "LONG_TESTS":
                marks.append(pytest.mark.long)
            if test in turns:
                marks += [pytest.mark.turn(turns[test]), pytest.mark.vm()]
            yield pytest.param(test, test.split(":")[0] in computing, id=test, marks=marks)


@pytest.mark.parametrize("test, computing", parameters())
def test_legacy(test, computing):
    name, _, variant = test.partition(":")
    argv = ["nice", f"-n{19 * computing}", "make", "--no-print-directory", f"test-{name}"]
    done = subprocess.run(argv + [f"VARIANT={variant}"] * bool(variant), cwd=TOP, text=True,
                          env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", check=False)
    summaries = SUMMARY.findall(done.stdout)
    counts = [int(number or 0) for number in summaries[-1]] if summaries else [0, 0, 0]
    if done.returncode or counts[1] or not sum(counts):
        pytest.fail(f"exit status {done.returncode}\n{done.stdout[-6000:]}", pytrace=False)
    if not counts[0]:
        pytest.skip(done.stdout.strip()[-300:])
