# SPDX-License-Identifier: GPL-2.0
TEST_TARGETS += test-run-tests test-tidy
LINT_TARGETS += lint-c

test-run-tests:
	@scripts/run-tests --self-test

test-tidy:
	@scripts/tidy --self-test --summary

# The programs are built with gcc; clang finds other warnings.
lint-c:
	@for file in $(CORE_SRCS) $(FUSE_SRCS); do \
		$(CLANG) $(filter-out -O2 -g,$(CFLAGS)) $(CPPFLAGS) -Icore -Ihost -Ihost/fuse \
			-fsyntax-only $$file || exit 1; \
	done

# docs/PROTOCOL.md lists the conformance tests with the rules that they test.
TEST_TARGETS += test-protocol
RULES := $(BUILD)/protocol.tsv

$(RULES): $(BIN)/anybinder-conformance
	@$< --list >$@

test-protocol: $(RULES)
	@scripts/protocol $(RULES)

.PHONY: protocol
## protocol: update the list of conformance tests in docs/PROTOCOL.md
protocol: $(RULES)
	@scripts/protocol $(RULES) --write
