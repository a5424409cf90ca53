# SPDX-License-Identifier: GPL-2.0
"""What scripts/setup says, on a system of which apt-get and the rest are made up."""
import os
import re
import subprocess

import pytest
from building import TOP

# As apt-get runs dpkg where there are no terminals: without the descriptor for the status.
APT_GET = r'''[ "$1" = update ] && exit
status=$(printf "%s\n" "$@" | sed -n s/^APT::Status-Fd=//p)
echo "Need to get 104 MB of archives."
eval "echo pmstatus:gcc:30.5000:Unpacking gcc \(amd64\) >&$status
	exec $status>&-"
echo "Setting up gcc (4:12.2.0-3) ..." || exit 100'''
FAILING = '''[ "$1" = update ] && exit
echo "E: Failed to fetch http://mirror.example/x.deb  Connection failed" >&2; exit 100'''
SYSTEM = {"id": "echo 0", "cargo": "echo cargo 1.95.0", "dpkg-query": "exit 1",
          "apt-get": APT_GET}


@pytest.fixture
def setup(tmp_path):
    """setup(*headings, interval_s="10", NAME=BODY): status and output, with programs made up."""
    def run(*headings, interval_s="10", **programs):
        for name, body in {**SYSTEM, **{key.replace("_", "-"): programs[key]
                                        for key in programs}}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            (tmp_path / name).chmod(0o755)
        done = subprocess.run(
            ["scripts/setup", *headings], cwd=TOP, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={**os.environ, "HOME": "/none", "PATH": f"{tmp_path}:{os.environ['PATH']}",
                 "SETUP_INTERVAL_S": interval_s})
        return done.returncode, done.stdout
    return run


@pytest.mark.parametrize("headings, how, status, wanted", [
    pytest.param(["build", "demo"], {"dpkg_query": "echo installed"}, 0,
                 r"^setup: ready \(build demo\)$", id="installed"),
    pytest.param(["demo"], {}, 0, r"^setup: installing fuse3;", id="what"),
    pytest.param(["demo"], {"interval_s": "0"}, 0, r"^setup: 30 %: Unpacking gcc \(amd64\)$",
                 id="progress"),
    pytest.param(["demo"], {}, 0, r"^setup: Need to get 104 MB of archives$", id="size"),
    pytest.param(["demo"], {"apt_get": FAILING}, 1,
                 r"^setup: .*http_proxy.*update-ca-certificates.*scripts/setup demo$",
                 id="apt fails"),
    pytest.param(["demo"], {"apt_get": "exit 100"}, 1,
                 r"apt-get update failed; using the existing package lists", id="update fails"),
    pytest.param(["demo"], {"id": "echo 1000", "sudo": "exit 1"}, 0,
                 r"^setup: missing, and only root can install packages: .*fuse3.*\n"
                 r"setup: going on with what is there; as root, once: scripts/setup demo$",
                 id="no root"),
    pytest.param(["build"], {"id": "echo 1000", "sudo": "exit 1", "cargo": "exit 1"}, 1,
                 r"^setup: cargo is missing", id="no root and no cargo"),
])
def test_setup(setup, headings, how, status, wanted):
    got, output = setup(*headings, **how)
    assert got == status and re.search(wanted, output, re.M), output
