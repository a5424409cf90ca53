# SPDX-License-Identifier: GPL-2.0
"""
Machines that measure in turn within one run. Wall time on a shared host varies by the minute, so
figures that are to be compared are measured within seconds of each other: all machines are up, one
of them at a time has a cell to measure, the others sleep.
"""
import json
import os
import shutil
import subprocess
import sys

import machine

GUEST = os.path.join(machine.GUEST_SCRIPTS, "turn-guest")


class Turns:
    """One booted machine; use it in a with statement, which ends it."""

    def __init__(self, name, kernel, options, limit_s):
        """@options: of vm/run; @limit_s: of wall time, for the boot and all turns."""
        self.name = name
        self.number = 0
        self.directory = os.path.join(machine.OUTPUT, "turns", f"{kernel}-{name}")
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        self.process = subprocess.Popen(
            [os.path.join(machine.TOP, "vm", "run"), "--kernel", kernel, *options,
             "--smp", "2", "--timeout", str(limit_s), "--share", self.directory,
             *machine.WORD_COPIES, "--", GUEST, self.directory, machine.BENCH_IPC],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.terminate()
        else:
            self.say("end")
        self.process.communicate()
        shutil.rmtree(self.directory, ignore_errors=True)

    def say(self, text):
        """The next file appears with its content, never empty."""
        path = os.path.join(self.directory, str(self.number))
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.rename(path + ".new", path)
        self.number += 1

    def measure(self, cell):
        """The figures of one cell. Exits with a message if the machine fails."""
        self.say(cell)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"race: {self.name}: the machine ended with status {self.process.wait()}")
        return json.loads(line)
