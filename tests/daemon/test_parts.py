# SPDX-License-Identifier: GPL-2.0
"""Parts of the daemon by themselves, in C: with a clock of the test's own, or the race detector."""
import pytest


@pytest.mark.parametrize("part", [
    "bound_open", "events_ring", "gate", "handles", "inject", "lookup_turn", "persistent",
    "selinux", "users"])
def test_part(program, suite, part):
    suite([program(f"{part}_test")])
