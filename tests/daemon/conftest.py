# SPDX-License-Identifier: GPL-2.0
"""What the tests of a running daemon have: the build that is tested, programs, a directory.

A module says which builds it is for: BUILDS = ("anybinderd", "anybinderd-asan"), the first without
it; and which other programs it starts: PROGRAMS = ("bench-ipc",).
"""
import os
import sys

import pytest
from anybinder import daemon

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile"))

SHORT = {"anybinderd": "plain", "anybinderd-asan": "asan"}
# Kernels that differ: without passthrough and resent requests; with them; and one that lets only
# tracers write to read-only memory, unless it is told otherwise.
KERNELS = ("6.1", "6.12", "newest")


def machine(kernel):
    """The plain build in a virtual machine; of the kernels, each commit has another one in CI."""
    return pytest.param("anybinderd", id=f"plain-{kernel}", marks=[
        pytest.mark.vm(kernel, append="proc_mem.force_override=always", smp=1, timeout=900),
        pytest.mark.turn("replaced daemon", kernel)])


def pytest_generate_tests(metafunc):
    """Each test once for each build, and where the module says MACHINES = True on other kernels."""
    builds = [pytest.param(name, id=SHORT.get(name, name))
              for name in getattr(metafunc.module, "BUILDS", ("anybinderd",))]
    if getattr(metafunc.module, "MACHINES", False):
        builds += [machine(kernel) for kernel in KERNELS]
    metafunc.parametrize("build", builds, indirect=True)


@pytest.fixture(autouse=True)
def build(request, program, root, monkeypatch):    # pylint: disable=unused-argument
    """The path of the build of the daemon; anybinder.daemon starts this one."""
    for name in getattr(request.module, "PROGRAMS", ()):
        program(name)
    monkeypatch.setattr(daemon, "PROGRAM", request.param)
    return program(request.param)


@pytest.fixture
def directory(scratch):
    """An empty directory."""
    return scratch
