# SPDX-License-Identifier: GPL-2.0
TEST_TARGETS += test-tidy

test-tidy:
	@scripts/tidy --self-test --summary

# docs/PROTOCOL.md lists the conformance tests as the rules that they pin.
TEST_TARGETS += test-protocol
RULES := $(BUILD)/protocol.tsv

$(RULES): $(BIN)/anybinder-conformance
	@$< --list >$@

test-protocol: $(RULES)
	@scripts/protocol $(RULES)

.PHONY: protocol
## protocol: list the conformance tests in docs/PROTOCOL.md
protocol: $(RULES)
	@scripts/protocol $(RULES) --write
