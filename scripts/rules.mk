# SPDX-License-Identifier: GPL-2.0
#
# Checks of the source tree and of the scripts that the other tests rely on: scripts/test_*.py.
LINT_TARGETS += lint-c

# Programs whose --version is tested. Those of other projects have versions of their own, and the
# examples show nothing but Binder. The daemon's unit tests include nothing of tests/.
VERSIONED = $(PROGRAMS) $(CLIENT_TESTS) $(HOSTILE_PROGRAMS) \
	$(filter-out $(addprefix $(BIN)/,cov_% heap_test_% %-asan),$(COMPUTING_PROGRAMS))

# The programs are built with gcc; clang finds other warnings.
lint-c:
	@for file in $(CORE_SRCS) $(STATE_SRCS) $(FUSE_SRCS); do \
		$(CLANG) $(filter-out -O2 -g1,$(CFLAGS)) $(CPPFLAGS) -Icore -Ihost -Ihost/fuse \
			-fsyntax-only $$file || exit 1; \
	done

.PHONY: docs
## docs: update what docs/COMMANDS.md lists of the programs
docs: all
	@scripts/doc_lists.py COMMANDS.md $(BIN)/anybinder $(BIN)/anybinderd --write
