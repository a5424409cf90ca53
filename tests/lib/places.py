# SPDX-License-Identifier: GPL-2.0
"""Places of a test's own."""
import os
import shutil
import tempfile

import pytest


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
