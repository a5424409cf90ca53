# SPDX-License-Identifier: GPL-2.0
#
# The same tests with the engine in the program, on the test host: instead of the parts that ask a
# kernel for processes, files and scheduling, engine/ has those that simulate them. The engine and
# its host are compiled as for the unit tests.
CONFORMANCE_ENGINE_SRC := $(filter-out $(addprefix $(CONFORMANCE_DIR)/lib/,files.c actor_process.c \
	thread_scheduling.c),$(CONFORMANCE_SRC)) $(wildcard $(CONFORMANCE_DIR)/engine/*.c)
CONFORMANCE_ENGINE_CORE := $(CORE_SRCS) $(STATE_SRCS) \
	$(addprefix host/test/,fiber.c memory.c sim.c state.c)
# Not all by -I: host/linux is no place for <linux/...>.
CONFORMANCE_ENGINE_FLAGS := -iquotecore -iquotehost -Ihost/test -Itests -I$(CONFORMANCE_DIR)/lib \
	-DBINDER_DEBUG -O1

$(eval $(call object_rule,conformance-engine,$(CLANG),$(CONFORMANCE_ENGINE_FLAGS) $(UNIT_SAN)))
$(BIN)/conformance-engine: CC = $(CLANG)
$(BIN)/conformance-engine: LDFLAGS += $(UNIT_SAN)
$(BIN)/conformance-engine: $(CONFORMANCE_ENGINE_SRC:%.c=$(OBJ)/conformance-engine/%.o) \
	$(CONFORMANCE_ENGINE_CORE:%.c=$(OBJ)/unit/%.o)

COMPUTING_PROGRAMS += $(BIN)/conformance-engine

# For tests/engine/unit/test_coverage.py. This fragment is read after that of the unit tests, whose
# variables it uses.
$(eval $(call object_rule,cov-conformance,$(CLANG),$(CONFORMANCE_ENGINE_FLAGS) $(COV_FLAGS)))
# The engine and its host with counters; the tests themselves need none.
$(BIN)/cov_conformance: $(CONFORMANCE_ENGINE_CORE:%.c=$(OBJ)/cov/%.o) $(patsubst %.c,$(OBJ)/%.o,$(filter-out \
	$(CONFORMANCE_DIR)/engine/%,$(CONFORMANCE_ENGINE_SRC))) $(patsubst %.c,$(OBJ)/cov-conformance/%.o,$(filter \
	$(CONFORMANCE_DIR)/engine/%,$(CONFORMANCE_ENGINE_SRC)))
