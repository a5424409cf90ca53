# SPDX-License-Identifier: GPL-2.0
#
# Checks of the source tree and of the scripts that the other tests rely on.
TESTS += source:tidy source:protocol source:run-tests source:help source:setup source:cargo-build \
	source:bench
LINT_TARGETS += lint-c

# Those of other projects have versions of their own, and the examples show nothing but Binder. The
# daemon's unit tests include nothing of tests/.
TESTS += source:versions
VERSIONED = $(filter-out $(BIN)/rsb_hub,$(PROGRAMS)) $(CLIENT_TESTS) $(HOSTILE_PROGRAMS) \
	$(FUZZ_TARGETS:%=$(BIN)/fuzz-%) $(addprefix $(BIN)/,unit_test race_test heap-sim)
source.versions.needs = $(VERSIONED)
source.versions.run = scripts/check-versions $(VERSION) $(VERSIONED)

source.tidy.run = scripts/tidy --self-test --summary
source.help.run = scripts/check-help $(filter Makefile %rules.mk,$(MAKEFILE_LIST))
source.run-tests.run = scripts/run-tests --self-test
source.setup.run = scripts/check-setup
source.cargo-build.run = scripts/cargo-build --self-test
source.bench.run = $(PYTHON) bench/report.py && $(PYTHON) -B bench/vm/race.py

# The programs are built with gcc; clang finds other warnings.
lint-c:
	@for file in $(CORE_SRCS) $(STATE_SRCS) $(FUSE_SRCS); do \
		$(CLANG) $(filter-out -O2 -g,$(CFLAGS)) $(CPPFLAGS) -Icore -Ihost -Ihost/fuse \
			-fsyntax-only $$file || exit 1; \
	done

# docs/PROTOCOL.md lists the conformance tests with the rules that they test.
RULES := $(BUILD)/protocol.tsv

$(RULES): $(BIN)/anybinder-conformance
	@$< --list >$@

source.protocol.needs := $(RULES)
source.protocol.run = scripts/protocol $(RULES)

# docs/COMMANDS.md has what the commands say of themselves.
TESTS += source:commands
COMMANDS := scripts/commands.py $(BIN)/anybinder $(BIN)/anybinderd
source.commands.needs := all
source.commands.run = $(COMMANDS) && echo "commands: 1 passed, 0 failed, 0 skipped"

.PHONY: commands protocol
## commands: update the tables of docs/COMMANDS.md
commands: all
	@$(COMMANDS) --write

## protocol: update the list of conformance tests in docs/PROTOCOL.md
protocol: $(RULES)
	@scripts/protocol $(RULES) --write

.PHONY: bare-test
## bare-test: the two commands of README in bare Debian 12 and 13 roots; PLACES="chroot enter container"
bare-test:
	@scripts/test-bare $(PLACES:%=--in %) $(SUITE)
