# SPDX-License-Identifier: GPL-2.0
"""Memory that never comes in a receiver, where the daemon writes what it delivers, and where the
injector works."""
import contextlib
import os
import signal
import threading
import time

from anybinder.driver import ACCEPTS_FDS, LIBC, MAP_SIZE, Client, Trap
from anybinder.process import become, until
from hanging_files import READ
from hostile import ATTACKER, wait_for
from test_bound import bound
from test_files import CALL_ON_STACK, attacked, machine_code, send_to_the_attacker, wait_in
from test_replacing import hand_over
from test_slow_memory import PAGE
from test_stuck import trap_or_skip

READ_WRITE, PRIVATE_FIXED = 3, 0x12
BESIDE = "calls", "files", "reports"    # all devices have a context manager
OPENS, CALLS = 6, 15
STUCK = 24    # of one user: 16, and those that are not found yet


def serve(this, device):
    client = Client(this.path(device))
    client.become_manager()
    os.write(this.say, b"x")
    client.serve()


def call_from_a_file(this, path, file):
    """A client that maps a file whose pages never come in the place of its buffer."""
    client = Client(path)
    client.call(b"x" * 5000)    # from then on the daemon knows where the buffer is
    client.map.close()
    assert LIBC.mmap(client.base, MAP_SIZE, READ_WRITE, PRIVATE_FIXED, file, 0) == client.base
    os.write(this.say, b"x")
    with contextlib.suppress(InterruptedError):    # a hand-over leaves it behind
        client.call(b"x" * 5000)


@contextlib.contextmanager
def delivered_into_a_file(directory):
    """As many replies as the daemon has workers; who sends them is another process."""
    with attacked(directory, {READ}) as this, contextlib.ExitStack() as stack:
        file = os.open(this.files.file, os.O_RDWR | os.O_CLOEXEC)    # later this waits for the page
        stack.callback(os.close, file)
        for device in "hwbinder", "vndbinder":
            path = stack.enter_context(bound(this, directory, device))
            this.add(serve, device)
            this.add(call_from_a_file, path, file)
        until(this.files.hung, 30)
        time.sleep(0.3)
        this.others_go_on(BESIDE)
        yield this


def test_a_buffer_that_never_comes_stalls_no_worker_and_not_sigterm(directory):
    with delivered_into_a_file(directory) as this:
        this.ends(signal.SIGTERM)


def test_a_buffer_that_never_comes_stalls_no_worker_and_not_sigkill(directory):
    with delivered_into_a_file(directory) as this:
        this.ends(signal.SIGKILL)


def test_a_buffer_that_never_comes_prevents_no_hand_over(directory):
    with delivered_into_a_file(directory) as this:
        hand_over(this.daemon)
        this.others_go_on(BESIDE)


def receive_on_a_trap(this):
    """A thread that waits with its stack pointer in memory that never comes."""
    client = Client(this.path("hwbinder"))
    client.become_manager(ACCEPTS_FDS)
    trap = trap_or_skip()
    os.write(this.say, b"x")
    wait_in(machine_code(CALL_ON_STACK), client, trap.address + 2048)


def test_a_stack_that_never_comes_stops_no_other_files(directory):
    """The same as a_receiver_with_a_bad_stack_stops_no_other_files, by userfaultfd."""
    trap_or_skip()
    with attacked(directory) as this:
        this.add(receive_on_a_trap, uid=0)    # a user may not handle the kernel's faults
        this.add(send_to_the_attacker)
        for _ in range(2):
            time.sleep(0.5)
            this.others_go_on()
        this.ends()


def hang_often(this, uid, opens, refused):
    """Calls by many threads at once, each with its commands in memory that never comes."""
    trap = Trap(opens * CALLS)
    become(uid)
    clients = [Client(this.path("hwbinder")) for _ in range(opens)]

    def call(number):
        try:
            clients[number % opens].write_at(trap.address + number * PAGE)
        except OSError:
            os.write(refused, b"x")

    for number in range(opens * CALLS):
        threading.Thread(target=call, args=(number,), daemon=True).start()
    os.write(this.say, b"x")
    signal.pause()


def test_many_calls_at_once_keep_no_more_workers_than_a_user_may(directory):
    """Calls that wait for their turn when the limit is reached are refused as well; else the first
    user has all that there may be, and the second one stops the daemon."""
    trap_or_skip()
    output, refused = os.pipe()
    with attacked(directory) as this:
        this.add(hang_often, ATTACKER, OPENS, refused, uid=0)
        for _ in range(OPENS * CALLS - STUCK):
            wait_for(output, 1, 60)
        # All users together are below half of what there may be, where each may have fewer.
        this.add(hang_often, ATTACKER + 1, 1, refused, uid=0)
        time.sleep(0.3)
        this.others_go_on()
        this.ends()
