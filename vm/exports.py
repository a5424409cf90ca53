#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""exports.py VMLINUX: prints the kernel's exports as in Module.symvers, without checksums.

Each entry of the tables __ksymtab and __ksymtab_gpl (one table in newer kernels) has three numbers
of 32 bits: where the symbol, its name and its namespace are, from the place of the number on.
"""
import struct
import sys


def sections(image):
    """Name -> (address, offset, size), of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<II4Q", image, table + at * size) for at in range(count)]
    text = headers[names][4]
    return {cstring(image, text + header[0]): header[3:6] for header in headers}


def cstring(image, at):
    return image[at:image.index(b"\0", at)].decode("ascii")


def exports(image):
    found = sections(image)
    for table in ("__ksymtab", "__ksymtab_gpl"):
        address, offset, size = found.get(table, (0, 0, 0))
        kind = "EXPORT_SYMBOL" + table[len("__ksymtab"):].upper()
        for at in range(0, size, 12):
            _, name, namespace = struct.unpack_from("<3i", image, offset + at)
            strings = found["__ksymtab_strings"]
            place = address + at - strings[0] + strings[1]
            yield (cstring(image, place + 4 + name), kind,
                   cstring(image, place + 8 + namespace) if namespace else "")


def main():
    with open(sys.argv[1], "rb") as file:
        image = file.read()
    for name, kind, namespace in exports(image):
        print(f"0x00000000\t{name}\tvmlinux\t{kind}\t{namespace}")


if __name__ == "__main__":
    main()
