# SPDX-License-Identifier: GPL-2.0
TEST_TARGETS += test-tidy

test-tidy:
	@scripts/tidy --self-test --summary
