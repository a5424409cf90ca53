#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""cargo-build CARGO COMMAND...: runs `CARGO COMMAND...`, which builds, and says how far it is.

The first build takes minutes, of which cargo prints a line for each crate, or nothing. This prints
a line when it begins and every ten seconds from then on, what the compiler says as it is, and what
to do where crates cannot be fetched.
"""
import math
import os
import re
import signal
import subprocess
import sys
import time

INTERVAL_S = 10
# The processor time of a step, on average over the programs of tools/.
STEP_S = 0.8

# What cargo says of its own work: "   Compiling syn v3.0.9", "    Building [==> ] 57/402: syn".
STATUS = re.compile(r" *(Adding|Blocking|Building|Compiling|Downloaded|Downloading|Finished|Locking"
                    r"|Updating)\b(.*)")
BAR = re.compile(r" \[[=> ]*\] (\d+)/(\d+)")
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
UNREACHABLE = re.compile(r"spurious network error|failed to (download|fetch|get|query)\b|"
                         r"download of .* failed|[Uu]nable to update|resolve host")
ADVICE = """\
cargo cannot fetch crates from crates.io; what has arrived is kept.
  Behind a proxy: export https_proxy=http://HOST:PORT
  Where an authority of your company signs all connections: export CARGO_HTTP_CAINFO=CA.pem
  (or SSL_CERT_FILE), or copy CA.pem to /usr/local/share/ca-certificates/NAME.crt and run
  update-ca-certificates"""


class Filter:
    """Chooses from cargo's lines what to say."""

    def __init__(self, say, processors):
        self.say = say
        self.processors = processors
        self.compiling = False
        self.began = False
        self.next = 0.0
        self.unreachable = False

    def line(self, text, now):
        text = ESCAPE.sub("", text).rstrip()
        status = STATUS.match(text)
        if status:
            self._status(*status.groups(), now)
        elif text:
            self.unreachable |= bool(UNREACHABLE.search(text))
            self.say(text)

    def _status(self, word, rest, now):
        bar = BAR.match(rest)
        done, total = map(int, bar.groups()) if bar else (0, 0)
        self.compiling |= word == "Compiling"
        # Before the first step that compiles, the bar counts what is built already.
        if bar and self.compiling and not self.began:
            self.began = True
            self._tell(self._plan(done, total), now)
        elif bar and self.began and now >= self.next:
            self._tell(f"step {done} of {total}", now)
        elif word == "Downloading" and now >= self.next:
            self._tell("fetching crates", now)

    def _plan(self, done, total):
        minutes = math.ceil((total - done) * STEP_S / self.processors / 60)
        return (f"{total - done} steps, each a crate or its build script: "
                f"{minutes} min if nothing else runs")

    def _tell(self, text, now):
        self.next = now + INTERVAL_S
        self.say(f"  CARGO\t{text}")


def lines_of(stream):
    """The lines of a stream as they come; cargo ends those of its bar with a carriage return."""
    rest = b""
    while chunk := os.read(stream.fileno(), 65536):
        *lines, rest = re.split(rb"[\r\n]", rest + chunk)
        for line in lines:
            yield line.decode(errors="replace")
    yield rest.decode(errors="replace")


def main():
    # An interrupt reaches cargo as well, which ends by it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    environment = dict(os.environ, CARGO_TERM_PROGRESS_WHEN="always",
                       CARGO_TERM_PROGRESS_WIDTH="100")
    # make gives its job server only to recipes that call make.
    for name in ("MAKEFLAGS", "MFLAGS"):
        environment.pop(name, None)
    with subprocess.Popen(sys.argv[1:], env=environment,
                          stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as cargo:
        shown = Filter(lambda text: print(text, file=sys.stderr, flush=True), os.cpu_count() or 1)
        for line in lines_of(cargo.stderr):
            shown.line(line, time.monotonic())
    if cargo.returncode and shown.unreachable:
        print(ADVICE, file=sys.stderr)
    return 128 - cargo.returncode if cargo.returncode < 0 else cargo.returncode


if __name__ == "__main__":
    sys.exit(main())
