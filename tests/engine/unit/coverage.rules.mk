# SPDX-License-Identifier: GPL-2.0
#
# How much of the engine the tests without an operating system reach: the unit tests (except those with
# racing threads, which reach something else each time), the kept inputs of the fuzzers and the worlds
# of the simulator.
#
#   test-unit VARIANT=coverage  lines must stay above the bound, and every branch that is never taken
#                               has a reason in tests/engine/unit/unreached
#   make coverage               the same, and the annotated source as build/coverage/index.html
COV_SEEDS := 5000
COV_FLAGS := -fprofile-instr-generate -fcoverage-mapping
COV_OUT   := $(BUILD)/coverage

TESTS += unit:coverage
.PHONY: coverage coverage-profile

$(eval $(call object_rule,cov,$(CLANG),$(UNIT_FLAGS) $(COV_FLAGS)))
$(eval $(call object_rule,cov-sim,$(CLANG),$(filter-out -Wno-maybe%,$(SIM_FLAGS)) -O1 $(COV_FLAGS)))

$(BIN)/cov_test $(BIN)/cov_sim: CC = $(CLANG)
$(BIN)/cov_test $(BIN)/cov_sim: LDFLAGS += $(COV_FLAGS)
$(BIN)/cov_test: $(UNIT_SRCS:%.c=$(OBJ)/cov/%.o)

# Both fork, and a child inherits the name of the file: only %m makes processes take turns and add up.
coverage-profile: $(BIN)/cov_test $(BIN)/cov_sim
	@rm -rf $(COV_OUT) && mkdir -p $(COV_OUT)
	@LLVM_PROFILE_FILE=$(COV_OUT)/unit-%m.profraw timeout 300 \
		$(BIN)/cov_test --without storm threads >$(COV_OUT)/log || { tail -20 $(COV_OUT)/log; false; }
	@LLVM_PROFILE_FILE=$(COV_OUT)/sim-%m.profraw timeout 300 $(BIN)/cov_sim --seeds $(COV_SEEDS) \
		>>$(COV_OUT)/log || { tail -20 $(COV_OUT)/log; false; }
	@llvm-profdata-19 merge -o $(COV_OUT)/all.profdata $(COV_OUT)/*.profraw
	@llvm-cov-19 export $(BIN)/cov_test -object $(BIN)/cov_sim -instr-profile=$(COV_OUT)/all.profdata \
		$(CORE_SRCS) >$(COV_OUT)/all.json

unit.coverage.needs := $(BIN)/cov_test $(BIN)/cov_sim coverage-profile
unit.coverage.run = tests/engine/unit/coverage $(COV_OUT)/all.json tests/engine/unit/unreached

## coverage: which lines and branches of core/ the unit tests, fuzzers' inputs and simulator reach
coverage: coverage-profile
	@$(unit.coverage.run)
	llvm-cov-19 show $(BIN)/cov_test -object $(BIN)/cov_sim -instr-profile=$(COV_OUT)/all.profdata -format=html \
		-show-branches=count -output-dir=$(COV_OUT) $(CORE_SRCS)
