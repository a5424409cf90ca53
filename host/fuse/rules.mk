# SPDX-License-Identifier: GPL-2.0
#
# anybinderd: the engine, compiled with host_types.h and host_impl.h of this directory, and the daemon.
# The injector has a file for each architecture.
INJECT_x86_64 := x86
INJECT_aarch64 := arm64
INJECT_SRCS := $(addprefix host/fuse/fds/inject/inject,$(if $(INJECT_$(TARGET)),.c _plan.c _$(INJECT_$(TARGET)).c,_other.c))
FUSE_SRCS := $(filter-out %_test.c host/fuse/fds/inject/%,$(wildcard $(addprefix host/fuse/,*.c */*.c */*/*.c))) \
	$(INJECT_SRCS)
FUSE_OBJS := $(CORE_SRCS:%.c=$(OBJ)/fuse/%.o) $(STATE_SRCS:%.c=$(OBJ)/fuse/%.o) $(FUSE_SRCS:%.c=$(OBJ)/fuse/%.o)
FUSE_ASAN_OBJS := $(FUSE_OBJS:$(OBJ)/fuse/%=$(OBJ)/fuse-asan/%)
# Log messages name calls/send.c, as those of the module do.
FUSE_CPPFLAGS := -Icore -Ihost -Ihost/fuse -fmacro-prefix-map=core/=

PROGRAMS += $(BIN)/anybinderd

# An access to an _Atomic variable says so, and in which order it is (scripts/test_source.py).
CLANG_ATOMICS = $(CLANG) -std=gnu11 -fsyntax-only -Wno-everything \
	-Werror=atomic-implicit-seq-cst $(CPPFLAGS) $(FUSE_CPPFLAGS)

$(FUSE_OBJS): $(OBJ)/fuse/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(FUSE_CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The engine and its host are optimised as one program: a fifth of the daemon's own instructions,
# 1 % of a round trip.
$(FUSE_OBJS): CFLAGS += -flto=auto
$(BIN)/anybinderd $(BIN)/static/anybinderd: LDFLAGS += -O2 -flto=auto

# gcc 12 takes the address of a thread-local variable for null where it has shortened it to an offset.
# With -O2 the checks take more than twice as long to compile as with -Og, which loses sight of what
# is written by a function that it does not inline.
FUSE_ASAN_FLAGS := -Og -Wno-maybe-uninitialized -fsanitize=address,undefined -fno-sanitize=null \
	-fno-omit-frame-pointer
$(FUSE_ASAN_OBJS): $(OBJ)/fuse-asan/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(FUSE_CPPFLAGS) -DBINDER_DEBUG $(CFLAGS) \
		$(FUSE_ASAN_FLAGS) -MMD -MP -c -o $@ $<

# The second one needs no library of the system that it runs on.
$(BIN)/static/anybinderd: LDFLAGS += -static-pie -s
$(BIN)/anybinderd $(BIN)/static/anybinderd: $(FUSE_OBJS)

# The same with address checking and the engine's lock checker.
$(BIN)/anybinderd-asan: LDFLAGS += -fsanitize=address,undefined
$(BIN)/anybinderd-asan: $(FUSE_ASAN_OBJS)

# Programs of other versions, for the tests of hand-overs: one that also knows the present versions of
# all messages and of the state, and others each of which does not.
#   $(call fuse_version,NAME,SOURCES,FLAGS)
define fuse_version
$(call object_rule,fuse-$(1),$$(CC),$$(FUSE_CPPFLAGS) -DBINDER_DEBUG $(3) $(FUSE_ASAN_FLAGS))
$(BIN)/anybinderd-$(1): LDFLAGS += -fsanitize=address,undefined
$(BIN)/anybinderd-$(1): $$(filter-out $(2:%.c=$(OBJ)/fuse-asan/%.o),$$(FUSE_ASAN_OBJS)) \
	$(2:%.c=$(OBJ)/fuse-$(1)/%.o)
endef
STATE_VERSION_SRCS := $(addprefix core/state/,read.c write.c) \
	$(addprefix host/fuse/handover/,give.c peer.c take.c)
HELPER_VERSION_SRCS := $(addprefix host/fuse/fds/,helper/helper_main.c helper_process.c)
SERVER_VERSION_SRCS := $(addprefix host/fuse/,server_process.c start/supervisor.c)
$(eval $(call fuse_version,next,$(STATE_VERSION_SRCS) $(HELPER_VERSION_SRCS) host/fuse/names/layout.c,\
	-UANYBINDER_VERSION -DANYBINDER_VERSION='"next"' -DBINDER_STATE_VERSION=2 -DBINDER_STATE_OLDEST=1 \
	-DPEER_VERSION=2 -DPEER_OLDEST=1 -DHELPER_VERSION=3u -DHELPER_OLDEST=2u))
$(eval $(call fuse_version,other-state,$(STATE_VERSION_SRCS),-DBINDER_STATE_VERSION=2 -DBINDER_STATE_OLDEST=2))
$(eval $(call fuse_version,other-records,$(STATE_VERSION_SRCS),-DPEER_VERSION=2 -DPEER_OLDEST=2))
$(eval $(call fuse_version,other-helper,$(HELPER_VERSION_SRCS),-DHELPER_VERSION=3u -DHELPER_OLDEST=3u))
$(eval $(call fuse_version,other-server,$(SERVER_VERSION_SRCS),-DSERVER_MSG_VERSION=2u))
FUSE_VERSIONS := $(addprefix $(BIN)/anybinderd-,next other-state other-records other-helper other-server)

# Parts of the daemon by themselves: those with a clock of the test's own, and the ring of events with
# the race detector.
FUSE_TESTS := $(addprefix $(BIN)/,names_test gate_test users_test session_test selinux_test)
TEST_PROGRAMS += $(FUSE_TESTS) $(addprefix $(BIN)/,anybinderd-asan events_ring_test inject_test)

$(eval $(call object_rule,fuse-test,$$(CC),-Itests -Icore -Ihost -Ihost/fuse))
$(FUSE_TESTS): $(addprefix $(OBJ)/fuse-test/,host/fuse/base/daemon_state.o host/fuse/base/daemon_log.o \
	tests/engine/unit/runner.o)
FUSE_TEST_OF = $(BIN)/$(notdir $(1))_test: $(addprefix $(OBJ)/fuse-test/host/fuse/,$(1)_test.o $(2))
$(call FUSE_TEST_OF,names/names,names/bound_open.o names/lookup_turn.o)
$(call FUSE_TEST_OF,base/gate,base/gate.o base/runnable.o base/thread.o)
$(call FUSE_TEST_OF,clients/users,clients/users.o)
$(call FUSE_TEST_OF,session/session,session/handles.o session/persistent.o)
$(call FUSE_TEST_OF,clients/selinux,clients/selinux.o)

$(eval $(call object_rule,events-race,$$(CC),-Itests -Icore -Ihost -Ihost/fuse -fsanitize=thread -Wno-tsan))
$(BIN)/events_ring_test: LDFLAGS += -fsanitize=thread
$(BIN)/events_ring_test: $(addprefix $(OBJ)/events-race/,host/fuse/base/daemon_state.o host/fuse/base/daemon_log.o \
	host/fuse/events/events_ring.o \
	host/fuse/events/events_ring_test.o tests/engine/unit/runner.o)

$(BIN)/inject_test: $(addprefix $(OBJ)/fuse-test/,$(INJECT_SRCS:%.c=%.o) \
	$(addprefix host/fuse/fds/inject/inject_,test.o hard_test.o test_lib.o) \
	host/fuse/base/daemon_state.o host/fuse/base/daemon_log.o tests/engine/unit/runner.o)
