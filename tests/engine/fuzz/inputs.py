#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Convert the kept inputs of a fuzzer between text and the files that libFuzzer reads.

    inputs unpack TEXT DIR    write each input of TEXT as a file of DIR, which is emptied first
    inputs pack DIR TEXT      make TEXT of the files of DIR; its comments stay

A line of TEXT is one input in hexadecimal. A `#` and what follows it is a comment.
"""
import hashlib
import pathlib
import shutil
import sys


def parse(text):
    """Yields the inputs of a text."""
    for number, line in enumerate(text.read_text(encoding="ascii").splitlines(), 1):
        digits = line.split("#", 1)[0].strip()
        try:
            if digits:
                yield bytes.fromhex(digits)
        except ValueError:
            sys.exit(f"{text}:{number}: not an even number of hexadecimal digits")


def unpack(text, directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for data in parse(text):
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(directory, text):
    kept = text.read_text(encoding="ascii").splitlines()
    comments = [line for line in kept if line.startswith("#")]
    inputs = {path.read_bytes() for path in directory.iterdir()} - {b""}
    lines = comments + [data.hex() for data in sorted(inputs, key=lambda data: (len(data), data))]
    text.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{text}: {len(inputs)} inputs")


def main(arguments):
    actions = {"unpack": unpack, "pack": pack}
    if len(arguments) != 3 or arguments[0] not in actions:
        sys.exit(__doc__)
    actions[arguments[0]](pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
