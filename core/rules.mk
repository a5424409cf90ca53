# SPDX-License-Identifier: GPL-2.0
#
# The engine belongs to no home: each compiles these files with its own
# host_types.h and host_impl.h on the include path (-Icore -Ihost -Ihost/HOME).
CORE_SRCS := $(filter-out %_test.c,$(wildcard core/*/*.c))

# The lock annotations are read by clang alone, and on members of C structs by
# clang 19 and later. The last line sees that the check finds a planted breach.
CLANG_LOCKS := clang-19 -std=gnu11 -fsyntax-only -Wthread-safety -Werror -DBINDER_DEBUG \
	-D_GNU_SOURCE -Icore -Ihost -Ihost/test
LOCKS_BREACH := '\#include "things/proc.h"\nint f(struct binder_proc *p);\n\
	int f(struct binder_proc *p) { return p->nr_threads; }\n'

TEST_TARGETS += test-locks

test-locks:
	@passed=0; failed=0; \
	for file in $(CORE_SRCS); do \
		if $(CLANG_LOCKS) $$file; then passed=$$((passed + 1)); \
		else failed=$$((failed + 1)); fi; \
	done; \
	if printf $(LOCKS_BREACH) | $(CLANG_LOCKS) -xc - 2>&1 | grep -q 'requires holding'; \
	then passed=$$((passed + 1)); \
	else failed=$$((failed + 1)); echo "a read without the lock went unseen"; fi; \
	echo "locks: $$passed passed, $$failed failed, 0 skipped"; test $$failed = 0
