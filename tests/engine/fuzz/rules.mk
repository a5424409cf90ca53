# SPDX-License-Identifier: GPL-2.0
#
# Fuzzing of the engine on the test host (libFuzzer; AddressSanitizer, UBSan and the lock checker on).
#
#   pytest tests/engine/fuzz   every input that is kept, then a bounded search from there
#   make fuzz TARGET=stream    search until stopped, on all cores; SECONDS=N ends it after that
#   make fuzz-merge            keep the fewest inputs that reach what is reached by all, found ones too
#
# tests/engine/fuzz/corpus/TARGET.hex lists the kept inputs, a line each; tests/engine/fuzz/inputs.py
# writes them as files to build/fuzz/TARGET-kept. A search leaves what it finds in
# build/fuzz/TARGET. An input that made a run fail is written to build/fuzz/TARGET-crash-*;
# `build/bin/fuzz-TARGET FILE` plays it again.
FUZZ_TARGETS := range object sg stream
FUZZ_SRCS    := $(CORE_SRCS) $(STATE_SRCS) $(wildcard host/test/*.c) tests/engine/unit/random.c \
	$(filter-out %_test.c tests/engine/fuzz/main.c,$(wildcard tests/engine/fuzz/*.c))
FUZZ_MAX_LEN := 4096
TARGET ?= stream
SECONDS ?= 0

COMPUTING_PROGRAMS += $(FUZZ_TARGETS:%=$(BIN)/fuzz-%)
.PHONY: fuzz fuzz-merge $(FUZZ_TARGETS:%=fuzz-inputs-%)

# Each time anew: libFuzzer adds what it finds to the first directory that it is given.
$(FUZZ_TARGETS:%=fuzz-inputs-%): fuzz-inputs-%:
	@tests/engine/fuzz/inputs.py unpack tests/engine/fuzz/corpus/$*.hex $(BUILD)/fuzz/$*-kept

$(FUZZ_TARGETS:%=$(OBJ)/fuzz/main-%.o): $(OBJ)/fuzz/main-%.o: tests/engine/fuzz/main.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CLANG) $(CPPFLAGS) $(CFLAGS) $(UNIT_FLAGS) $(UNIT_SAN) \
		-DFUZZ_TARGET=fuzz_$* -MMD -MP -c -o $@ $<

# The engine as compiled for the unit tests.
$(FUZZ_TARGETS:%=$(BIN)/fuzz-%): $(BIN)/fuzz-%: $(OBJ)/fuzz/main-%.o $(FUZZ_SRCS:%.c=$(OBJ)/unit/%.o)
	$(Q)$(call say,LD,$@)$(CLANG) $(LDFLAGS) $(UNIT_SAN) -fsanitize=fuzzer -o $@ $^

## fuzz: search for inputs that break the engine (TARGET=range|object|sg|stream, SECONDS=N)
fuzz: $(BIN)/fuzz-$(TARGET) fuzz-inputs-$(TARGET)
	mkdir -p $(BUILD)/fuzz/$(TARGET)
	$(BIN)/fuzz-$(TARGET) $(BUILD)/fuzz/$(TARGET) $(BUILD)/fuzz/$(TARGET)-kept -max_len=$(FUZZ_MAX_LEN) \
		-max_total_time=$(SECONDS) -fork=$$(nproc) -artifact_prefix=$(BUILD)/fuzz/$(TARGET)-

# fuzz-merge: the fewest inputs that reach, as often, whatever the kept and the found ones reach
fuzz-merge: $(FUZZ_TARGETS:%=$(BIN)/fuzz-%) $(FUZZ_TARGETS:%=fuzz-inputs-%)
	@for target in $(FUZZ_TARGETS); do \
		dir=$(BUILD)/fuzz/$$target && rm -rf $$dir-few && mkdir -p $$dir $$dir-few && \
		$(BIN)/fuzz-$$target -set_cover_merge=1 -max_len=$(FUZZ_MAX_LEN) $$dir-few $$dir-kept $$dir && \
		tests/engine/fuzz/inputs.py pack $$dir-few tests/engine/fuzz/corpus/$$target.hex || exit; \
	done
