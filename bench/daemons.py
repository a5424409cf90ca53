# SPDX-License-Identifier: GPL-2.0
"""The daemons under comparison: private ones, started here, on sockets and mounts of their own."""
import ctypes
import os
import signal
import subprocess
import time

DBUS_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
START_LIMIT_S = 10
PR_SET_PDEATHSIG = 1


class Failure(Exception):
    """Something that should have run did not."""


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Daemon:
    """One running daemon; `address` is what a client of it is given."""

    def __init__(self, name, command, address, proof, cpu=None):
        self.name = name
        self.address = address
        self.proof = proof

        def prepare():
            die_with_parent()
            if cpu is not None:
                os.sched_setaffinity(0, {cpu})

        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, preexec_fn=prepare)
        except OSError as error:
            raise Failure(f"{name}: {error}") from error
        self._wait_up()

    def _wait_up(self):
        limit = time.monotonic() + START_LIMIT_S
        while not os.path.exists(self.proof):
            if self.process.poll() is not None:
                text = self.process.stderr.read().decode(errors="replace").strip()
                raise Failure(f"{self.name}: {text or 'ended at once'}")
            if time.monotonic() > limit:
                self.stop()
                raise Failure(f"{self.name}: not up after {START_LIMIT_S} s")
            time.sleep(0.02)

    def cpu_ns(self):
        """CPU time used so far by all its threads."""
        total = 0
        tasks = f"/proc/{self.process.pid}/task"
        for tid in os.listdir(tasks):
            try:
                with open(f"{tasks}/{tid}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except FileNotFoundError:
                pass    # a thread that ended meanwhile, or a kernel without schedstat
        return total

    def memory(self):
        """KiB by kind, number of threads and of open files."""
        found = {}
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key in ("VmRSS", "RssAnon", "RssFile", "RssShmem", "Threads"):
                    found[key] = int(value.split()[0])
        found["files"] = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        return found

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(START_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_anybinder(programs, directory, cpu):
    mount = os.path.join(directory, "binderfs")
    os.makedirs(mount)
    device = os.path.join(mount, "binder")
    return Daemon("anybinderd", [f"{programs}/anybinderd", mount, "--foreground"],
                  device, device, cpu)


def start_dbus_daemon(_programs, directory, cpu):
    socket = os.path.join(directory, "dbus-daemon")
    config = os.path.join(directory, "dbus-daemon.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(DBUS_CONFIG.format(socket=socket))
    return Daemon("dbus-daemon",
                  ["dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile"],
                  f"unix:path={socket}", socket, cpu)


def start_dbus_broker(programs, directory, cpu):
    socket = os.path.join(directory, "dbus-broker")
    return Daemon("dbus-broker", [f"{programs}/bench-ipc", "broker", "--address", socket],
                  f"unix:path={socket}", socket, cpu)
