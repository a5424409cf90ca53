# SPDX-License-Identifier: GPL-2.0
#
# The engine belongs to no host: each compiles these files with its own
# host_types.h and host_impl.h on the include path (-Icore -Ihost -Ihost/HOST).
CORE_SRCS := $(filter-out %_test.c core/state/%,$(wildcard core/*/*.c))
# For hosts that hand the engine over (host/state.h); not in the module.
STATE_SRCS := $(filter-out %_test.c,$(wildcard core/state/*.c))

# The lock annotations are read by clang alone, and on members of C structs by
# clang 19 and later. The last check is that a planted breach is found.
CLANG_LOCKS := clang-19 -std=gnu11 -fsyntax-only -Wthread-safety -Werror -DBINDER_DEBUG \
	-D_GNU_SOURCE -Icore -Ihost -Ihost/test
LOCKS_BREACH := '\#include "things/proc.h"\nint f(struct binder_proc *p);\n\
	int f(struct binder_proc *p) { return p->nr_threads; }\n'

TESTS += source:locks

# $(call clang_check,NAME,COMPILER,FILES,BREACH,TEXT): each file passes, and TEXT is in what is said of
# the planted BREACH.
define clang_check
passed=0; failed=0; \
	for file in $(3); do \
		if $(2) $$file; then passed=$$((passed + 1)); \
		else failed=$$((failed + 1)); fi; \
	done; \
	if printf $(4) | $(2) -xc - 2>&1 | grep -q '$(5)'; \
	then passed=$$((passed + 1)); \
	else failed=$$((failed + 1)); echo "clang does not find what is planted"; fi; \
	echo "$(1): $$passed passed, $$failed failed, 0 skipped"; test $$failed = 0
endef

source.locks.run = $(call clang_check,locks,$(CLANG_LOCKS),$(CORE_SRCS) $(STATE_SRCS),$\
	$(LOCKS_BREACH),requires holding)
