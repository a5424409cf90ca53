# SPDX-License-Identifier: GPL-2.0
"""The page pools in user space."""
import pytest

pytestmark = pytest.mark.computing


def test_pools_under_asan(program, suite):
    suite([program("heap_test_asan")], timeout=120)


def test_pools_under_tsan(program, suite):
    suite([program("heap_test_tsan")], timeout=120, env={"TSAN_OPTIONS": "halt_on_error=1"})


def test_pools_in_the_simulator(program, suite):
    """A seed is one interleaving."""
    suite([program("heap-sim"), "--seeds", "20000"], timeout=120)
