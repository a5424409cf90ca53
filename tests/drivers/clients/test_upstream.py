# SPDX-License-Identifier: Apache-2.0
"""The rsbinder crate's own unit tests, unmodified, on a daemon.

The source is that of the crate that the tools are built with; cargo reports where it is. The tests
use /dev/binderfs, so they run under `anybinder run`. They take longer to build than all the rest.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess

import pytest
from anybinder.bus import Bus
from anybinder.process import bound_files
from building import BUILD, TOP

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
COPY = os.path.join(BUILD, "upstream", "rsbinder")
TARGET = os.path.join(BUILD, "upstream", "target")
# sh -c SHOW DIR COMMAND...: shows a directory at /dev/binderfs
SHOW = 'mount --rbind "$0" /dev/binderfs && exec "$@"'


def crate_source():
    """The directory of the rsbinder crate that tools/Cargo.lock pins."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked",
               "--manifest-path", os.path.join(TOP, "tools", "Cargo.toml")]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return next(os.path.dirname(package["manifest_path"]) for package in metadata["packages"]
                if package["name"] == "rsbinder")


@pytest.fixture(scope="module")
def tests():
    """The crate's test program, built in a copy, because cargo writes into the directory."""
    if not os.path.isdir(COPY):
        shutil.copytree(crate_source(), COPY)
    command = ["cargo", "test", "--lib", "--no-run", "--message-format", "json"]
    output = subprocess.run(command, cwd=COPY, check=True, stdout=subprocess.PIPE,
                            env=dict(os.environ, CARGO_TARGET_DIR=TARGET)).stdout
    return [message["executable"] for message in map(json.loads, output.splitlines())
            if message.get("executable")][-1]


@pytest.mark.parametrize("bound", [False, True], ids=["direct", "bound"])
def test_crate(program, root, tests, bound, case):    # pylint: disable=unused-argument
    """Bound: each file is a bind mount of its own."""
    program("anybinderd")
    program("anybinder")
    with Bus(managers="binder") as bus, contextlib.ExitStack() as stack:
        showing = []
        if bound:
            directory = f"{bus.directory}/bound"
            os.mkdir(directory)
            stack.enter_context(bound_files(bus.mount, directory))
            showing = ["sh", "-c", SHOW, directory]
        done = bus.execute(bus.program, "run", "--", *showing, tests, cwd=COPY, timeout=300)
    results = re.findall(r"^test (\S+) \.\.\. (ok|FAILED)$", done.stdout, re.MULTILINE)
    for name, result in results:
        case(name, result == "ok", done.stdout)
    assert results and "test result: " in done.stdout, done.stdout
