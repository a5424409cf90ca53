# SPDX-License-Identifier: GPL-2.0
"""The unit tests of the engine: one program on the test host, with debug checks and sanitizers."""
import pytest

pytestmark = pytest.mark.computing

# Words in the names of tests that look at objects of the engine across calls, have more of them
# than is worth the time, or let host operations fail.
NOT_HANDED = "storm threads failure undo limit fuzz_of given_up thread_ state_".split()


@pytest.mark.check
@pytest.mark.takes(20)
def test_unit(program, suite):
    suite([program("unit_test")])


@pytest.mark.takes(30)
def test_races(program, suite):
    """Those with threads of their own, under the race detector."""
    suite([program("race_test"), "storm", "threads"], env={"TSAN_OPTIONS": "halt_on_error=1"})


@pytest.mark.takes(30)
def test_handed(program, suite):
    """The engine is written, freed and restored before each call."""
    suite([program("unit_test"), "--without", *NOT_HANDED], env={"UNIT_HAND_OVER": "1"})


@pytest.mark.takes(60)
def test_fields(program, suite):
    """Each field of the state that the simulator does not look for is lost in a hand-over, in turn;
    the tests that are named for it must fail."""
    suite([program("unit_test")], timeout=600, env={"UNIT_LOSE_FIELDS": "1"})


@pytest.mark.parametrize("buffers", [
    pytest.param(5, marks=pytest.mark.takes(20)),
    pytest.param(6, marks=[pytest.mark.long, pytest.mark.timeout(36000)])])
def test_alloc(program, suite, buffers):
    """The buffer allocator in every order of freeing, compared with a model. With five buffers, 4.7
    million cases."""
    suite([program("alloc_exhaustive"), str(buffers)], timeout=36000)
