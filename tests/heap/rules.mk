# SPDX-License-Identifier: GPL-2.0
#
# The heaps in a virtual machine of each kernel: the stock heap where that kernel has one, and this
# project's, and their buffers across Binder, of the stock driver and of this project. The program
# uses the harness of the conformance suite.
HEAP_TESTS := tests/heap
HEAP_TEST_KVERS := 6.12 6.1
HEAP_CASE_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(HEAP_TESTS)/*.c \
	tests/drivers/conformance/lib/*.c tests/drivers/conformance/harness/*.c tests/lib/*.c))

$(OBJ)/$(HEAP_TESTS)/%.o: CPPFLAGS += -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-heap-test: LDFLAGS += -static
$(BIN)/anybinder-heap-test: $(HEAP_CASE_OBJ)

VM_TESTS += heap:vm

# An importer of buffers for the tests, built as the modules are, in a directory of its own.
heap.vm.needs := $(BIN)/anybinder-heap-test $(HEAP_TEST_KVERS:%=module-%)
heap.vm.run = for kernel in $(HEAP_TEST_KVERS); do \
		$(HEAP_TESTS)/build-importer $$kernel || exit 1; done; \
	$(HEAP_TESTS)/run $(HEAP_TEST_KVERS)
