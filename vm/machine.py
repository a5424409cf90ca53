# SPDX-License-Identifier: GPL-2.0
"""Runs one QEMU machine: builds its command line, forwards its four streams, stops it."""

import ctypes
import selectors
import signal
import socket
import subprocess
import sys
import time

from console import Console

TIMED_OUT = 124
HARNESS_FAILED = 125

# After a kernel fault the command may hang; it is killed after this time.
AFTER_FAULT_S = 10

# See docs/TESTING.md.
KERNEL_ARGUMENTS = (
    "loglevel=5 panic=-1 oops=panic cryptomgr.notests mitigations=off random.trust_cpu=on "
    "sysctl.kernel.hung_task_timeout_secs=45 rcupdate.rcu_cpu_stall_timeout=60 "
    "watchdog_thresh=30"
)

# The clock counts instructions (1 ns each), so that runs are reproducible.
ICOUNT_OPTIONS = (
    "-accel tcg,thread=single -icount shift=0,sleep=off -seed 1 "
    "-rtc base=2025-01-01T00:00:00,clock=vm -cpu max,la57=off,-rdrand,-rdseed -smp 1"
)
ICOUNT_KERNEL_ARGUMENTS = "nokaslr norandmaps random.trust_cpu=off"

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """Runs in the child before exec: the machine is killed when vm/run exits."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """One boot. `shares` are (mount tag, directory, read-only?), made available by `sharing`."""

    def __init__(self, options, arch, vmlinux, run_dir, sharing, shares):
        self.options = options
        self.arch = arch
        self.sharing = sharing
        self.vmlinux = vmlinux
        self.initrd = run_dir + "/initrd"
        self.shares = shares
        self.console = Console(open(run_dir + "/console", "wb"))
        self.exit_line = None
        self.problem = None
        self.control = b""
        self.received = {"out": 0, "err": 0}
        self.sinks = {"out": sys.stdout.buffer, "err": sys.stderr.buffer}

    def arguments(self, fds):
        options = self.options
        args = [self.arch["qemu"], "-machine", self.arch["machine"], "-m", str(options.memory_mib)]
        kernel_arguments = [self.arch["kernel_arguments"], KERNEL_ARGUMENTS]
        if options.icount:
            args += ICOUNT_OPTIONS.split()
            kernel_arguments.append(ICOUNT_KERNEL_ARGUMENTS)
        else:
            args += ["-accel", options.accel, "-cpu", options.cpu, "-smp", str(options.smp)]
        args += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        args += ["-kernel", self.vmlinux, "-initrd", self.initrd]
        args += ["-append", " ".join(kernel_arguments + options.append)]
        args += ["-chardev", f"socket,id=console,fd={fds['console']}", "-serial", "chardev:console"]
        args += ["-device", "virtio-serial-pci,max_ports=4"]
        for number, name in enumerate(("control", "out", "err"), 1):
            args += ["-chardev", f"socket,id={name},fd={fds[name]}"]
            args += ["-device", f"virtserialport,chardev={name},nr={number},name={name}"]
        for tag, directory, read_only in self.shares:
            args += self.sharing.device(tag, directory, read_only)
        args += self.sharing.arguments
        return args

    def run(self):
        """Boots, forwards the streams, stops. Returns the exit status of the whole run."""
        pairs = {name: socket.socketpair() for name in ("console", "control", "out", "err")}
        fds = {name: pair[1].fileno() for name, pair in pairs.items()}
        with open(self.console.log.name + ".qemu", "wb") as qemu_log:
            qemu = subprocess.Popen(
                self.arguments(fds), pass_fds=list(fds.values()), stdin=subprocess.DEVNULL,
                stdout=qemu_log, stderr=qemu_log, start_new_session=True,
                preexec_fn=die_with_parent,
            )
        try:
            for _, inner in pairs.values():
                inner.close()
            self.forward({name: pair[0] for name, pair in pairs.items()})
        finally:
            qemu.kill()
            qemu.wait()
            self.sharing.stop()
            self.console.log.close()
        return self.verdict()

    def forward(self, sockets):
        deadline = time.monotonic() + self.options.timeout_s
        fault_deadline = None
        with selectors.DefaultSelector() as selector:
            for name, each in sockets.items():
                selector.register(each, selectors.EVENT_READ, name)
            while not self.finished():
                now = time.monotonic()
                if self.console.fault and not fault_deadline:
                    fault_deadline = now + AFTER_FAULT_S
                if now >= deadline:
                    self.problem = "timeout"
                    return
                if fault_deadline and now >= fault_deadline:
                    return
                for key, _ in selector.select(min(deadline - now, 1)):
                    data = key.fileobj.recv(65536)
                    if data:
                        self.feed(key.data, data)
                    else:
                        selector.unregister(key.fileobj)
                if not selector.get_map():
                    return
            self.drain_console(sockets["console"])

    def drain_console(self, console):
        """Reads the console output that the socket still holds."""
        console.setblocking(False)
        try:
            while data := console.recv(65536):
                self.console.feed(data)
        except BlockingIOError:
            pass

    def feed(self, name, data):
        if name == "console":
            self.console.feed(data)
        elif name == "control":
            self.control += data
            if self.control.endswith(b"\n"):
                self.exit_line = self.control.decode(errors="replace").strip()
        else:
            self.received[name] += len(data)
            self.sinks[name].write(data)
            self.sinks[name].flush()

    def finished(self):
        """True if the exit line and all output announced by it have been received."""
        if not self.exit_line:
            return False
        word, *rest = self.exit_line.split()
        if word != "exit":
            return True
        return self.received == {"out": int(rest[1]), "err": int(rest[2])}

    def failed_in_emulator(self):
        """True if the kernel failed where the emulator has races, with several threads: a processor
        executed a breakpoint of another one that was patching the kernel's code; or one returned
        with flags that nobody had set, before there was a process. Only where no foreign module was
        loaded and the command had not begun. A kernel that fails by itself does so at each boot."""
        text = b"".join(self.console.fault or [])
        began = self.exit_line or any(self.received.values())
        is_early = b"Oops: int3" in text or b"Comm: swapper" in text
        return is_early and b"Not tainted" in text and not began

    def verdict(self):
        if self.console.fault:
            self.say("the kernel logged a fault:", self.console.fault)
            return HARNESS_FAILED
        if self.problem == "timeout":
            limit_s = self.options.timeout_s
            self.say(f"timed out after {limit_s:g} s; end of the console output:",
                     self.console.tail)
            return TIMED_OUT
        if not self.exit_line or not self.exit_line.startswith("exit "):
            self.say(self.exit_line or "the machine stopped before the command exited",
                     list(self.console.tail) + self.qemu_messages())
            return HARNESS_FAILED
        return int(self.exit_line.split()[1])

    def qemu_messages(self):
        with open(self.console.log.name + ".qemu", "rb") as log:
            return log.read().splitlines()

    @staticmethod
    def say(first, lines):
        text = [line.decode(errors="replace") for line in lines]
        print("vm/run: " + first, *text, sep="\n    ", file=sys.stderr, flush=True)
