# SPDX-License-Identifier: GPL-2.0
"""The archive of programs for any Linux, and the wheel. In the cheap tests, scripts that call the
programs of build/bin stand for static programs, which take minutes to build."""
import glob
import os
import pathlib
import platform
import shutil
import stat
import subprocess
import tarfile
import tempfile

import pytest
from anybinder.process import as_user
from building import TOP, built, variable

ARCH = platform.machine()
NAMES = ("anybinder", "anybinderd")
LIBRARY = "libbinder_ndk.so.1"
PYTHON = "/usr/bin/python3"


def output(*words, **how):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False, **how)
    assert not done.returncode, done.stdout
    return done.stdout


def pack(out, **programs):
    """Makes the archive of the programs of each architecture. Returns its path."""
    version, = variable("VERSION")
    output(f"{TOP}/packaging/archive", out, version, f"{TOP}/packaging/copyright.in",
           *(f"{arch}={directory}" for arch, directory in programs.items()))
    archive, = glob.glob(f"{out}/anybinder-*-linux.tar.xz")
    return archive


@pytest.fixture(scope="module")
def packed(program, tmp_path_factory):
    """The directory of an archive and a wheel."""
    programs, out = tmp_path_factory.mktemp("programs"), tmp_path_factory.mktemp("archive")
    for name in NAMES:
        (programs / name).write_text(f'#!/bin/sh\nexec {program(name)} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    shutil.copy(built(f"build/lib/{LIBRARY}", f"build/lib/{LIBRARY}"), programs)
    pack(out, **{ARCH: programs, "other": programs})
    return out


@pytest.fixture(scope="module")
def venv(packed, tmp_path_factory):
    """A virtual environment with the wheel, installed without network."""
    directory = tmp_path_factory.mktemp("venv")
    wheel, = glob.glob(f"{packed}/*_{ARCH}.whl")
    output(PYTHON, "-m", "venv", "--without-pip", directory)
    output(PYTHON, "-m", "pip", "--python", f"{directory}/bin/python", "install", "--no-index",
           wheel)
    return directory


def test_files_of_the_archive(packed):
    archive, = glob.glob(f"{packed}/*.tar.xz")
    with tarfile.open(archive) as tar:
        members = {member.name.partition("/")[2]: member for member in tar.getmembers()}
    programs = [members[f"bin/{arch}/{name}"] for arch in (ARCH, "other") for name in NAMES]
    assert {program.mode for program in programs} == {0o755}
    wanted = {"share/man/man1/anybinder-up.1", "share/man/man8/anybinderd.8",
              "share/bash-completion/completions/anybinder", "share/zsh/site-functions/_anybinder",
              "share/fish/vendor_completions.d/anybinder.fish", "python/anybinder/bus.py",
              "LICENSES/copyright", "CHANGELOG.md", "include/android/binder_ibinder.h",
              f"lib/{ARCH}/libbinder_ndk.so", f"lib/other/{LIBRARY}"}
    assert wanted <= set(members)
    assert not [name for name in members if "__pycache__" in name]
    assert {member.uid for member in members.values()} == {0}


def test_wheel_has_command_and_module(venv):
    version, = variable("VERSION")
    for words in ((f"{venv}/bin/anybinder",), (f"{venv}/bin/python", "-m", "anybinder")):
        assert output(*words, "--version", env={"PATH": "/usr/bin:/bin"}) == \
            f"anybinder {version}\n"


def test_module_finds_the_programs_of_the_wheel(venv):
    found = output(f"{venv}/bin/python", "-c", "from anybinder.process import program as find\n"
                   "print(find('anybinderd'))", env={"PATH": "/usr/bin:/bin"}, cwd="/")
    assert found == f"{venv}/bin/anybinderd\n"


def test_pytest_finds_the_plugin_of_the_wheel(venv):
    found = output(f"{venv}/bin/python", "-c", "from importlib.metadata import distribution\n"
                   "print([one.value for one in distribution('anybinder').entry_points])")
    assert found == "['anybinder.pytest_plugin']\n"


# ---- static programs ---------------------------------------------------------------------------

@pytest.fixture
def static():
    """The directory of the static programs."""
    names = [f"build/bin/static/{name}" for name in (*NAMES, LIBRARY)]
    return os.path.dirname([built(name, name) for name in names][0])


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_programs_need_no_library(static):
    for name in NAMES:
        text = output("readelf", "--wide", "--program-headers", "--dynamic", f"{static}/{name}")
        assert "INTERP" not in text and "NEEDED" not in text, name


# Starts everything, calls, and stops; a user's daemon is in a user namespace of its own.
DEMO = ("anybinder", "demo", "--calls", "100")
# Another C library, in whose root nothing of this machine's runs.
MUSL = "/lib/ld-musl-x86_64.so.1"
LAUNCHER = "#include <unistd.h>\nint main(int c, char **v) { return execv(v[1], v + 1) + c; }\n"


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("uid", [0, 1234])
@pytest.mark.parametrize("library", ["no library", "musl"])
def test_root_with_nothing_in_it(static, uid, library):
    """But /proc, /dev/fuse, /dev/null and a directory; or also musl and a program that needs it."""
    output(f"{TOP}/scripts/setup", "package-test", "musl")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        root = ["bwrap", "--tmpfs", "/", "--proc", "/proc"]
        for name, number in (("fuse", os.makedev(10, 229)), ("null", os.makedev(1, 3))):
            os.mknod(f"{directory}/{name}", stat.S_IFCHR, number)
            os.chmod(f"{directory}/{name}", 0o666)
            root += ["--dev-bind", f"{directory}/{name}", f"/dev/{name}"]
        shutil.copytree(static, f"{directory}/programs")
        launcher = []
        if library == "musl":
            pathlib.Path(f"{directory}/launch.c").write_text(LAUNCHER, encoding="ascii")
            launcher = ["/programs/launch"]
            output("musl-gcc", "-o", directory + launcher[0], f"{directory}/launch.c")
            root += ["--ro-bind", os.path.realpath(MUSL), MUSL]
        root += ["--ro-bind", f"{directory}/programs", "/programs", "--tmpfs", "/free",
                 "--setenv", "TMPDIR", "/free", *launcher]
        demo = as_user(uid, *root, f"/programs/{DEMO[0]}", *DEMO[1:])
        assert "all steps passed" in output(*demo)
        without = [word for word in demo if word not in ("--proc", "/proc")]
        done = subprocess.run(without, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode and "/proc is not mounted." in done.stderr, done.stderr


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("suite", ["bullseye", "bookworm", "trixie", "sid"])
def test_archive_in_a_root_of_debian(static, tmp_path, suite):
    """As it is unpacked there, as root and as an ordinary user."""
    tool, root = f"{TOP}/scripts/debian-root.sh", str(tmp_path / "root")
    archive = pack(tmp_path / "out", **{ARCH: static})
    try:
        output(tool, "make", suite, root)
        output("tar", "-xJf", archive, "--strip-components=1", "-C", f"{root}/opt")
        program = f"/opt/bin/{ARCH}/{DEMO[0]}"
        for uid in (0, 1234):
            text = output(tool, "enter", root, *as_user(uid, program, *DEMO[1:]))
            assert "all steps passed" in text, text
    finally:
        output(tool, "remove", root)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_archive_of_all_architectures(static, tmp_path):
    """It has at most 8 MB, and its programs for arm64 run as far as an emulator of one process
    goes, which has no FUSE."""
    output(f"{TOP}/scripts/setup", "archive", "archive-arm64", "package-test")
    output("make", "-C", TOP, "archive-arm64")
    arm64 = f"{TOP}/build/arm64/bin/static"
    assert os.path.getsize(pack(tmp_path, **{ARCH: static, "aarch64": arm64})) <= 8e6
    version, = variable("VERSION")
    for name in NAMES:
        assert version in output("qemu-aarch64-static", f"{arm64}/{name}", "--version")
    assert "Usage:" in output("qemu-aarch64-static", f"{arm64}/anybinder", "--help")
