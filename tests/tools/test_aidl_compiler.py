# SPDX-License-Identifier: GPL-2.0
"""Constants of `.aidl` files, compared with what the compiler of Debian makes of them.

The expressions are made at random, each in an interface of its own; AIDL_SOURCES names a directory
of `.aidl` files to be compared as well, for example of Android's hardware/interfaces.
"""
import glob
import json
import os
import random
import re
import shutil
import subprocess

import pytest
from building import TOP, environment, variable

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]

EXPRESSIONS = 600
KINDS = "int long byte boolean int long".split()
LITERALS = """0 1 2 3 7 8 31 32 63 127 128 255 256 32767 65536 2147483647 2147483648 4294967295 0x7F
    0x80 0xFF 0x8000 0x7FFFFFFF 0x80000000 0xFFFFFFFF 0x100000000 1L 5L 2147483648L 255u8 128u8 1u8
    4294967295u32 7u32 1u64 18446744073709551615u64 true false 010 0xC1u8""".split()
OPERATORS = "+ - * / % << >> < <= > >= == != & | ^ && || << >> + - |".split()
DISTANCES = "0 1 4 31 32 -1 -3 30 8u8".split()


def expression(dice, depth):
    if depth == 0 or dice.random() < 0.25:
        return dice.choice(LITERALS)
    if dice.random() < 0.2:
        return f"{dice.choice('-~!+')} ({expression(dice, depth - 1)})"
    operator = dice.choice(OPERATORS)
    right = dice.choice(DISTANCES) if operator in ("<<", ">>") else expression(dice, depth - 1)
    return f"({expression(dice, depth - 1)}) {operator} ({right})"


def random_files(directory):
    """Each has one constant."""
    os.makedirs(f"{directory}/p")
    dice = random.Random(53)
    for number in range(EXPRESSIONS):
        kind = dice.choice(KINDS)
        value = expression(dice, dice.choice((1, 1, 2, 2, 3)))
        path = f"{directory}/p/I{number}.aidl"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"package p; interface I{number} {{ const {kind} C = {value}; }}\n")
        yield path


def package_root(path):
    """The directory above that of the package; None: the file is not where its package says."""
    with open(path, encoding="utf-8", errors="replace") as file:
        package = re.search(r"^\s*package\s+([\w.]+)\s*;", file.read(), re.M)
    where = "/" + package.group(1).replace(".", "/") if package else ""
    directory = os.path.dirname(path)
    return directory.removesuffix(where) if directory.endswith(where) else None


def java_constants(path):
    """The constants and defaults of a file that the compiler wrote: (name, text of the value)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    scope, depth = [], 0
    package = re.search(r"^package ([\w.]+);", text, re.M).group(1)
    for line in text.splitlines():
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        # its brace may be in the next line
        opens = re.match(r"\s*(?:public|static|final|abstract|\s)*(?:class|@?interface) (\w+)",
                         bare)
        value = re.match(r"\s*public (?:static final )?[\w.<>\[\]]+ (\w+) = (.*);", line)
        if opens:
            scope.append((depth, opens.group(1)))
        elif value and scope and scope[-1][0] == depth - 1:
            name = ".".join([package, *(name for _, name in scope), value.group(1)])
            yield name, value.group(2)
        depth += bare.count("{") - bare.count("}")
        while scope and depth <= scope[-1][0] and not opens and "{" not in bare:
            scope.pop()


def compiled(compiler, paths, out):
    """What the compiler says of each constant, by name; and the files that it refuses."""
    roots = {path: package_root(path) for path in paths}
    include = [word for root in sorted(set(filter(None, roots.values()))) for word in ("-I", root)]
    values, refused = {}, set()
    for path in filter(roots.get, paths):
        shutil.rmtree(out, ignore_errors=True)
        with open(path, encoding="utf-8", errors="replace") as file:
            stable = ["--stability=vintf"] * ("@VintfStability" in file.read())
        done = subprocess.run([*compiler, "--lang=java", "--structured", *stable, "-o", out,
                               *include, path], capture_output=True, check=False)
        if done.returncode:
            refused.add(path)
        for java in glob.glob(f"{out}/**/*.java", recursive=True) * (not done.returncode):
            values.update(java_constants(java))
    return values, refused


def ours(root, paths):
    done = subprocess.run(
        [os.environ.get("CARGO", "cargo"), "run", "--quiet", "--release", "--locked",
         "--manifest-path", "tools/Cargo.toml", "-p", "anybinder-parcel", "--example", "constants",
         "--", root], cwd=TOP, text=True, check=True, input="\n".join(paths),
        env={**environment(), "CARGO_TARGET_DIR": variable("CARGO_TARGET_DIR")[0]},
        stdout=subprocess.PIPE)
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


def number(text):
    """The value of Java's text; None: it is none that is compared."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d+L?", text):
        return int(text.rstrip("L"))
    if re.fullmatch(r'"(\\.|[^"\\])*"', text):
        return json.loads(text)
    return None


def is_same(value, text):
    if text.startswith("ERR"):
        return False
    with_quotes = text if text.startswith(('"', "[", "{")) or not isinstance(value, str) else \
        json.dumps(text)
    return json.loads(with_quotes) == value


def test_expressions_are_computed_as_by_the_compiler(aidl_compiler, tmp_path):
    """Those that it refuses stand in no file that is used, whatever is made of them here."""
    paths = list(random_files(tmp_path / "in"))
    values, refused = compiled(aidl_compiler, paths, tmp_path / "out")
    found = ours(tmp_path / "in", paths)
    wrong = []
    for path in paths:
        name = "p." + os.path.basename(path).removesuffix(".aidl") + ".C"
        mine = found.get(name, "ERR none")
        if path not in refused and not is_same(number(values[name]), mine):
            with open(path, encoding="utf-8") as file:
                wrong.append((file.read(), values[name], mine))
    print(f"{len(paths)} expressions, {len(refused)} of them refused")
    assert len(values) > EXPRESSIONS and not wrong, wrong[:20]


@pytest.mark.skipif("AIDL_SOURCES" not in os.environ, reason="AIDL_SOURCES names no directory")
def test_files_are_read_as_by_the_compiler(aidl_compiler, tmp_path):
    """Frozen copies are left out; so are defaults that are no number, text or boolean."""
    root = os.environ["AIDL_SOURCES"]
    paths = sorted(path for path in glob.glob(f"{root}/**/*.aidl", recursive=True)
                   if "/aidl_api/" not in path)
    values, refused = compiled(aidl_compiler, paths, tmp_path / "out")
    found = ours(root, paths)
    numbers = {name: number(text) for name, text in values.items()}
    compared = [name for name, value in numbers.items() if value is not None and name in found]
    wrong = [(name, values[name], found[name]) for name in compared
             if not is_same(numbers[name], found[name])]
    print(f"{len(paths)} files, {len(refused)} refused; {len(compared)} values")
    assert compared and not wrong, wrong[:20]
