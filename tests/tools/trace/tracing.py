# SPDX-License-Identifier: GPL-2.0
"""A bus whose calls are traced, and programs that make calls."""
import contextlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

from anybinder.bus import Bus
from anybinder.process import program

HERE = pathlib.Path(__file__).resolve().parent
PEER = "anybinder.test.trace"
AIDL = str(HERE.parents[1] / "drivers/clients/aidl")
INSTANCES = "/sys/kernel/tracing/instances"
# The least urgent one, without the right to be more urgent.
MEEK = ["prlimit", "--nice=0:0", "setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]


def calls_of(text):
    """The calls that a trace shows as JSON."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def caller(count, size=0, device="binder", flags=0):
    """A program in Python that makes so many calls of that size to the context manager, with
    code 1."""
    return [sys.executable, str(HERE / "caller.py"), *map(str, (count, size, device, flags))]


class TracedBus(Bus):
    """A bus, or the kernel's driver that is mounted somewhere."""

    def __init__(self, driver):
        super().__init__(managers="binder,hwbinder", driver=driver)

    def tells(self, event):
        """Whether the driver has this event, which the kernel's lack."""
        return not self.is_kernel or os.path.exists(f"/sys/kernel/tracing/events/anybinder/{event}")

    def tool(self, *words, **more):
        """Runs the command; returns how it ended."""
        return self.execute(self.program, *words, **more)

    def trace(self, *words, program=(), status=0):    # pylint: disable=redefined-outer-name
        """Runs a trace of a program; returns what it printed on both outputs."""
        done = self.tool("trace", *words, "--", *(program or caller(1)))
        assert done.returncode == status, done
        return done.stdout, done.stderr

    def instances(self):
        """Those that traces made: in a kernel that has them, and nothing else that traces."""
        names = os.listdir(INSTANCES) if self.is_kernel else []
        return [name for name in names if name.startswith("anybinder-")]

    @contextlib.contextmanager
    def peer(self, name=PEER, before=()):
        """The service of tests/drivers/clients, for calls_of_peer()."""
        words = [*before, program("client-tests"), "--mount", self.mount, "serve", "--name", name,
                 "--max-threads", "2"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=self.environment) as service:
            try:
                self.wait_for(name)
                yield service
            finally:
                service.kill()

    def calls_of_peer(self, *each):
        """A program that calls methods of the service, each with its arguments."""
        call = [self.program, "call", "--aidl", AIDL, PEER]
        steps = [f"{shlex.join(call + list(words))} >{os.devnull} 2>&1" for words in each]
        return ["sh", "-c", "; ".join(steps + ["true"])]

    def flood(self):
        """Calls without end, as a context."""
        return self.started("ping", "manager", "--count", "100000000", "--quiet",
                            stdout=subprocess.DEVNULL)
