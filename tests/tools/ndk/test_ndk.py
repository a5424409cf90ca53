# SPDX-License-Identifier: Apache-2.0
"""The C API of the NDK, judged by what Debian's compiler writes for it.

A service and a client of all that an interface can have, each with its own other end and with
rsbinder's, under AddressSanitizer.
"""
import contextlib
import glob
import os
import re
import subprocess

import pytest
from anybinder.bus import Bus
from anybinder.process import PATIENCE_S, until
from building import TOP, built

HERE = os.path.dirname(__file__)
INCLUDE = f"{TOP}/tools/ndk/include"
HEADERS = sorted(os.path.basename(path) for path in glob.glob(f"{INCLUDE}/android/*.h"))
IN_C = [header for header in HEADERS if not re.search("utils|to_string|enums", header)]
NAME = "hard.IHard/default"
OLD = "old.IOld/default"
AIDL = f"{HERE}/aidl"


@pytest.fixture(scope="module")
def library():
    path = built("build/lib/libbinder_ndk.so", "build/lib/libbinder_ndk.so")
    return os.path.dirname(path)


@pytest.fixture(scope="module", params=["daemon", pytest.param("module", marks=[
    pytest.mark.vm("6.1", driver="module", smp=1, timeout=400),
    pytest.mark.turn("clients of the module", "libraries")])])
def bus(request, program):
    more = {"driver": "/dev/binderfs"} if request.param == "module" else {}
    with Bus(managers="binder", program=program("anybinder"), **more) as running:
        yield running


@contextlib.contextmanager
def served(bus, *words):
    """A program that says a line when it is ready."""
    with bus.started("run", "--", *words) as process:
        line = process.stdout.readline()
        assert line.startswith("serving"), f"{words} said {line}"
        yield process


def include(headers):
    return "".join(f"#include <android/{header}>\n" for header in headers)


@pytest.mark.parametrize("compiler, language, headers", [
    ("gcc", "c11", IN_C), ("clang-19", "c11", IN_C),
    ("g++", "c++17", HEADERS), ("clang++-19", "c++20", HEADERS)])
def test_headers_are_clean(compiler, language, headers):
    subprocess.run([compiler, "-x", "c" if language == "c11" else "c++", f"-std={language}",
                    "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
                    "-fsyntax-only", "-I", INCLUDE, "-"], input=include(headers), text=True,
                   check=True)


@pytest.mark.parametrize("service, client", [("ndk", "ndk"), ("ndk", "rust"), ("rust", "ndk")])
def test_all_values_come_back(bus, program, service, client):
    programs = {"ndk": program("hard-peer"), "rust": program("hard-rust")}
    name = NAME if service == "ndk" else f"hard.IHard/{service}"
    with served(bus, programs[service], "serve", name):
        too = "the extension too: " * (service == client)
        assert bus.run("run", "--", programs[client], "call", name) == f"{too}all came back\n"


def test_the_command_calls_and_dumps(bus, program):
    with served(bus, program("hard-peer"), "serve", NAME):
        assert bus.call(NAME, "echoString", "a text", aidl=AIDL) == '"a text"'
        assert bus.run("dumpsys", NAME, "one", "two") == "hard, 2 arguments one two\n"


def test_what_the_compiler_of_android_10_writes(bus, program):
    """Its two ends, traced, and the command in place of its client."""
    peer = program("old-peer")
    with served(bus, peer, "serve", OLD):
        done = bus.execute(bus.program, "trace", "--payload", "--aidl", AIDL, "--", bus.program,
                           "run", "--", peer, "call", OLD)
        assert (done.returncode, done.stdout) == (0, "all came back\n"), done
        assert "add(a: -1, b: 43) = 42\n" in done.stderr, done.stderr
        assert bus.call(OLD, "add", "20", "22", aidl=AIDL) == "42"


def test_wrong_use_has_its_status(bus, program):
    assert bus.run("run", "--", program("ndk-by-hand"), "plain") == "as it should be\n"


def test_a_service_without_a_pool(bus, program):
    """Its client waits for it, is called back, and has it die."""
    by_hand = program("ndk-by-hand")
    with served(bus, by_hand, "call", "by.hand.alone") as client, \
            served(bus, by_hand, "alone", "by.hand.alone"):
        rest, _ = client.communicate(timeout=PATIENCE_S)
        assert (client.returncode, rest) == (0, "as it should be\n")


def test_two_processes_of_one_name(bus, program):
    """The later one has it, as long as it lives."""
    words = program("ndk-by-hand"), "alone", "by.hand.both"
    with served(bus, *words) as first, served(bus, *words) as second:
        assert f"{second.pid} ndk-by-hand by.hand.both" in " ".join(bus.run("list").split())
        second.kill()
        until(lambda: "by.hand.both" not in bus.run("list"))
        assert first.poll() is None


def test_without_a_driver(program):
    """A sentence says what is missing; the calls fail, and the process goes on."""
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c",
                           f"mount -t tmpfs none /dev && exec {program('ndk-by-hand')} alone x"],
                          text=True, capture_output=True, check=False)
    assert "Is a Binder driver mounted" in done.stderr
    assert "AServiceManager_addService" in done.stdout and done.returncode == 0


def test_symbols_are_those_of_the_headers(library):
    """Each with its level."""
    lines = subprocess.run(["nm", "-D", "--defined-only", f"{library}/libbinder_ndk.so"], text=True,
                           check=True, stdout=subprocess.PIPE).stdout.split("\n")
    symbols = dict(line.split()[2].split("@@") for line in lines if "@@" in line)
    assert symbols["AIBinder_new"] == "LIBBINDER_NDK"
    assert symbols["AIBinder_getExtension"] == "LIBBINDER_NDK30"
    assert symbols["AParcel_create"] == "LIBBINDER_NDK31"
    text = subprocess.run(["gcc", "-E", "-I", INCLUDE, "-"], text=True, check=True,
                          stdout=subprocess.PIPE, input=include(IN_C)).stdout
    declared = set(re.findall(r"\b(A(?:IBinder|Parcel|Status|ServiceManager|BinderProcess)_\w+)\(",
                              text))
    inline = set(re.findall(r"static inline void (\w+)", text))
    assert declared - inline == set(symbols)


SMALL = """#include <android/binder_status.h>
int main(void) { return AStatus_isOk(AStatus_newOk()) ? 0 : 1; }
"""
BY_CMAKE = """cmake_minimum_required(VERSION 3.16)
project(small C)
find_package(binder_ndk REQUIRED)
add_executable(small small.c)
target_link_libraries(small binder_ndk::binder_ndk)
"""
BY_MESON = """project('small', 'c')
executable('small', 'small.c', dependencies: dependency('binder_ndk'))
"""
# How the library is found: a file, what it has, and the command that builds out/small.
WAYS = {
    "pkg-config": ("none", "",
                   "mkdir out; gcc small.c -o out/small $(pkg-config --cflags --libs binder_ndk)"),
    "cmake": ("CMakeLists.txt", BY_CMAKE,
              "cmake -S . -B out -DCMAKE_PREFIX_PATH=$PWD && cmake --build out"),
    "meson": ("meson.build", BY_MESON, "meson setup out && ninja -C out"),
}


@pytest.fixture(scope="module")
def installed(library, tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run([f"{TOP}/tools/ndk/install-ndk", f"{library}/libbinder_ndk.so.1", "1.1.0"],
                   check=True, env={**os.environ, "PREFIX": str(prefix), "DESTDIR": ""})
    (prefix / "small.c").write_text(SMALL, encoding="utf-8")
    return prefix


@pytest.mark.parametrize("way", WAYS)
def test_it_is_found(installed, way):
    file, project, command = WAYS[way]
    (installed / file).write_text(project, encoding="utf-8")
    subprocess.run(f"rm -rf out && {command} && out/small", shell=True, cwd=installed, check=True,
                   env={**os.environ, "PKG_CONFIG_PATH": f"{installed}/lib/pkgconfig",
                        "LD_LIBRARY_PATH": f"{installed}/lib"})
