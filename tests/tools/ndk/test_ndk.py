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
from anybinder.process import PATIENCE_S
from building import TOP, built, variable

# One process compiles what all of them need.
pytestmark = pytest.mark.xdist_group("ndk")

HERE = os.path.dirname(__file__)
INCLUDE = f"{TOP}/tools/ndk/include"
HEADERS = sorted(os.path.basename(path) for path in glob.glob(f"{INCLUDE}/android/*.h"))
IN_C = [header for header in HEADERS if not re.search("utils|to_string|enums", header)]
NAME = "hard.IHard/default"
LEVEL = "--min_sdk_version=34"
# What the compiler writes ends a function without a return, and has pragmas of clang.
QUIET = ["-Wno-unknown-pragmas", "-Wno-return-type"]


@pytest.fixture(scope="module")
def library():
    path = built("build/lib/libbinder_ndk.so", "build/lib/libbinder_ndk.so")
    return os.path.dirname(path)


def compiled(compiler, sources, program, library, *words):
    subprocess.run([compiler, "-O0", "-Wall", "-Wextra", "-Werror", "-fsanitize=address", *words,
                    "-I", INCLUDE, *sources, "-o", program, "-L", library, "-lbinder_ndk",
                    f"-Wl,-rpath,{library}", "-pthread"], check=True)
    return str(program)


@pytest.fixture(scope="module")
def hard(aidl_compiler, library, tmp_path_factory):
    """The program of both ends. What the compiler wrote is one source: that takes less time."""
    out = tmp_path_factory.mktemp("hard")
    root = f"{HERE}/aidl"
    paths = sorted(glob.glob(f"{root}/hard/*.aidl"))
    write = [*aidl_compiler, "--lang=ndk", "--structured", LEVEL, "-I", root, "-o", out, "-h", out]
    stable = f"{root}/hard/IStable.aidl"
    paths.remove(stable)
    subprocess.run([*write, *paths], check=True)
    subprocess.run([*write, "--stability=vintf", "--version=3", "--hash=abcdef", "--log",
                    "--transaction_names", stable], check=True)
    sources = [f"{HERE}/hard_peer.cpp", *sorted(glob.glob(f"{out}/hard/*.cpp"))]
    whole = out / "all.cpp"
    whole.write_text("".join(f'#include "{path}"\n' for path in sources), encoding="utf-8")
    return compiled("g++", [whole], out / "hard-peer", library, "-std=c++17", *QUIET, "-I", out,
                    "-DBINDER_STABILITY_SUPPORT")


@pytest.fixture(scope="module")
def misuse(library, tmp_path_factory):
    return compiled(variable("CC")[0], [f"{HERE}/misuse.c"],
                    tmp_path_factory.mktemp("misuse") / "misuse", library, "-std=gnu11")


@pytest.fixture(scope="module")
def bus(program):
    with Bus(managers="binder", program=program("anybinder")) as running:
        yield running


@contextlib.contextmanager
def served(bus, *words):
    """A program that says a line when it is ready."""
    with bus.started("run", "--", *words) as process:
        line = process.stdout.readline()
        assert line.startswith(("serving", "linked")), f"{words} said {line}"
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
def test_all_values_come_back(bus, hard, program, service, client):
    programs = {"ndk": hard, "rust": program("hard-rust")}
    name = NAME if service == "ndk" else f"hard.IHard/{service}"
    with served(bus, programs[service], "serve", name):
        too = "the extension too: " * (service == client)
        assert bus.run("run", "--", programs[client], "call", name) == f"{too}all came back\n"


def test_the_command_calls_and_dumps(bus, hard):
    with served(bus, hard, "serve", NAME):
        assert bus.call(NAME, "echoString", "a text", aidl=f"{HERE}/aidl") == '"a text"'
        assert bus.run("dumpsys", NAME, "one", "two") == "hard, 2 arguments one two\n"


def test_wrong_use_has_its_status(bus, misuse):
    assert bus.run("run", "--", misuse, "plain") == "as it should be\n"


def test_the_death_of_a_service_without_a_pool(bus, misuse):
    with served(bus, misuse, "alone", "misuse.alone") as service, \
            served(bus, misuse, "death", "misuse.alone") as client:
        service.kill()
        rest, _ = client.communicate(timeout=PATIENCE_S)
        assert (client.returncode, rest) == (0, "as it should be\n")


def test_without_a_driver(misuse):
    """A sentence says what is missing; the calls fail, and the process goes on."""
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c",
                           f"mount -t tmpfs none /dev && exec {misuse} alone x"], text=True,
                          capture_output=True, check=False)
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
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(small C)
find_package(binder_ndk REQUIRED)
add_executable(by_cmake small.c)
target_link_libraries(by_cmake binder_ndk::binder_ndk)
"""


@pytest.fixture(scope="module")
def installed(library, tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run([f"{TOP}/tools/ndk/install-ndk", f"{library}/libbinder_ndk.so.1", "1.1.0"],
                   check=True, env={**os.environ, "PREFIX": str(prefix), "DESTDIR": ""})
    (prefix / "small.c").write_text(SMALL, encoding="utf-8")
    return prefix


def test_it_is_found_by_pkg_config(installed):
    """And by meson, which asks pkg-config."""
    where = {**os.environ, "PKG_CONFIG_PATH": f"{installed}/lib/pkgconfig"}
    words = subprocess.run(["pkg-config", "--cflags", "--libs", "binder_ndk"], env=where, text=True,
                           check=True, stdout=subprocess.PIPE).stdout.split()
    program = f"{installed}/by_pkg_config"
    subprocess.run(["gcc", f"{installed}/small.c", "-o", program, *words], check=True)
    subprocess.run([program], check=True, env={"LD_LIBRARY_PATH": f"{installed}/lib"})


def test_it_is_found_by_cmake(installed):
    (installed / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    out = f"{installed}/out"
    subprocess.run(["cmake", "-S", installed, "-B", out, f"-DCMAKE_PREFIX_PATH={installed}"],
                   check=True)
    subprocess.run(["cmake", "--build", out], check=True)
    subprocess.run([f"{out}/by_cmake"], check=True)
