# SPDX-License-Identifier: GPL-2.0
"""Places of a test's own: directories, mounts."""
import os
import shutil
import subprocess
import sys
import tempfile

import pytest
from building import TOP


@pytest.fixture
def scratch(monkeypatch):
    """An empty directory with a short path (a socket's address fits), also the test's $TMPDIR and
    the place of what the command keeps for a user; removed afterwards."""
    path = tempfile.mkdtemp(prefix="t-", dir="/tmp")
    for name in ("TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def root():
    """Skips the test unless it has the rights of root."""
    if os.geteuid():
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def own_mounts():
    """own_mounts(argv): runs a command in a mount namespace of its own, from which no mount gets
    out; the keywords are those of subprocess.run, which captures the output as text."""
    def run(argv, **how):
        return subprocess.run([sys.executable, os.path.join(TOP, "tests/own-mounts"), *argv],
                              **{"capture_output": True, "text": True, "check": False,
                                 "timeout": 60, **how})
    return run
