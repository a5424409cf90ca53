# SPDX-License-Identifier: GPL-2.0
"""What is said of a build of cargo, and which failures have to do with the network."""
import pytest
from cargo_build import Filter

# Lines of cargo, each with its time, and what is said of them by a machine of two processors.
CASES = [
    ("nothing to do", [(0, "    Finished `release` profile [optimized] target(s) in 0.10s")], []),
    ("a build", [
        (0, "    Updating crates.io index"),
        (1, " Downloading 3 crates, remaining bytes: 1.0 MiB"),
        (2, " Downloading 2 crates, remaining bytes: 0.5 MiB"),
        (20, "  Downloaded syn v3.0.9"),
        (21, "    Building [                  ] 0/400"),
        (21, "    Building [                  ] 24/400: syn"),
        (21, "   Compiling syn v3.0.9"),
        (22, "    Building [=>                ] 25/400: syn, libc"),
        (23, "warning: unused variable: `x`"),
        (32, "    Building [====>             ] 57/400: tokio(build)"),
        (33, "    Building [====>             ] 58/400: tokio"),
        (34, "    Finished `release` profile [optimized] target(s) in 33.10s"),
    ], [
        "  CARGO\tfetching crates",
        "  CARGO\t375 steps, each a crate or its build script: 3 min if nothing else runs",
        "warning: unused variable: `x`",
        "  CARGO\tstep 57 of 400",
    ]),
    ("a small build", [
        (0, "\x1b[1m\x1b[32m   Compiling\x1b[0m syn v3.0.9"),
        (0, "\x1b[1m\x1b[36m    Building\x1b[0m [====> ] 390/400: syn"),
    ], [
        "  CARGO\t10 steps, each a crate or its build script: 1 min if nothing else runs",
    ]),
]
# A failure, and whether it has to do with the network.
FAILURES = [
    ("warning: spurious network error (3 tries remaining): [60] SSL peer certificate or SSH remote "
     "key was not OK (SSL certificate problem: unable to get local issuer certificate)", True),
    ("error: failed to download from `https://registry.example/crates/syn/3.0.9/download`", True),
    ("  [6] Could not resolve hostname (Could not resolve host: registry.example)", True),
    ("error[E0425]: cannot find value `certificate` in this scope", False),
]


@pytest.mark.parametrize("lines, expected", [pytest.param(*row[1:], id=row[0]) for row in CASES])
def test_what_is_said(lines, expected):
    said = []
    shown = Filter(said.append, 2)
    for now, line in lines:
        shown.line(line, now)
    assert said == expected and not shown.unreachable


@pytest.mark.parametrize("line, expected", FAILURES)
def test_failures_of_the_network(line, expected):
    shown = Filter(lambda text: None, 2)
    shown.line(line, 0)
    assert shown.unreachable == expected
