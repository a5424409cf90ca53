# SPDX-License-Identifier: GPL-2.0
"""The module and a driver of the kernel, each loaded first (beside.sh)."""
import pytest
from building import BUILD, TOP

DRIVERS = {
    "stock": "{}/vm/{}/modules/binder_linux.ko",
    "ref": "{}/vm/ref/{}/binder_linux.ko",
    "rust": "{}/vm/rust-driver/{}/rust_binder.ko",
}


def beside(kernel, driver, *marks):
    """A pair as a parameter."""
    return pytest.param(kernel, driver, id=f"{kernel}-{driver}", marks=marks)


def in_turn(kernel, driver):
    """In CI with those of the same driver."""
    return beside(kernel, driver, pytest.mark.turn("beside another driver", driver))


@pytest.mark.vm
@pytest.mark.takes(100)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kernel, driver", [
    in_turn("6.12", "ref"), in_turn("newest", "ref"), in_turn("6.1", "stock"),
    in_turn("6.12", "stock"), beside("newest", "rust", pytest.mark.long)])
def test_both_work(program, machine, module, suite, kernel, driver):
    program("anybinder-conformance")
    program("anybinder")
    family = "yes" if kernel == "newest" else "no"    # since 6.18
    suite([*machine(kernel, timeout=600), f"{TOP}/tests/kernel/module/beside.sh", module(kernel),
           DRIVERS[driver].format(BUILD, kernel), driver, family], timeout=800)
