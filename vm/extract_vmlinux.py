# SPDX-License-Identifier: GPL-2.0
"""Take the uncompressed vmlinux out of an x86 bzImage: extract_vmlinux.py BZIMAGE VMLINUX

QEMU boots a vmlinux directly through its PVH entry, which saves the guest the decompression (4 to
6 s under software emulation). The boot protocol's header says where the compressed payload lies: no
searching for magic numbers.
"""

import lzma
import struct
import subprocess
import sys
import zlib

# Offsets of the x86 boot protocol's set-up header, and the magic of each compression.
SETUP_SECTS = 0x1F1
HEADER_MAGIC = 0x202
PAYLOAD_OFFSET = 0x248
SECTOR_BYTES = 512


def filtered(*command):
    """A decompressor: a program that reads standard input."""
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE,
                                       check=True).stdout


DECOMPRESSORS = {
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x1f\x8b": lambda data: zlib.decompressobj(31).decompress(data),
    b"\x28\xb5\x2f\xfd": filtered("zstd", "-dcq"),
    b"\x02\x21\x4c\x18": filtered("lz4", "-dcq"),
}


def payload(image):
    if image[HEADER_MAGIC : HEADER_MAGIC + 4] != b"HdrS":
        sys.exit("extract_vmlinux: not a bzImage")
    start = ((image[SETUP_SECTS] or 4) + 1) * SECTOR_BYTES
    offset, length = struct.unpack_from("<II", image, PAYLOAD_OFFSET)
    # The last four bytes of the payload are the uncompressed size, appended by the kernel's build.
    return image[start + offset : start + offset + length - 4]


def main():
    with open(sys.argv[1], "rb") as file:
        data = payload(file.read())
    for magic, decompress in DECOMPRESSORS.items():
        if data.startswith(magic):
            vmlinux = decompress(data)
            break
    else:
        sys.exit("extract_vmlinux: unknown compression " + data[:6].hex())
    if not vmlinux.startswith(b"\x7fELF"):
        sys.exit("extract_vmlinux: the payload is not an ELF file")
    with open(sys.argv[2], "wb") as file:
        file.write(vmlinux)


if __name__ == "__main__":
    main()
