# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/TUTORIAL.md and other pages print what these say.

In its indented blocks a line `$ COMMAND` is a command, the lines after it its output, in any
order: numbers stand for any number, white space for any white space, `...` for any text, and a line
of `...` for any lines. The other blocks are excerpts of the file that was linked last. Blocks
between lines of ``` are neither.
"""
import contextlib
import os
import re
import subprocess
import tempfile
import time

import pytest
from anybinder.bus import Bus
from anybinder.process import PATIENCE_S
from building import TOP, environment, lock

OTHER_LANGUAGES = ("In C++", "In Python")
# A root in which the commands run: with this machine's devices, and this tree at its own path.
ENTER = """mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mkdir -p "$0$1" &&
	mount --bind "$1" "$0$1" && exec chroot "$0" sh -c 'cd "$0" && exec bash' "$1" """


class Block:
    """An indented block, and the file that the text before it links."""

    def __init__(self, section, link):
        self.section = section
        self.link = link
        self.lines = []

    def is_commands(self):
        return self.lines[0].startswith("$ ")

    def commands(self):
        """(command, lines of output)"""
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return found


def read_blocks(page):
    blocks = []
    section = link = ""
    inside = fenced = False
    with open(os.path.join(TOP, "docs", page), encoding="utf-8") as file:
        for line in map(str.rstrip, file):
            if line.startswith("```"):
                fenced = not fenced
            elif fenced:
                continue
            elif line.startswith("    "):
                if not inside:
                    blocks.append(Block(section, link))
                inside = True
                blocks[-1].lines.append(line[4:])
            elif line:
                inside = False
                section = line[3:] if line.startswith("## ") else section
                link = ([link] + re.findall(r"\]\(\.\./(examples/[^)]*)\)", line))[-1]
            elif inside:
                blocks[-1].lines.append("")
    for block in blocks:
        while not block.lines[-1]:
            del block.lines[-1]
    return blocks


def squeeze(text):
    return " ".join(text.split())


def check_excerpt(block):
    with open(os.path.join(TOP, block.link), encoding="utf-8") as file:
        assert squeeze("\n".join(block.lines)) in squeeze(file.read()), \
            f"{block.link} has no such lines:\n" + "\n".join(block.lines)


def pattern(line):
    parts = re.split(r"(\.\.\.+|\d+)", squeeze(line))
    return "".join(".*" if part.startswith("...") else r"\d+" if part.isdigit()
                   else re.escape(part) for part in parts)


class Shell:
    """A shell for all commands; its output and that of what it starts go to a file."""
    def __init__(self, command, output, variables):
        self.output = output
        self.read_at = self.number = 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                        stderr=subprocess.STDOUT, cwd=TOP, text=True,
                                        env=variables)

    def lines(self):
        """The whole lines since the last command's."""
        with open(self.output.name, encoding="utf-8", errors="replace") as file:
            file.seek(self.read_at)
            text = file.read()
        lines = [squeeze(line) for line in text.splitlines() if line.strip()]
        # What the shell says about its jobs is not part of the output.
        return text, [line for line in lines if not re.match(r"bash: line \d+: \d+ ", line)]

    def run(self, command, wanted):
        """Waits until the command ended and all that it should print is there."""
        self.number += 1
        end = f"=end {self.number}"
        self.process.stdin.write(f"{command}\necho '{end}' $?\n")
        self.process.stdin.flush()
        patterns = [pattern(line) for line in wanted if line and line != "..."]
        deadline = None
        while True:
            text, lines = self.lines()
            done = [line for line in lines if line.startswith(end + " ")]
            rest = [line for line in lines if not line.startswith(end + " ")]
            missing = [each for each in patterns
                       if not any(re.fullmatch(each, line) for line in rest)]
            if done and not missing:
                break
            if done and deadline is None:
                deadline = time.monotonic() + PATIENCE_S
            assert self.process.poll() is None, f"the shell ended in `{command}`:\n{text}"
            assert deadline is None or time.monotonic() < deadline, \
                f"`{command}` did not print {missing}, but:\n{text}"
            time.sleep(0.05)
        self.read_at += len(text.encode())
        assert done == [f"{end} 0"], f"`{command}` failed ({done}):\n{text}"
        odd = [line for line in rest if not any(re.fullmatch(each, line) for each in patterns)]
        assert not odd or "..." in wanted, f"`{command}` printed what is not expected: {odd}"


def run_page(page, variables, command=("bash",), only=None, omitted=()):
    """Runs the blocks of a page, or of sections."""
    blocks = [block for block in read_blocks(page) if block.section not in omitted
              and (only is None or block.section in only)]
    assert blocks, "no such section"
    with tempfile.NamedTemporaryFile("w") as output:
        shell = Shell(command, output, variables)
        try:
            for block in blocks:
                if not block.is_commands():
                    check_excerpt(block)
                    continue
                for words, wanted in block.commands():
                    shell.run(words, wanted)
        finally:
            # Ends what is left of the commands, too, as jobs of the shell.
            if shell.process.poll() is None:
                shell.process.communicate("kill -KILL $(jobs -p); exit\n")


# The tutorial calls make: its turn comes when the programs that tests compute with are built, and
# who needs one of them waits for its end. The other pages hold nobody up.
@pytest.mark.timeout(900)
@pytest.mark.takes(8)
@pytest.mark.parametrize("page", ["TUTORIAL.md", "OBSERVING.md", "TESTING-SERVICES.md"])
def test_page(program, scratch, page):
    for name in ("anybinder", "anybinderd", "client-tests", "board-service"):
        program(name)
    # The settings of this make are not those of the user's.
    variables = {**environment(), "ANYBINDER_MOUNT": f"{scratch}/mount",
                 "ANYBINDER_STATE_DIR": f"{scratch}/state"}
    try:
        with lock("make") if page == "TUTORIAL.md" else contextlib.nullcontext():
            run_page(page, variables, omitted=OTHER_LANGUAGES)
    finally:
        subprocess.run([program("anybinder"), "down"], check=False, capture_output=True,
                       env=variables)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_other_languages(program, libgbinder_root):
    """In a root of a Debian that has the .aidl compiler and libgbinder."""
    with Bus(managers="binder,hwbinder", program=program("anybinder")) as bus:
        variables = {**bus.environment, "PATH": f"{TOP}/build/bin:{os.environ['PATH']}"}
        run_page("TUTORIAL.md", variables, [bus.program, "run", "--", "unshare", "--mount", "sh",
                                            "-c", ENTER, libgbinder_root, TOP],
                 only=OTHER_LANGUAGES)
