# SPDX-License-Identifier: GPL-2.0
#
# The engine belongs to no host: each compiles these files with its own
# host_types.h and host_impl.h on the include path (-Icore -Ihost -Ihost/HOST).
CORE_SRCS := $(filter-out %_test.c core/state/%,$(wildcard core/*/*.c))
# For hosts that hand the engine over (host/state.h); not in the module.
STATE_SRCS := $(filter-out %_test.c,$(wildcard core/state/*.c))

# The lock annotations are read by clang alone, and on members of C structs by clang 19 and later
# (scripts/test_source.py).
CLANG_LOCKS := clang-19 -std=gnu11 -fsyntax-only -Wthread-safety -Werror -DBINDER_DEBUG \
	-D_GNU_SOURCE -Icore -Ihost -Ihost/test
