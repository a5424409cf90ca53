# SPDX-License-Identifier: Apache-2.0
"""The rsbinder crate's own unit tests, unmodified, on a daemon.

The source is that of the crate that the tools are built with; cargo reports where it is. The tests
use /dev/binderfs, so they run under `anybinder run`. They take longer to build than all the rest.
"""
import json
import os
import re
import shutil
import subprocess

import pytest
from anybinder.bus import Bus
from building import BUILD, TOP

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
COPY = os.path.join(BUILD, "upstream", "rsbinder")
TARGET = os.path.join(BUILD, "upstream", "target")
# sh -c BIND DIR COMMAND...: binds each file of DIR/mount on its own and shows them at /dev/binderfs
BIND = """mkdir "$0/bound"
for from in "$0"/mount/*; do
	to=$0/bound/${from##*/}
	if [ -d "$from" ]; then mkdir "$to"; else touch "$to"; fi
	mount --bind "$from" "$to" || exit
done
mount --rbind "$0/bound" /dev/binderfs && exec "$@"
"""


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
    with Bus(managers="binder") as bus:
        binding = ["sh", "-c", BIND, bus.directory] if bound else []
        done = bus.execute(bus.program, "run", "--", *binding, tests, cwd=COPY, timeout=300)
        if bound:
            for name in os.listdir(f"{bus.directory}/bound"):
                subprocess.run(["umount", "-l", f"{bus.directory}/bound/{name}"], check=False)
    results = re.findall(r"^test (\S+) \.\.\. (ok|FAILED)$", done.stdout, re.MULTILINE)
    for name, result in results:
        case(name, result == "ok", done.stdout)
    assert results and "test result: " in done.stdout, done.stdout
