# SPDX-License-Identifier: GPL-2.0
"""Parts of the daemon by themselves, in C: with a clock of the test's own, or the race detector."""
import pytest


@pytest.mark.parametrize("part", [
    "events_ring", "gate", "inject", "names", "selinux", "session", "users"])
def test_part(program, suite, part):
    suite([program(f"{part}_test")])
