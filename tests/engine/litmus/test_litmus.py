# SPDX-License-Identifier: GPL-2.0
"""The litmus tests of this directory, judged by herd7 and the kernel's memory model.

A line `C NAME` begins a test. The model is tools/memory-model of Debian's source of the kernel; it
is kept in build/lkmm.

What a test says after `exists` must be seen in no execution that the model allows, and no plain
access may race. Each of its barriers must be needed: a line `STATEMENT // weaken: OTHER` is
replaced by OTHER, or removed if that is empty, and then it must be seen, or a race be found. Lines
with the same word (`// weaken WORD:`) are replaced together.

$HERD7 is the path of herd7; by default it is looked for on PATH.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile

import pytest
from building import BUILD, TOP, lock

KERNEL = "6.12"  # in vm/kernels.tsv
HERE = os.path.dirname(os.path.abspath(__file__))
WEAKEN = re.compile(r"^(\s*)(.*?) // weaken(?: (\w+))?:(.*)$")
MISSING = ("no {}: Debian has the package herdtools7 from forky on; before, install "
           "ocaml, ocaml-dune, menhir, libmenhir-ocaml-dev and libzarith-ocaml-dev, run `make "
           "build install PREFIX=DIR` in https://github.com/herd/herdtools7 of release 7.57, and "
           "here `HERD7=DIR/bin/herd7 pytest --long tests/engine/litmus`")


def fetch_model(model):
    subprocess.run([os.path.join(TOP, "vm/fetch"), KERNEL], check=True)
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "linux")
        subprocess.run([os.path.join(TOP, "vm/source.sh"), KERNEL, source,
                        "*/tools/memory-model/linux-kernel.*", "*/tools/memory-model/lock.cat"],
                       check=True)
        shutil.copytree(os.path.join(source, "tools/memory-model"), model)


def read_tests():
    """The lines of each test, {name: lines}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, "*.litmus"))):
        lines = []
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                if line.startswith("C "):
                    assert line[2:] not in found, f"{path}: a second test {line[2:]}"
                    lines = found[line[2:]] = []
                lines.append(line)
    return found


TESTS = read_tests()


def weakenings(lines):
    """The ways to weaken a test, {name: numbers of the lines}."""
    found = {}
    for number, line in enumerate(lines):
        match = WEAKEN.match(line)
        if match:
            found.setdefault(match[3] or f"line {number + 1}", set()).add(number)
    return found


def text_of(lines, weak):
    """The test without marks; the lines with the numbers in weak are replaced."""
    return "\n".join(WEAKEN.sub(r"\1\4" if number in weak else r"\1\2", line)
                     for number, line in enumerate(lines)) + "\n"


def judge(herd7, model, text):
    """What herd7 says: Never, Sometimes or Always; race if there is one; else what is wrong."""
    with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
        file.write(text)
        file.flush()
        out = subprocess.run([herd7, "-conf", "linux-kernel.cfg", file.name], cwd=model, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
    seen = re.search(r"^Observation \S+ (\w+) \d+ [1-9]", out, re.M)
    if not seen:
        return "not judged: " + " ".join(out.split())[-300:]
    return "race" if "Flag data-race" in out else seen[1]


def check(herd7, model, lines):
    """What is wrong with the test, as sentences."""
    verdict = judge(herd7, model, text_of(lines, ()))
    if verdict != "Never":
        yield f"must be Never: {verdict}"
    ways = weakenings(lines)
    if not ways:
        yield "no line is marked with // weaken"
    for way, numbers in ways.items():
        verdict = judge(herd7, model, text_of(lines, numbers))
        if verdict not in ("Sometimes", "Always", "race"):
            yield f"weakened ({way}) it must be seen: {verdict}"


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(TESTS))
def test_litmus(name):
    herd7 = shutil.which(os.environ.get("HERD7") or "herd7")
    if not herd7:
        pytest.fail(MISSING.format(os.environ.get("HERD7") or "herd7"), pytrace=False)
    model = os.path.join(BUILD, "lkmm")
    with lock("lkmm"):
        if not os.path.exists(model):
            fetch_model(model)
    assert not list(check(herd7, model, TESTS[name]))
