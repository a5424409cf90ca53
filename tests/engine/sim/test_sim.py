# SPDX-License-Identifier: GPL-2.0
"""The simulator: the engine on the test host, whole worlds of simulated processes, one a seed."""
import pytest

pytestmark = [pytest.mark.computing, pytest.mark.takes(60)]


@pytest.mark.parametrize("build, options", [
    pytest.param("", ["--seeds", "300", "--hand-over"], id="few", marks=pytest.mark.check),
    pytest.param("", ["--seeds", "10000", "--cover"], id="plain"),
    pytest.param("-asan", ["--seeds", "1000"], id="asan"),
    pytest.param("", ["--seeds", "10000", "--hand-over"], id="handed"),
    pytest.param("-asan", ["--seeds", "300", "--hand-over"], id="handed-asan"),
    pytest.param("", ["--seeds", "100000", "--hand-over"], id="handed-long",
                 marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
])
def test_sim(program, suite, build, options):
    """Every cover point must be reached; a hand-over must not be noticed."""
    suite([program(f"anybinder-sim{build}"), *options], timeout=3600)


def test_fields(program, suite):
    """The loss of each field of the state in a hand-over, in turn, must be found."""
    suite([program("anybinder-sim"), "--fields"], timeout=600)


@pytest.mark.parametrize("options", [
    pytest.param([], id="short"),
    pytest.param(["--long"], id="long", marks=[pytest.mark.long, pytest.mark.timeout(36000)])])
def test_exhaustive(program, suite, options):
    """Small worlds, each in every schedule."""
    suite([program("anybinder-sim-exhaustive"), *options], timeout=36000)
