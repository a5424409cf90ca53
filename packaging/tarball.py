# SPDX-License-Identifier: GPL-2.0
"""What the tarball of a release and the archive of programs have in common: version and time of the
commit, packing. The same commit gives the same bytes: names are sorted, times are the commit's."""
import os
import subprocess
import sys


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def has_tag(version):
    tags = output("git", "tag", "--points-at", "HEAD").split()
    return f"v{version}" in tags and not output("git", "status", "--porcelain")


def full_version(version):
    """With a suffix that names the commit, unless that has the tag vVERSION and nothing was changed
    since. In an unpacked tarball, the version of the tree."""
    if not os.path.exists(".git") or has_tag(version):
        return version
    date, commit = output("git", "log", "-1", "--format=%cd %h", "--date=format:%Y%m%d").split()
    return f"{version}+{date}.g{commit}"


def commit_time_s():
    """Files of an unpacked tarball have it, too."""
    if not os.path.exists(".git"):
        return int(os.path.getmtime("tools/Cargo.toml"))
    return int(output("git", "log", "-1", "--format=%ct"))


def pack(tree, tarball, *how):
    """Packs a directory.

    how: options of xz
    """
    top, name = os.path.split(tree)
    tar = ["tar", "-C", top, "--create", "--sort=name", "--format=gnu", "--numeric-owner",
           "--owner=0", "--group=0", "--mode=u+rw,go+r-w,a+X", f"--mtime=@{commit_time_s()}", name]
    with open(tarball + ".new", "wb") as stream, subprocess.Popen(
            tar, stdout=subprocess.PIPE) as packing:
        subprocess.run(["xz", "-T1", *how], check=True, stdin=packing.stdout, stdout=stream)
    if packing.returncode:
        sys.exit("tar failed")
    os.rename(tarball + ".new", tarball)
