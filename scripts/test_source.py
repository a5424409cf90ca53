# SPDX-License-Identifier: GPL-2.0
"""The source tree: lock rules, atomic accesses, versions, and the lists that docs/ has of it."""
import concurrent.futures
import os
import re
import subprocess
import sys

import pytest
from building import TOP, variable

# A breach that is planted, and what clang says of it.
PLANTED = {
    "LOCKS": ('#include "entities/proc.h"\nint f(struct binder_proc *p);\n'
              "int f(struct binder_proc *p) { return p->nr_threads; }\n", "requires holding"),
    "ATOMICS": ("_Atomic int x;\nvoid f(void) { x++; }\n", "implicit use"),
}


def output_of(argv, **how):
    """Exit status and output of a command in the root of the tree."""
    done = subprocess.run(argv, cwd=TOP, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **how)
    return done.returncode, done.stdout


@pytest.mark.computing
@pytest.mark.takes(30)
@pytest.mark.parametrize("name, sources", [
    pytest.param("LOCKS", ["CORE_SRCS", "STATE_SRCS"], id="locks"),
    pytest.param("ATOMICS", ["FUSE_SRCS"], id="atomics")])
def test_clang_finds_nothing(name, sources, case):
    """clang checks the lock annotations of the engine; an access to an _Atomic variable of the
    daemon says so, and in which order it is."""
    compiler = ["nice", "-n19", *variable(f"CLANG_{name}")]
    text, wanted = PLANTED[name]
    assert wanted in output_of([*compiler, "-xc", "-"], input=text)[1], "clang misses the breach"
    files = [file for each in sources for file in variable(each)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda file: output_of([*compiler, file]), files)
        for file, (status, output) in zip(files, results):
            case(file, not status, output)


@pytest.mark.computing
def test_versions(program, case):
    """Each program answers --version with a name and the version; the workspaces of Rust, whose
    programs are not all built here, and the packages have it, too."""
    version, = variable("VERSION")
    for name in variable("VERSIONED"):
        status, output = output_of([program(os.path.basename(name)), "--version"],
                                   stdin=subprocess.DEVNULL)
        case(name, not status and output.rstrip("\n").endswith(f" {version}"), output)
    for path, pattern in {
            **dict.fromkeys(["tools/Cargo.toml", "examples/rust/Cargo.toml"],
                            r'^version = "(.*)"'),
            "debian/changelog": r"\A.*\((.*)-[^-]*\)",
            "packaging/rpm/anybinder.spec": r"^Version: *(.*)",
            "packaging/arch/anybinder/PKGBUILD": r"^pkgver=(.*)"}.items():
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.M)
        case(path, found and found[1] == version, f"{found}, want {version}")


def test_generated_list(program):
    """The list of docs/COMMANDS.md, which a script writes, is that of the programs."""
    status, output = output_of([sys.executable, "scripts/doc_lists.py", "COMMANDS.md",
                                program("anybinder"), program("anybinderd")])
    assert not status, output
