# SPDX-License-Identifier: Apache-2.0
"""What the tests of `run` share: the programs, the mount, a service, and the list of
tests."""
import json
import os
import signal
import subprocess
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
PEER = "anybinder.test.IPeer/default"
AIDL = os.path.join(TOP, "tests/drivers/clients/aidl")
PATIENCE_S = 60
CASES = []


class Skipped(Exception):
    """A test that needs what this machine does not have."""


def case(function):
    """Marks a test."""
    CASES.append(function)
    return function


class Bench:
    """The programs, the mount, and a service."""

    def __init__(self, programs, mount, scratch, kernel):
        self.kernel = kernel
        self.programs = programs
        self.mount = mount
        self.scratch = scratch
        self.started = []

    def run(self, *words, status=0, stdin=None):
        """Runs the command; returns its standard output, or its standard error if it fails.

        With the status None any is right, and is returned, too."""
        done = subprocess.run([f"{self.programs}/anybinder", *words], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False, input=stdin or "")
        if status is None:
            return done.returncode, done.stderr
        shown = f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == status, shown
        return done.stderr if status else done.stdout

    def json(self, *words):
        return json.loads(self.run(*words, "--json"))

    def call(self, method, *arguments, status=0, name=PEER):
        return self.run("call", "--aidl", AIDL, name, method, *arguments, status=status).strip()

    def bad_call(self):
        """A transaction that the driver refuses: larger than any buffer."""
        big = os.path.join(self.scratch, "big")
        with open(big, "wb") as file:
            file.truncate(2 << 20)
        self.run("call", PEER, "3", "bytes", f"@{big}", status=7)

    def code(self, method):
        """The transaction code of a method of the service."""
        methods = self.json("interface", PEER, "--aidl", AIDL)["methods"]
        return next(one["code"] for one in methods if one["signature"].startswith(f"{method}("))

    def start(self, *words):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process

    def serve(self, name=PEER, threads=4):
        process = self.start(f"{self.programs}/client-tests", "--mount", self.mount, "serve",
                             "--name", name, "--max-threads", str(threads))
        self.wait_for(lambda: name in self.run("list"))
        return process

    def wait_for(self, happened):
        deadline = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.1)

    def stop(self, process):
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()
        self.started.remove(process)

    def end(self):
        for process in list(self.started):
            self.stop(process)


def equal(got, wanted):
    assert got == wanted, f"{got!r}, wanted {wanted!r}"


def contains(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in {text!r}"
