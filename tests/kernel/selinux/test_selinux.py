# SPDX-License-Identifier: GPL-2.0
"""Security contexts and refusals of a security module that is there: SELinux with a policy of its
own, in Debian's kernels, which have it and do not use it. A test that is skipped has failed here.
"""
import pathlib
import subprocess
import sys

import pytest
from building import BUILD, TOP

pytestmark = [pytest.mark.takes(100), pytest.mark.timeout(1200)]
SELINUX = pathlib.Path("/sys/fs/selinux")
POLICY = "build/selinux/policy"
CONTEXTS = ["--have", "security_context", "--have", "secctx_optional", "--have", "selinux_domains",
            "--timeout", "120"]
# All but what happens where there is no context.
CONTEXT_TESTS = ["--filter", "secctx_[!e]*"]
REFUSALS = ["--have", "selinux_refuses", "--filter", "policy_*"]
BACKEND = [sys.executable, f"{TOP}/tests/drivers/conformance/run_backend.py"]
KERNEL_SUITES = [[f"{BUILD}/bin/anybinder-conformance", *CONTEXTS, "--have", "selinux_checks_files",
                  *CONTEXT_TESTS, *REFUSALS]]
# By default the daemon refuses nothing.
DAEMON_SUITES = [[*BACKEND, "fuse", *CONTEXTS, *CONTEXT_TESTS, "--filter", "policy_*"],
                 [*BACKEND, "fuse-selinux", *CONTEXTS, *REFUSALS]]
# Their functions for contexts differ (6.14).
MODULE_KERNELS = ("6.12", "newest", "6.1", "6.12-rt")


def machine(kernel, driver, suites, *marks):
    """A machine as a parameter."""
    needs = [POLICY, *(f"build/bin/{name}" for name in (
        "anybinder-conformance", "anybinder", "anybinderd"))]
    vm = pytest.mark.vm(kernel, driver=driver, append="security=selinux", smp=1,
                        timeout=900, needs=needs)
    name = {"none": "daemon"}.get(driver, driver)
    return pytest.param(suites, id=f"{name}-{kernel}", marks=[vm, *marks])


MACHINES = [
    machine("6.12", "ref", KERNEL_SUITES, pytest.mark.turn("stock drivers", "selinux")),
    machine("newest", "ref", KERNEL_SUITES, pytest.mark.turn("stock drivers", "selinux-newest")),
    *(machine(kernel, "module", KERNEL_SUITES, pytest.mark.turn("selinux", kernel))
      for kernel in MODULE_KERNELS),
    machine("5.10", "module", KERNEL_SUITES, pytest.mark.long),
    machine("6.12", "none", DAEMON_SUITES, pytest.mark.turn("selinux", "daemon")),
]


@pytest.fixture
def enforced():
    """The policy is loaded, and enforced."""
    if not SELINUX.joinpath("load").exists():
        subprocess.run(["mount", "-t", "selinuxfs", "selinuxfs", SELINUX], check=True)
    if SELINUX.joinpath("enforce").read_text(encoding="ascii") != "1":
        with open(SELINUX / "load", "wb", buffering=0) as load:
            load.write(pathlib.Path(TOP, POLICY).read_bytes())
        SELINUX.joinpath("enforce").write_text("1", encoding="ascii")
    context = pathlib.Path("/proc/self/attr/current").read_text(encoding="ascii").strip("\0\n ")
    assert SELINUX.joinpath("enforce").read_text(encoding="ascii") == "1"
    assert context == "u:r:kernel:s0", context


@pytest.mark.parametrize("suites", MACHINES)
def test_contexts(enforced, suite, suites):    # pylint: disable=unused-argument
    for words in suites:
        assert "# SKIP" not in suite(words, timeout=800)


@pytest.mark.parametrize("suites", MACHINES)
def test_rules_of_the_service_manager(enforced, suites):    # pylint: disable=unused-argument
    """By context, with a service manager and clients in domains of their own."""
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q",
                           "--vm", "tests/tools/servicemanager/test_contexts.py"], cwd=TOP,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert not done.returncode and " skipped" not in done.stdout, done.stdout
