# SPDX-License-Identifier: GPL-2.0
"""Programs of 32 and of 64 bits call each other, on each driver."""
import os
import sys

import pytest
from building import TOP

PAIRS = [sys.executable, os.path.join(TOP, "tests/drivers/compat/pairs.py")]
PEERS = ["peer32", "peer64"]


def test_daemon(program, suite, root):    # pylint: disable=unused-argument
    for name in ["anybinderd", *PEERS]:
        program(name)
    suite([*PAIRS, "daemon", *PEERS])


@pytest.mark.vm
@pytest.mark.parametrize("driver", [
    "module", pytest.param("ref", marks=pytest.mark.turn("stock drivers", "compat"))])
def test_kernel(program, machine, suite, driver):
    for name in PEERS:
        program(name)
    suite([*machine("6.12", driver=driver), *PAIRS, "/dev/binderfs/binder", *PEERS])
