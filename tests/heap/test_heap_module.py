# SPDX-License-Identifier: GPL-2.0
"""The heaps on a kernel that has one of its own (6.12) and on one that has none (6.1): the stock
heap, the module's, and their buffers across Binder, of the stock driver and of this project."""
import glob
import os
import subprocess

import pytest
from building import BUILD, kernels

pytestmark = pytest.mark.takes(150)
CACHED, UNCACHED = "/dev/dma_heap/system", "/dev/dma_heap/system-uncached"
DEBUG = "/sys/kernel/debug/anybinder_heap"
# What of the memory does not involve Binder.
NO_BINDER = ["alloc_*", "map_*", "memory_*", "importer_*"]


def on(kernel, *marks):
    """The kernel as a parameter: the test runs in it, beside the stock Binder driver."""
    return pytest.param(kernel, marks=[*marks, pytest.mark.vm(
        kernel, driver="stock", needs=[f"module-{kernel}", f"heap-importer-{kernel}",
                                       "build/bin/anybinder-heap-test"])])


def insmod(*words):
    subprocess.run(["insmod", *words], check=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def load_heaps(kernel, case):
    """Loads the module with both heaps; returns the device of the cached one."""
    heap = f"{BUILD}/module/{kernel}/anybinder_heap.ko"
    if not os.path.exists(CACHED):
        insmod(heap)
        case("the class is the stock one", os.path.exists("/sys/class/dma_heap/system"))
        return CACHED
    insmod(heap)
    names = "".join(map(read, glob.glob("/sys/class/anybinder_heap/*/uevent")))
    case("only what is missing is added",
         os.path.exists(UNCACHED) and names.count("DEVNAME") == 1, names)
    subprocess.run(["rmmod", "anybinder_heap"], check=True)
    insmod(heap, "heaps=pooled,system-uncached")
    return "/dev/dma_heap/pooled"


def check_end(case, cached):
    """The text of debugfs, and how the module is unloaded."""
    pools, contention = (read(f"{DEBUG}/{name}").splitlines() for name in ("pools", "contention"))
    case("text in debugfs", any(line.endswith(" total") and " order 8 cached pages " in line
                                for line in pools) and
         any(line.startswith("total: added ") for line in contention) and
         "total: added 0 " not in "\n".join(contention), "\n".join(pools + contention))
    with open(cached, "rb"):
        status = subprocess.run(["rmmod", "anybinder_heap"], check=False,
                                stderr=subprocess.DEVNULL).returncode
        case("in use it cannot be unloaded", status != 0)
    case("unloaded at the end",
         subprocess.run(["rmmod", "anybinder_heap"], check=False).returncode == 0)
    case("nothing is left visible", not os.path.exists(UNCACHED) and not os.path.exists(DEBUG))


@pytest.mark.parametrize("kernel", [
    *(on(kernel, pytest.mark.turn("heaps", kernel)) for kernel in ("6.12", "6.1"))] + [
    on(kernel, pytest.mark.long) for kernel in kernels()
    if kernel not in ("6.12", "6.1") and "arm64" not in kernel])
def test_heaps(kernel, suite, case, program):
    def run(title, heap, filters, *options, **environment):
        suite([program("anybinder-heap-test"), *options,
               *[word for each in filters for word in ("--filter", each)]],
              env={"HEAP": heap, **environment}, title=title)

    insmod(f"{BUILD}/module/importer-{kernel}/heap_importer.ko")
    if os.path.exists(CACHED):
        run("stock", CACHED, NO_BINDER, HEAP_IS_STOCK="y")
    cached = load_heaps(kernel, case)
    insmod(f"{BUILD}/module/{kernel}/anybinder.ko")
    os.makedirs("/dev/binderfs", exist_ok=True)
    subprocess.run(["mount", "-t", "binder", "binder", "/dev/binderfs"], check=True)
    run("cached", cached, NO_BINDER)
    run("uncached", UNCACHED, ["map_*", "memory_[irs]*", "importer_*"])
    run("binder-stock", cached, ["binder_*"], "--device-dir", "/dev")
    run("binder-anybinder", cached, ["binder_*"], "--device-dir", "/dev/binderfs")
    run("binder-anybinder-uncached", UNCACHED, ["binder_carries*"], "--device-dir",
        "/dev/binderfs")
    with open("/sys/module/anybinder_heap/parameters/locking", "w", encoding="ascii") as file:
        file.write("mutex")
    run("mutex", cached, ["memory_is*", "memory_of_the*"])
    check_end(case, cached)
