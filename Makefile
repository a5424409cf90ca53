# SPDX-License-Identifier: GPL-2.0
#
# One non-recursive make. A directory brings a fragment (rules.mk) that adds to the
# lists below; the fragments see the variables defined before the include line, and
# the targets after it see what the fragments added.
#
#   PROGRAMS         files under $(BIN) that plain `make` builds
#   TEST_PROGRAMS    likewise, what only tests need
#   COMPUTING_PROGRAMS  what tests that only compute need: built while the others run
#   VM_MODULES       targets that build the kernel modules for `make vm-test`
#   LINT_TARGETS     phony targets run by `make lint`
#
# Tests are declared to pytest (docs/TESTING.md), not here.

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
# The architecture that it compiles for: x86_64, aarch64 ...
TARGET := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
CLANG := clang-19
# scripts/setup accepts a cargo that rustup installed, which is often not on PATH.
CARGO := $(firstword $(wildcard $(HOME)/.cargo/bin/cargo) cargo)
# Debian's, which has pytest; another python3 may come first on PATH.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)

# A recipe that begins with $(call need,PROGRAM) fails with advice if the program is missing.
need = $(if $(shell command -v $(1)),,$(error $(notdir $(1)) is missing: `make setup` installs \
	what building and testing need (Debian; once, as root)))

# One version for all programs and packages.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' tools/Cargo.toml | head -1)

WARN := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow \
	-Wundef -Wvla -Wno-unused-parameter -Wno-missing-field-initializers
# A report of a sanitizer needs no more than lines; for a debugger: EXTRA_CFLAGS=-g2
CFLAGS   := -std=gnu11 -O2 -g1 -fno-strict-aliasing -fno-common -pthread $(WARN) $(EXTRA_CFLAGS)
CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -DANYBINDER_VERSION='"$(VERSION)"'
LDFLAGS  := -pthread $(EXTRA_LDFLAGS)
LDLIBS   :=

# Expanded late: a fragment may name what a later one defines.
PROGRAMS =
TEST_PROGRAMS =
COMPUTING_PROGRAMS =
VM_MODULES =
LINT_TARGETS :=

.DEFAULT_GOAL := all

# A rule for objects under $(OBJ)/$(1), compiled by $(2) with the flags $(3):
#   $(eval $(call object_rule,NAME,$(CC),FLAGS))
define object_rule
$$(OBJ)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(Q)$$(call need,$(2))$$(call say,CC,$$@)$(2) $$(CPPFLAGS) $$(CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
endef

# A fragment sets include paths for its own objects with a pattern-specific
# variable, e.g.  $(OBJ)/host/test/%.o: CPPFLAGS += -Ihost/test
include $(filter-out $(BUILD)/% vendor/%,$(wildcard $(foreach depth,*/ */*/ */*/*/, \
	$(depth)rules.mk)))

.PHONY: all check test test-needs tests-compiled vm-test vm-build demo setup tidy lint clean help \
	$(LINT_TARGETS)

## all: build every program (the default)
all: $(PROGRAMS)

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call need,$(CC))$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# A fragment names a program's objects (`$(BIN)/x: $(OBJ)/a.o ...`) and may add
# to LDLIBS for that target; the recipe is here.
$(BIN)/%:
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS)

-include $(shell test -d $(OBJ) && find $(OBJ) -name '*.d')

# The objects of sources that name the version, of whatever build.
NAMING_VERSION := $(sort $(notdir $(basename $(shell grep -rlE 'ANYBINDER_VERSION|tests/version\.h' \
	--include='*.c' bench heap host tests))))
$(shell test -d $(OBJ) && find $(OBJ) -name 'main-*.o' $(NAMING_VERSION:%=-o -name %.o)): tools/Cargo.toml

# One at a time, the compilers would leave all processors but one idle.
PARALLEL_MAKE = $(MAKE) --no-print-directory -j$(shell nproc)
# Most tests wait: more of them than processors run at a time.
WORKERS := $(shell echo $$(($(shell nproc) * 3)))
# $(call pytest,WORKERS,WHAT IS BUILT): the rest is built, or found to be up to date, by the tests.
pytest = ANYBINDER_BUILT="$(2)" $(PYTHON) -m pytest -n $(1) --dist loadgroup

# What is not built here fails in the test that needs it.
CHECK_PROGRAMS := $(addprefix $(BIN)/,unit_test anybinder-sim anybinder anybinderd anybinderd-asan \
	anybinder-conformance conformance-engine)
## check: what finds most mistakes, in two minutes
check:
	-@$(PARALLEL_MAKE) --keep-going $(CHECK_PROGRAMS)
	@$(call pytest,$(WORKERS),$(CHECK_PROGRAMS)) -m check

## test: set up, and run every test that needs no virtual machine; ends with the totals
test:
	@scripts/setup build test
	-@$(PARALLEL_MAKE) --keep-going test-needs
	@mkdir -p $(BUILD)/locks
	@nice -n 19 flock $(BUILD)/locks/make $(PARALLEL_MAKE) --keep-going $(COMPUTING_PROGRAMS) & \
		$(call pytest,$(WORKERS),$(PROGRAMS) $(TEST_PROGRAMS)) --record $(BUILD)/test.total; \
		status=$$?; wait; exit $$status

# The tests are compiled once, and not by each process that runs some.
tests-compiled:
	@nice -n 19 $(PYTHON) -m pytest --collect-only -qq >/dev/null

test-needs: all tests-compiled $(TEST_PROGRAMS)

## vm-test: set up, and run the tests that boot a kernel in QEMU; ends with the totals
vm-test:
	@scripts/setup build test vm
	-@$(PARALLEL_MAKE) --keep-going vm-fetch test-needs vm-build
	@$(call pytest,$(shell nproc),$(PROGRAMS) $(TEST_PROGRAMS) $(VM_MODULES)) --vm \
		--record $(BUILD)/vm-test.total

# vm-build: the modules for vm-test; may run beside make test
vm-build: vm-fetch
	@$(PARALLEL_MAKE) --keep-going $(VM_MODULES)

# For tests/lib: the value of a variable.
print-%:
	@:$(info $($*))

## demo: set up, build the daemon and the command, and show the whole thing at work
demo:
	@scripts/setup build demo
	@$(PARALLEL_MAKE) DEMO=y $(BIN)/anybinder $(BIN)/anybinderd
	@$(BIN)/anybinder demo

## setup: install what building and testing need (Debian packages)
setup:
	@scripts/setup

# tidy: the rules of the house that no compiler checks
tidy:
	@scripts/tidy.py

## lint: tidy and every static check
lint: tidy $(LINT_TARGETS)

## clean: remove build/
clean:
	rm -rf $(BUILD)

## help: this list
help:
	@sed -n 's/^## /  /p' $(filter Makefile %rules.mk,$(MAKEFILE_LIST))
	@echo
	@echo "  Single tests: pytest -k WORDS, or a path; with --long or --vm those of the other runs, too"
	@echo "  (docs/TESTING.md)."
	@echo "  Parts of make lint: tidy $(LINT_TARGETS)"
