# SPDX-License-Identifier: GPL-2.0
"""The clock of the day is set forth and back by hours while victims are served, the daemon is
replaced, and the service manager answers. Only in a virtual machine, which has no other clock."""
import contextlib
import itertools
import time

import hostile
import pytest
import victims
from anybinder.bus import Bus
from test_replacing import hand_over

STEP_S, EVERY_S, TIMES = 5 * 3600, 0.02, 3
pytestmark = pytest.mark.vm("6.12", smp=1, timeout=500)


@contextlib.contextmanager
def clock_steps():
    """To five hours from now, five hours ago, and now, without a pause."""
    offsets = itertools.cycle((STEP_S, -STEP_S, 0))
    begin, day = time.monotonic(), time.time()

    def set_to(offset):
        time.clock_settime(time.CLOCK_REALTIME, day + time.monotonic() - begin + offset)

    try:
        with hostile.every(EVERY_S, lambda: set_to(next(offsets))):
            yield
    finally:
        set_to(0)


def test_victims_are_served_and_the_daemon_is_replaced():
    with hostile.Daemon() as server, hostile.user(hostile.SERVER, hostile.serve, server.path()), \
            contextlib.ExitStack() as stack:
        all_victims = [stack.enter_context(hostile.Victim(server.path(), kind))
                       for kind in victims.KINDS]
        with clock_steps():
            for _ in range(3):
                time.sleep(2)
                hand_over(server)
        stack.close()
        for victim in all_victims:
            print(f"  {victim.kind}: {victim.seen}", flush=True)
            # A call may be left behind by a hand-over where the processors are busy.
            assert not victim.seen.stopped, victim.kind
            assert len(victim.seen.ms) - victim.seen.failed >= TIMES, victim.kind


def test_the_service_manager_answers():
    with clock_steps(), Bus() as bus:
        for _ in range(5):
            assert "manager" in bus.run("list")
        bus.run("down")
