# SPDX-License-Identifier: GPL-2.0
#
# The programs of tests/engine/unit/test_coverage.py.
COV_FLAGS := -fprofile-instr-generate -fcoverage-mapping

COMPUTING_PROGRAMS += $(BIN)/cov_test $(BIN)/cov_sim

$(eval $(call object_rule,cov,$(CLANG),$(UNIT_FLAGS) $(COV_FLAGS)))
$(eval $(call object_rule,cov-sim,$(CLANG),$(filter-out -Wno-maybe%,$(SIM_FLAGS)) -O1 $(COV_FLAGS)))

$(BIN)/cov_test $(BIN)/cov_sim: CC = $(CLANG)
$(BIN)/cov_test $(BIN)/cov_sim: LDFLAGS += $(COV_FLAGS)
$(BIN)/cov_test: $(UNIT_SRCS:%.c=$(OBJ)/cov/%.o)
