# SPDX-License-Identifier: GPL-2.0
"""Builds an initial RAM disk: an uncompressed cpio archive ("newc")."""

import stat

TRAILER = "TRAILER!!!"


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def member(name, mode, data, inode):
    encoded = name.encode() + b"\0"
    # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return padded(header + encoded) + padded(data)


def archive(directories, files):
    """The bytes of an archive: names of directories, then (name, mode, content) of files."""
    members = [(name, stat.S_IFDIR | 0o755, b"") for name in directories]
    members += [(name, stat.S_IFREG | mode, data) for name, mode, data in files]
    members.append((TRAILER, 0, b""))
    return b"".join(member(*each, inode) for inode, each in enumerate(members, 1))
