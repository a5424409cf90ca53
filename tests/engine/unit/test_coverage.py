# SPDX-License-Identifier: GPL-2.0
"""How much of the engine the tests without an operating system reach: the unit tests (except those
with racing threads, which reach something else each time), the kept inputs of the fuzzers, the
worlds of the simulator, and the conformance suite on the engine in its own program.
build/coverage/index.html has the annotated source.

At least MIN_PERCENT of the lines must be reached, and a function with a branch that is never taken
must stand in UNREACHED: its name and the reason. If several functions have that name: NAME{text
that only the one meant contains}. What is not there any more must not stand in UNREACHED.
"""
import json
import os
import re
import subprocess

import anchors
import pytest
from building import BUILD, TOP, variable

UNREACHED = "tests/engine/unit/unreached"
OUT = os.path.join(BUILD, "coverage")
SEEDS = 5000
MIN_PERCENT = 95.0
# Columns of a branch in the export: line, ..., times taken, times not taken.
LINE, TAKEN, NOT_TAKEN = 0, 4, 5
ENTRY = re.compile(r"(\w+)(?:\{(.*?)\})?\s+(\S.*)")


def owner_of(functions, path, line):
    """The function that a line of a file belongs to."""
    return max((f for f in functions if f.path == path and f.first <= line), key=lambda f: f.first)


def unreached_branches(entry, functions):
    """{function: [line, ...]}, a line for each direction that is never taken."""
    path, found = os.path.relpath(entry["filename"], anchors.TOP), {}
    for branch in entry["branches"]:
        for count in (branch[TAKEN], branch[NOT_TAKEN]):
            if not count:
                owner = owner_of(functions, path, branch[LINE])
                found.setdefault(owner, set()).add(branch[LINE])
    return found


def explained(path, functions):
    """The functions that UNREACHED names, and the complaints about what it names wrongly."""
    known, complaints = set(), []
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line[0] == "#":
                continue
            try:
                name, text, _ = ENTRY.fullmatch(line.strip()).groups()
                known.add(anchors.find(functions, name, text or ""))
            except AttributeError:
                complaints.append(f"{path}:{number}: want a function and a reason")
            except anchors.Missing as missing:
                complaints.append(f"{path}:{number}: {missing}")
    return known, complaints


def llvm(*words):
    """Runs llvm-WORD of the compiler's version; returns what it prints."""
    return subprocess.run([f"llvm-{words[0]}-19", *words[1:]], cwd=TOP, check=True,
                          stdout=subprocess.PIPE).stdout


@pytest.fixture(scope="module")
def export(program):
    """What `llvm-cov export` says of all programs."""
    unit, sim, rules = program("cov_test"), program("cov_sim"), program("cov_conformance")
    subprocess.run(["rm", "-rf", OUT], check=True)
    # All fork, and a child inherits the name of the file: only %m makes processes take turns and
    # add up.
    for name, argv in (("unit", [unit, "--without", "storm", "threads"]),
                       ("sim", [sim, "--seeds", str(SEEDS)]),
                       ("rules", ["tests/drivers/conformance/run_backend.py", "engine"])):
        done = subprocess.run(
            ["nice", "-n19", *argv], check=False, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, errors="replace", cwd=TOP,
            env={**os.environ, "CONFORMANCE_ENGINE": rules,
                 "LLVM_PROFILE_FILE": f"{OUT}/{name}-%m.profraw"})
        assert not done.returncode, done.stdout[-3000:]
    data = f"{OUT}/all.profdata"
    llvm("profdata", "merge", "-o", data,
         *(f"{OUT}/{name}" for name in os.listdir(OUT) if name.endswith(".profraw")))
    what = [unit, "-object", sim, "-object", rules, f"-instr-profile={data}"]
    llvm("cov", "show", *what, "-format=html", "-show-branches=count", f"-output-dir={OUT}",
         *variable("CORE_SRCS"))
    return json.loads(llvm("cov", "export", *what, *variable("CORE_SRCS")))["data"][0]


@pytest.mark.computing
@pytest.mark.takes(60)
def test_coverage(export):
    functions = anchors.engine_functions()
    known, complaints = explained(UNREACHED, functions)
    for entry in export["files"]:
        for function, lines in unreached_branches(entry, functions).items():
            if function not in known:
                where = ", ".join(str(line) for line in sorted(lines))
                complaints.append(f"{function}: a branch is never taken, in line {where}, and "
                                  f"{UNREACHED} gives no reason")
    assert not complaints, "\n".join(complaints)
    assert export["totals"]["lines"]["percent"] >= MIN_PERCENT
