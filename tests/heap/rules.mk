# SPDX-License-Identifier: GPL-2.0
#
# The program of tests/heap/test_heap_module.py uses the harness of the conformance suite.
HEAP_TESTS := tests/heap
HEAP_CASE_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(HEAP_TESTS)/*.c \
	tests/drivers/conformance/lib/*.c tests/drivers/conformance/harness/*.c tests/lib/*.c))

$(OBJ)/$(HEAP_TESTS)/%.o: CPPFLAGS += -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-heap-test: LDFLAGS += -static
$(BIN)/anybinder-heap-test: $(HEAP_CASE_OBJ)

TEST_PROGRAMS += $(BIN)/anybinder-heap-test

# An importer of buffers for the tests, built as the modules are, in a directory of its own.
HEAP_IMPORTER = $(BUILD)/module/importer-$*
heap-importer-%:
	@host/linux/link-sources.sh $(abspath $(HEAP_IMPORTER)) $(HEAP_TESTS)/importer
	@flock $(HEAP_IMPORTER) vm/kbuild.sh $* $(abspath $(HEAP_IMPORTER)) -s W=1
