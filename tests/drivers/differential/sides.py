# SPDX-License-Identifier: GPL-2.0
"""The drivers that scripts are played on: each is a function of jobs and an output directory.

A job is a list of arguments for anybinder-differential; all jobs of a call run on one boot or
one daemon.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
sys.path.insert(0, TOP + "/python")
from anybinder.daemon import Daemon    # noqa: E402
from anybinder.process import is_running    # noqa: E402

BIN = os.environ.get("ANYBINDER_BIN", os.path.join(TOP, "build", "bin"))
PROGRAM = os.path.join(BIN, "anybinder-differential")
PROGRAM32 = PROGRAM + "32"
REPLACE_STEPS = os.environ.get("DIFFERENTIAL_REPLACE_STEPS", "1")
TIMEOUT_S = int(os.environ.get("DIFFERENTIAL_TIMEOUT_S", "1500"))

# What an older driver lacks: (pattern, what is taken for it), with the reason.
OLD = [
    # 6.1 has no BR_TRANSACTION_PENDING_FROZEN: the sender of a one-way call is not notified.
    (re.compile(r"BR_TRANSACTION_PENDING_FROZEN"), "BR_TRANSACTION_COMPLETE"),
]


running = set()
stopping = threading.Event()


def stop_all():
    """Ends the programs that run() has started, and lets no other begin."""
    stopping.set()
    for child in list(running):
        child.terminate()


def run(command, **how):
    """The exit status of a program. SystemExit if stop_all() was called."""
    with subprocess.Popen(command, **how) as child:
        running.add(child)
        try:
            if stopping.is_set():
                child.terminate()
            status = child.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
        finally:
            running.remove(child)
    if stopping.is_set():
        raise SystemExit("differential: stopped")
    return status


def is_new(path):
    """Does the script use what only the newest drivers have?"""
    with open(path) as file:
        return re.search(r"freeze_notice|clear_freeze|freeze_done", file.read()) is not None


def script_name(path):
    """Of a script or a transcript."""
    return os.path.splitext(os.path.basename(path))[0]


def order(name):
    """Seeds by number."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def transcript(path):
    """The lines of a transcript; none if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as file:
        text = file.read()
    if os.path.basename(os.path.dirname(path)).endswith(("-old", "-old0", "-old1")):
        for pattern, meant in OLD:
            text = pattern.sub(meant, text)
    return text.splitlines()


def play_in_vm(kernel, driver, jobs, out, program=PROGRAM):
    """One boot. The jobs are lines of a shell script in the shared output directory."""
    shares = {out} | {os.path.dirname(arg) for job in jobs for arg in job if arg[:1] == "/"}
    commands = [" ".join([program, "--out", out] + job) + " || status=1" for job in jobs]
    with open(out + "/jobs.sh", "w") as file:
        file.write("status=0\n" + "\n".join(commands) + "\nexit $status\n")
    command = [TOP + "/vm/run", "--kernel", kernel, "--driver", driver, "--smp", "1",
               "--timeout", str(TIMEOUT_S)]
    for share in sorted(shares):
        command += ["--share", share] if not share.startswith(TOP + "/tests/") else []
    status = run(command + ["--", "sh", out + "/jobs.sh"])
    if status not in (0, 1):
        raise SystemExit(f"differential: vm/run ended with {status}")


def play_in_usermode(kernel, module, jobs, out):
    """The C driver, or the module, in a user-mode Linux (vm/usermode/), with the files of
    this machine."""
    usermode = TOP + "/build/vm/usermode"
    linux = f"{usermode}/{kernel}/linux"
    ko = f"{TOP}/build/module/usermode/{kernel}/anybinder.ko"
    if not os.path.exists(linux):
        raise SystemExit(f"differential: no {linux}: run vm/usermode/build.sh {kernel}")
    if module and not os.path.exists(ko):
        raise SystemExit(f"differential: no {ko}: run make module KVER=usermode/{kernel}")
    commands = [" ".join([PROGRAM, "--device-dir /mnt/binderfs --out", out] + job) for job in jobs]
    with open(out + "/jobs.sh", "w") as file:
        file.write("\n".join(commands + [f"touch {out}/ended"]) + "\n")
    command = [linux, "mem=768M", "rootfstype=hostfs", "rw", "loglevel=1", f"uml_dir={out}/",
               f"init={usermode}/init", f"JOB={out}/jobs.sh"] + [f"MODULE={ko}"] * module
    with open(out + "/console", "w") as console:
        run(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
    if not os.path.exists(out + "/ended"):
        raise SystemExit(f"differential: the user-mode Linux failed: see {out}/console")


def play_on_fuse(jobs, out, options=(), program=PROGRAM):
    with tempfile.TemporaryDirectory(prefix="differential-") as directory, \
            Daemon(directory, program=BIN + "/anybinderd") as daemon:
        for job in jobs:
            status = run([program, "--device-dir", daemon.mnt, "--out", out, *options] + job)
            if status not in (0, 1):
                raise SystemExit(f"differential: ended with {status}")
        if not is_running(daemon.pid):
            raise SystemExit("differential: the daemon did not survive")


SIDES = {
    "ref": lambda jobs, out: play_in_vm("newest", "ref", jobs, out),
    "ref612": lambda jobs, out: play_in_vm("6.12", "ref", jobs, out),
    "usermode612": lambda jobs, out: play_in_usermode("6.12", False, jobs, out),
    "usermode": lambda jobs, out: play_in_usermode("newest", False, jobs, out),
    "usermodule612": lambda jobs, out: play_in_usermode("6.12", True, jobs, out),
    "usermodule": lambda jobs, out: play_in_usermode("newest", True, jobs, out),
    "stock": lambda jobs, out: play_in_vm("6.1", "stock", jobs, out),
    "module": lambda jobs, out: play_in_vm("newest", "module", jobs, out),
    # make vm-rust: the C driver and the Rust driver, directories of their own.
    "c": lambda jobs, out: play_in_vm("newest", "ref", jobs, out),
    "rust": lambda jobs, out: play_in_vm("newest", "rust", jobs, out),
    "module618": lambda jobs, out: play_in_vm("6.18", "module", jobs, out),
    "module612": lambda jobs, out: play_in_vm("6.12", "module", jobs, out),
    "module61": lambda jobs, out: play_in_vm("6.1", "module", jobs, out),
    "fuse": play_on_fuse,
    # The same with 32-bit clients.
    "ref32": lambda jobs, out: play_in_vm("newest", "ref", jobs, out, PROGRAM32),
    "module32": lambda jobs, out: play_in_vm("newest", "module", jobs, out, PROGRAM32),
    "fuse32": lambda jobs, out: play_on_fuse(jobs, out, program=PROGRAM32),
    # The daemon hands over between steps; each job on its own one, which has so many servers only.
    "replaced": lambda jobs, out: [
        play_on_fuse([job], out, ["--replace-steps", REPLACE_STEPS]) for job in jobs],
}

# This project's drivers; the others are the kernel's.
OURS = {"module", "module618", "module612", "module61", "usermodule", "usermodule612", "fuse",
        "replaced", "module32", "fuse32"}


def omissions(pair):
    """What the scripts of a pair must not use: options of anybinder-differential."""
    old = ["--omit-freeze-notices"] if "stock" in pair else []
    return tuple(old + ([] if OURS.issuperset(pair) else ["--omit-deferral"]))


def directory_of(name, omit):
    """Where a driver's transcripts of such scripts are."""
    return name + ("-old" if "--omit-freeze-notices" in omit else "" if omit else "-ours")


# What the Rust driver differs in is assigned to classes (vm/rust-driver/compare.py).
RUST_PAIR = {"c", "rust"}
