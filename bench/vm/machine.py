# SPDX-License-Identifier: GPL-2.0
"""What the measurements in virtual machines share: their arguments, and booting a machine."""
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUEST_SCRIPTS = os.path.join(TOP, "bench", "vm")
OUTPUT = os.path.join(TOP, "build", "bench")
BENCH_IPC = os.path.join(TOP, "build", "bin", "bench-ipc")
# Name -> options of vm/run: the measuring build of the module.
LOCKING_MODES = {mode: ("--driver", "module-locking", "--parameter", f"locking={mode}")
                 for mode in ("fine", "global", "global-nopreempt")}
# As Android's kernels are.
PREEMPTIBLE = ("--append", "preempt=full")
# The emulator runs and counts `rep movsb` byte by byte, so that 4 KiB would be 4,096 instructions
# in either driver, where processors move 16 to 64 bytes a cycle. Without these flags the kernel
# copies words of 8 bytes.
WORD_COPIES = ("--append", "clearcpuid=erms,fsrm")


def add_arguments(parser, output):
    """--kernel and --output, by default the file @output of build/bench."""
    parser.add_argument("--kernel", default="6.12", help="see vm/kernels.tsv (%(default)s)")
    parser.add_argument("--output", default=os.path.join(OUTPUT, output))


def module_of(kernel):
    return os.path.join(TOP, "build", "module", kernel, "anybinder.ko")


def cell(peer, address, pairs, size, duration_ms):
    """The arguments of one bench-ipc call."""
    words = ["--peer", peer] + (["--address", address] if address else [])
    words += ["--pairs", pairs, "--request", size, "--reply", size, "--duration-ms", duration_ms]
    return " ".join(map(str, words))


def boot(name, kernel, options, command):
    """
    Runs @command in a machine booted with @options of vm/run; returns its standard output. Exits
    with a message that begins with @name if the machine fails.
    """
    done = subprocess.run([os.path.join(TOP, "vm", "run"), "--kernel", kernel, *options, "--",
                           *map(str, command)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: the machine ended with status {done.returncode}")
    return done.stdout


def measure(name, kernel, options, cells, module="-"):
    """As boot(), with @module beside the driver; the figures of each cell, in order."""
    text = boot(name, kernel, options,
                [os.path.join(GUEST_SCRIPTS, "guest"), module, BENCH_IPC, *cells])
    found = [json.loads(line) for line in text.splitlines()]
    if len(found) != len(cells):
        sys.exit(f"{name}: {len(found)} figures of {len(cells)}")
    return found


def save(path, document):
    """Writes @document as JSON; makes the directory if there is none."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        json.dump(document, file, indent=1)
