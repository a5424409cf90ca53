# SPDX-License-Identifier: GPL-2.0
"""Storms: clients killed at random while calls are in progress. STORM_OPTIONS are added, e.g.
`--seed 7 --seeds 100 --kills 500`."""
import os

import pytest
from anybinder.daemon import Daemon
from anybinder.process import until

OPTIONS = os.environ.get("STORM_OPTIONS", "").split()


def resources(daemon):
    """Threads and descriptors of the process that serves."""
    pid = daemon.server_pid()
    return [len(os.listdir(f"/proc/{pid}/{what}")) for what in ("task", "fd")]


@pytest.mark.alone
@pytest.mark.takes(60)
@pytest.mark.parametrize("options", [
    pytest.param(["--kills", "150", "--seeds", "3"], id="plain"),
    pytest.param(["--kills", "100", "--seeds", "2", "--replace-ms", "5"], id="replaced"),
])
def test_daemon(program, suite, scratch, root, options):    # pylint: disable=unused-argument
    """After the first storm the daemon has the threads and descriptors that it needs; after the
    others it may not have more, apart from a few that it keeps for the next time."""
    storm = program("anybinder-storm")
    with Daemon(scratch, program=program("anybinderd")) as daemon:
        words = [storm, "--device-dir", daemon.mnt]
        suite([*words, "--seed", "1", "--kills", "20"])
        threads, files = resources(daemon)
        suite([*words, "--seed", "2", *options, *OPTIONS], timeout=600)
        until(lambda: all(now <= most for now, most in zip(
            resources(daemon), (threads + 4, files + 16))),
              what=f"{threads} threads, {files} files")


@pytest.mark.vm
@pytest.mark.takes(60)
def test_module(program, machine, suite):
    suite([*machine("6.12", driver="module", timeout=600), program("anybinder-storm"),
           "--kills", "60", *OPTIONS], timeout=700)
