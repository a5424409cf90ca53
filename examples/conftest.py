# SPDX-License-Identifier: Apache-2.0
"""A root for the examples in Python."""
import os
import subprocess
import tempfile

import pytest
from building import TOP


@pytest.fixture(scope="session")
def libgbinder_root():
    """A root with the examples in Python."""
    if os.geteuid():
        pytest.skip("making a root file system needs root")
    path = tempfile.mkdtemp(prefix="anybinder-examples-", dir="/var/tmp")
    os.chmod(path, 0o755)
    subprocess.run([f"{TOP}/examples/make-root.sh", path], check=True)
    yield path
    subprocess.run([f"{TOP}/scripts/debian-root.sh", "remove", path], check=True)
