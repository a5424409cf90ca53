# SPDX-License-Identifier: GPL-2.0
# What the tests of the tools run (test_*.py).
TEST_PROGRAMS += $(CLIENT_TESTS)
