# SPDX-License-Identifier: GPL-2.0
"""The interface that most of these tests fake, and the drivers that some of them run on."""
import pathlib

import pytest

AIDL = str(pathlib.Path(__file__).resolve().parents[2] / "drivers/clients/aidl")
PEER, CALLBACK = "anybinder.test.IPeer/default", "anybinder.test.ICallback"


def kernel(driver):
    """The driver of a machine's kernel. CI boots one of these machines, in turn."""
    return pytest.param("kernel", id=driver, marks=[
        pytest.mark.vm("6.12", driver=driver, smp=1, timeout=900), pytest.mark.long,
        pytest.mark.turn("drivers of the kit", driver)])


# `ref` is the kernel's own driver.
every_driver = pytest.mark.parametrize(
    "binder_bus", ["daemon", kernel("ref"), kernel("module")], indirect=True, scope="session")
