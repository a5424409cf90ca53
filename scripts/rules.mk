# SPDX-License-Identifier: GPL-2.0
TEST_TARGETS += test-run-tests test-tidy
LINT_TARGETS += lint-c

test-run-tests:
	@scripts/run-tests --self-test

test-tidy:
	@scripts/tidy --self-test --summary

# The programs are built with gcc; clang has warnings of its own.
lint-c:
	@for file in $(CORE_SRCS) $(FUSE_SRCS); do \
		$(CLANG) $(filter-out -O2 -g,$(CFLAGS)) $(CPPFLAGS) -Icore -Ihost -Ihost/fuse \
			-fsyntax-only $$file || exit 1; \
	done
