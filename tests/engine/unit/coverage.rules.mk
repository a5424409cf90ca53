# SPDX-License-Identifier: GPL-2.0
#
# The programs of tests/engine/unit/test_coverage.py.
COV_FLAGS := -fprofile-instr-generate -fcoverage-mapping

COMPUTING_PROGRAMS += $(BIN)/cov_test $(BIN)/cov_sim $(BIN)/cov_conformance

$(eval $(call object_rule,cov,$(CLANG),$(UNIT_FLAGS) $(COV_FLAGS)))
$(eval $(call object_rule,cov-sim,$(CLANG),$(filter-out -Wno-maybe%,$(SIM_FLAGS)) -O1 $(COV_FLAGS)))

$(eval $(call object_rule,cov-conformance,$(CLANG),$(CONFORMANCE_ENGINE_FLAGS) $(COV_FLAGS)))

$(BIN)/cov_test $(BIN)/cov_sim $(BIN)/cov_conformance: CC = $(CLANG)
$(BIN)/cov_test $(BIN)/cov_sim $(BIN)/cov_conformance: LDFLAGS += $(COV_FLAGS)
$(BIN)/cov_test: $(UNIT_SRCS:%.c=$(OBJ)/cov/%.o)
# The engine and its host with counters; the tests themselves need none.
$(BIN)/cov_conformance: $(CONFORMANCE_ENGINE_CORE:%.c=$(OBJ)/cov/%.o) $(patsubst %.c,$(OBJ)/%.o,$(filter-out \
	$(CONFORMANCE_DIR)/engine/%,$(CONFORMANCE_ENGINE_SRC))) $(patsubst %.c,$(OBJ)/cov-conformance/%.o,$(filter \
	$(CONFORMANCE_DIR)/engine/%,$(CONFORMANCE_ENGINE_SRC)))
