# SPDX-License-Identifier: GPL-2.0
"""The unit tests of the crates of tools/, one item each, built in one go with the same features."""
import json
import os
import subprocess

import pytest
from building import TOP, environment, lock, untimed, variable

CRATES = ("anybinder", "anybinder-bench", "anybinder-cli", "anybinder-client", "anybinder-driver",
          "anybinder-events", "anybinder-fake", "anybinder-mount", "anybinder-parcel",
          "anybinder-rpc", "anybinder-servicemanager")


@pytest.fixture(scope="module")
def executables():
    """The test programs of each crate, by the directory of the crate."""
    selected = [word for crate in CRATES for word in ("-p", crate)]
    with untimed(), lock("make"):
        done = subprocess.run(
            [os.environ.get("CARGO", "cargo"), "test", "--quiet", "--release", "--locked",
             "--manifest-path", "tools/Cargo.toml", *selected, "--no-run",
             "--message-format=json"], cwd=TOP, text=True,
            env={**environment(), "CARGO_TARGET_DIR": variable("CARGO_TARGET_DIR")[0]},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            directory = os.path.dirname(message["manifest_path"])
            found.setdefault(directory, []).append(message["executable"])
    return found


@pytest.mark.computing
@pytest.mark.takes(60)
@pytest.mark.parametrize("crate", CRATES)
@pytest.mark.xdist_group("crates")
def test_crate(executables, crate):
    directory = os.path.join(TOP, "tools", crate.removeprefix("anybinder-"))
    assert executables[directory]
    for executable in executables[directory]:
        done = subprocess.run([executable, "--quiet"], cwd=directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "CARGO_MANIFEST_DIR": directory}, check=False)
        assert done.returncode == 0 and "test result: ok" in done.stdout, done.stdout
