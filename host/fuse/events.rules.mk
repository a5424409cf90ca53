# SPDX-License-Identifier: GPL-2.0
#
# The stream of events: the ring by itself with the race detector, and the file of a running daemon.
EVENTS_TEST_SRCS := host/fuse/events_ring.c host/fuse/events_ring_test.c tests/unit/runner.c

TESTS += anybinderd:ring anybinderd:events

$(eval $(call object_rule,events-race,$$(CC),-Itests -Ihost/fuse -fsanitize=thread -Wno-tsan))
$(BIN)/events_ring_test: LDFLAGS += -fsanitize=thread
$(BIN)/events_ring_test: $(EVENTS_TEST_SRCS:%.c=$(OBJ)/events-race/%.o)

anybinderd.ring.needs := $(BIN)/events_ring_test
anybinderd.ring.run = timeout 300 $(BIN)/events_ring_test

anybinderd.events.needs := $(BIN)/anybinderd-asan
anybinderd.events.run = timeout 300 $(PYTHON) host/fuse/events_test.py $(BIN)/anybinderd-asan
