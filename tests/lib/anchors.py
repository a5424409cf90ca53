# SPDX-License-Identifier: GPL-2.0
"""Finds places in the engine by the name of a function and text in it, wherever the file is.

What names a place like this survives when files move or are renamed. When the
function is renamed or the text in it changes, Missing says what to correct.
"""
import glob
import os
import re

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
# Where a function begins, in kernel style: at the left margin, with a name before a parenthesis.
FUNCTION = re.compile(r"^[a-z].*?\b(\w+)\(")


class Missing(Exception):
    """No such place, or several."""


class Function:
    """A function of the engine: its name, its file (from the top), its lines from 1."""

    def __init__(self, name, path, first, lines):
        self.name, self.path, self.first, self.lines = name, path, first, lines
        self.text = "".join(lines)

    def __str__(self):
        return f"{self.name}() in {self.path}:{self.first}"


def begins_body(lines, at):
    """Does the declaration that begins at lines[at] have a body?"""
    for line in lines[at:]:
        if "{" in line:
            return True
        if line.rstrip().endswith(";"):
            return False
    return False


def functions_of(path):
    """The functions of one file; each goes on until the next one begins."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        lines = file.readlines()
    starts = [(at, FUNCTION.match(line)[1]) for at, line in enumerate(lines)
              if FUNCTION.match(line) and begins_body(lines, at)]
    ends = [at for at, _ in starts[1:]] + [len(lines)]
    return [Function(name, path, at + 1, lines[at:end])
            for (at, name), end in zip(starts, ends)]


def engine_functions():
    """All functions of core/, without its tests."""
    paths = [os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "core/*/*.[ch]"))]
    return [function for path in sorted(paths) if not path.endswith("_test.c")
            for function in functions_of(path)]


def pattern_of(text):
    """Matches @text with any white space between its words."""
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


def find(functions, name, text=""):
    """The one function of this name that contains @text once."""
    named = [function for function in functions if function.name == name]
    if not named:
        raise Missing(f"core/ has no function {name}() any more: was it renamed?")
    pattern = pattern_of(text)
    fitting = [function for function in named
               if not text or len(pattern.findall(function.text)) == 1]
    if not fitting:
        raise Missing(f"{named[0]} does not contain this exactly once: {' '.join(text.split())}")
    if len(fitting) > 1:
        raise Missing(f"several functions fit: {', '.join(str(f) for f in fitting)}")
    return fitting[0]
