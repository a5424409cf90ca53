# SPDX-License-Identifier: GPL-2.0
#
# One non-recursive make. Each directory brings a fragment (rules.mk, or
# NAME.rules.mk for a part of it) that adds to the lists below; the fragments see
# the variables defined before the include line, and the targets after it see what
# the fragments added.
#
#   PROGRAMS         files under $(BIN) that plain `make` builds
#   TEST_TARGETS     phony targets run by `make test`
#   VM_TEST_TARGETS  phony targets run by `make vm-test`
#   BENCH_TARGETS    phony targets run by `make bench`
#   LINT_TARGETS     phony targets run by `make lint`
#
# A test target prints `NAME: N passed, N failed, N skipped` as its last word
# and exits non-zero if anything failed.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables

# `make V=1` shows whole commands; otherwise one short line each:  $(Q)$(call say,CC,$@)
Q   := $(if $(V),,@)
say = $(if $(V),,echo "  $(1)	$(2)";)

BUILD := build
BIN   := $(BUILD)/bin
OBJ   := $(BUILD)/obj
# Rust programs of every fragment share one target directory.
CARGO_TARGET_DIR := $(abspath $(BUILD)/cargo)
export CARGO_TARGET_DIR

CC    := gcc
CLANG := clang-19
CARGO := cargo
PYTHON := python3

WARN := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow \
	-Wundef -Wvla -Wno-unused-parameter -Wno-missing-field-initializers
CFLAGS   := -std=gnu11 -O2 -g -fno-strict-aliasing -fno-common -pthread $(WARN) $(EXTRA_CFLAGS)
CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I.
LDFLAGS  := -pthread $(EXTRA_LDFLAGS)
LDLIBS   :=

PROGRAMS :=
TEST_TARGETS :=
VM_TEST_TARGETS :=
BENCH_TARGETS :=
LINT_TARGETS :=

.DEFAULT_GOAL := all

# A fragment sets include paths for its own objects with a pattern-specific
# variable, e.g.  $(OBJ)/host/fuse/%.o: CPPFLAGS += -Ihost/fuse
include $(filter-out $(BUILD)/%,$(wildcard */rules.mk */*/rules.mk */*/*.rules.mk))

.PHONY: all test vm-test bench demo demo-run setup tidy lint clean help $(TEST_TARGETS) \
	$(VM_TEST_TARGETS) $(BENCH_TARGETS) $(LINT_TARGETS)

## all: build every program (the default)
all: $(PROGRAMS)

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# A fragment names a program's objects (`$(BIN)/x: $(OBJ)/a.o ...`) and may add
# to LDLIBS for that target; the recipe is here.
$(BIN)/%:
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS)

-include $(shell test -d $(OBJ) && find $(OBJ) -name '*.d')

## test: every test that needs no virtual machine; ends with the total
test: all
	@scripts/run-tests --record $(BUILD)/test.total $(TEST_TARGETS)

## vm-test: the tests that boot a kernel in QEMU; ends with the total
vm-test: all vm-fetch
	@scripts/run-tests --record $(BUILD)/vm-test.total $(VM_TEST_TARGETS)

## bench: measurements, side by side with other IPC systems
bench: all $(BENCH_TARGETS)

## demo: set up, build and show the whole thing at work
demo:
	@scripts/setup build demo
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory demo-run

## setup: install what building and testing need (Debian packages)
setup:
	@scripts/setup

## tidy: the rules of the house that no compiler checks
tidy:
	@scripts/tidy

## lint: tidy and every static check
lint: tidy $(LINT_TARGETS)

## clean: remove build/
clean:
	rm -rf $(BUILD)

## help: this list
help:
	@sed -n 's/^## /  /p' $(firstword $(MAKEFILE_LIST))
	@echo "  test targets: $(TEST_TARGETS)"
	@echo "  vm test targets: $(VM_TEST_TARGETS)"
	@echo "  bench targets: $(BENCH_TARGETS)"
	@echo "  lint targets: $(LINT_TARGETS)"
