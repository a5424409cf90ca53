# SPDX-License-Identifier: GPL-2.0
#
# anybinderd: the engine, compiled with host_types.h and host_impl.h of this directory, and the daemon.
# The injector has a file for each architecture.
INJECT_x86_64 := x86
INJECT_aarch64 := arm64
INJECT_ARCH_SRCS := $(addprefix host/fuse/inject_,x86.c arm64.c other.c)
INJECT_ARCH_SRC := host/fuse/inject_$(or $(INJECT_$(TARGET)),other).c
FUSE_SRCS := $(filter-out %_test.c %_test_lib.c $(INJECT_ARCH_SRCS),$(wildcard host/fuse/*.c)) \
	$(INJECT_ARCH_SRC)
FUSE_OBJS := $(CORE_SRCS:%.c=$(OBJ)/fuse/%.o) $(FUSE_SRCS:%.c=$(OBJ)/fuse/%.o)
FUSE_ASAN_OBJS := $(FUSE_OBJS:$(OBJ)/fuse/%=$(OBJ)/fuse-asan/%)
# Log messages name calls/send.c, as those of the module do.
FUSE_CPPFLAGS := -Icore -Ihost -Ihost/fuse -fmacro-prefix-map=core/=

PROGRAMS += $(BIN)/anybinderd

$(FUSE_OBJS): $(OBJ)/fuse/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(FUSE_CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The engine and its host are optimised as one program: a fifth of the daemon's own instructions,
# 1 % of a round trip.
$(FUSE_OBJS): CFLAGS += -flto=auto
$(BIN)/anybinderd: LDFLAGS += -O2 -flto=auto

# gcc 12 takes the address of a thread-local variable for null where it has shortened it to an offset.
$(FUSE_ASAN_OBJS): $(OBJ)/fuse-asan/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(FUSE_CPPFLAGS) -DBINDER_DEBUG $(CFLAGS) \
		-fsanitize=address,undefined -fno-sanitize=null -fno-omit-frame-pointer -MMD -MP -c -o $@ $<

$(BIN)/anybinderd: $(FUSE_OBJS)

# The same with address checking and the engine's lock checker.
$(BIN)/anybinderd-asan: LDFLAGS += -fsanitize=address,undefined
$(BIN)/anybinderd-asan: $(FUSE_ASAN_OBJS)

# inject is in inject.rules.mk, ring and events are in events.rules.mk, claim is in claim.rules.mk,
# turn is in turn.rules.mk.
TESTS += anybinderd:plain anybinderd:asan anybinderd:measure anybinderd:bound anybinderd:stuck

anybinderd.plain.needs := $(BIN)/anybinderd
anybinderd.plain.run = timeout 300 $(PYTHON) host/fuse/daemon_test.py $(BIN)/anybinderd

anybinderd.asan.needs := $(BIN)/anybinderd-asan
anybinderd.asan.run = timeout 300 $(PYTHON) host/fuse/daemon_test.py $(BIN)/anybinderd-asan

anybinderd.bound.needs := $(BIN)/anybinderd-asan
anybinderd.bound.run = timeout 300 $(PYTHON) host/fuse/bound_test.py $(BIN)/anybinderd-asan

anybinderd.stuck.needs := $(BIN)/anybinderd-asan
anybinderd.stuck.run = timeout 300 $(PYTHON) host/fuse/stuck_test.py $(BIN)/anybinderd-asan

anybinderd.measure.needs := $(BIN)/anybinderd
anybinderd.measure.run = timeout 300 $(PYTHON) host/fuse/measure_test.py $(BIN)/anybinderd
