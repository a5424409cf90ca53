#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""classify.py [C-TRANSCRIPTS RUST-TRANSCRIPTS]: why scripts differ between the two drivers.

After its first difference a script plays on other ground, so only that is looked at: the line of
each driver and the step that it belongs to. CLASSES says which class the pair is of; each has a row
in docs/PROTOCOL.md.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
UNKNOWN = "not explained"
# Class -> of the step, of the C driver's line, of the Rust driver's line. The first that fits.
CLASSES = [
    ("a read with less room than a call takes", r" room=[1-7]?[0-9](?![0-9x])", "^  = ",
     r"^  = 0 "),
    ("a write that is cut off", r" cut=", "^  = 0 ", "^  = EFAULT "),
    ("the offsets' address of a call without objects", "", "^  BR_.* offsets=[+]",
     "^  BR_.* offsets=0[?]"),
    ("the error code of malformed data", " error$", r"BR_FAILED_REPLY -\d", r"BR_FAILED_REPLY -\d"),
    ("a failed freeze of a process with several opens", "", "^  BR_TRANSACTION_(COMPLETE|PENDING)",
     "^  BR_TRANSACTION_(COMPLETE|PENDING)"),
    ("poll with work that came to nothing", " poll$", "^  = 0 1$", "^  = 0 0$"),
    ("a freeze of a process without a device", " freeze client=99", "^  = EINVAL$", "^  = 0$"),
    ("the references of an unknown handle", " ref_info", "^  = EINVAL$", "^  = ENOENT$"),
]


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def first_difference(one, other):
    """(step, line of one, line of the other); None if there is none."""
    step = ""
    for at in range(max(len(one), len(other))):
        texts = [lines[at] if at < len(lines) else "" for lines in (one, other)]
        if texts[0] != texts[1]:
            return step, *texts
        if texts[0].startswith("#"):
            step = texts[0]
    return None


def class_of(difference):
    for name, *patterns in CLASSES:
        if all(re.search(pattern, text) for pattern, text in zip(patterns, difference)):
            return name
    return UNKNOWN


def differences(c_dir, rust_dir):
    """Yields the name of each script and its first difference or None."""
    for name in sorted(os.listdir(c_dir)):
        if name.endswith(".transcript"):
            yield name[:-len(".transcript")], first_difference(
                lines_of(f"{c_dir}/{name}"), lines_of(f"{rust_dir}/{name}"))


def directory(c_dir, rust_dir):
    """How many scripts are alike; of the others the names by class."""
    result = {"alike": 0, "classes": {}}
    for name, difference in differences(c_dir, rust_dir):
        if difference:
            result["classes"].setdefault(class_of(difference), []).append(name)
        else:
            result["alike"] += 1
    return result


def main():
    given = sys.argv[1:] or [f"{TOP}/build/vm-rust/scripts/{name}" for name in ("c", "rust")]
    for name, difference in differences(*given):
        if difference:
            print(f"{name}: {class_of(difference)}")
            for text in difference:
                print(f"    {text[:140]}")


if __name__ == "__main__":
    main()
