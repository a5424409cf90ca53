# SPDX-License-Identifier: GPL-2.0
"""The buffer allocator in every order of freeing, compared with a model."""
import pytest


@pytest.mark.computing
@pytest.mark.parametrize("buffers", [
    pytest.param(5, marks=pytest.mark.takes(20)),
    pytest.param(6, marks=[pytest.mark.long, pytest.mark.timeout(36000)])])
def test_alloc(program, suite, buffers):
    """With five buffers, 4.7 million cases."""
    suite([program("alloc_exhaustive"), str(buffers)], timeout=36000)
