# SPDX-License-Identifier: GPL-2.0
"""Results of long measurements, kept in a file as long as what they depend on is the same.

Each result depends on the kernel, on the programs of its file, and on the drivers that it is of:
after a change of the module, what was found with the C and the Rust driver alone is still true.
"""
import datetime
import hashlib
import json
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(TOP, "build")
# The kernel and the three drivers, below build/.
KERNEL = "vm/newest/vmlinux"
DRIVERS = {"C": "vm/ref/newest/binder_linux.ko", "module": "module/newest/anybinder.ko",
           "Rust": "vm/rust-driver/newest/rust_binder.ko"}


def digest(names):
    """One hash of these files, which are below build/."""
    total = hashlib.sha256()
    for name in names:
        with open(os.path.join(BUILD, name), "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


def release():
    with open(os.path.join(BUILD, "vm/newest/release"), encoding="ascii") as file:
        return file.read().strip()


class Results:
    """A dictionary in a file, with the date and the load of the machine at each result."""

    def __init__(self, path, programs):
        """Drops what was found with another kernel or driver, or with other @programs."""
        self.path = path
        self.programs = programs
        self.all = {"release": release()}
        for name, result in read(path).items():
            if isinstance(result, dict) and \
                    result.get("depends") == self.depends(result.get("drivers", ())):
                self.all[name] = result

    def __contains__(self, name):
        return name in self.all

    def __getitem__(self, name):
        return self.all[name]

    def depends(self, drivers):
        return digest([KERNEL, *self.programs, *(DRIVERS[name] for name in drivers)])

    def put(self, name, result, drivers=tuple(DRIVERS)):
        """@result: a dictionary, found with @drivers. Written at once, so that an interrupted run
        can continue."""
        self.all[name] = dict(result, drivers=list(drivers), depends=self.depends(drivers),
                              load_average=round(os.getloadavg()[1], 1),
                              date=datetime.date.today().isoformat())
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w", encoding="ascii") as file:
            json.dump(self.all, file, indent=1)
        os.replace(self.path + ".new", self.path)


def read(path):
    """The dictionary in a file, whatever it depends on; {} if there is none."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="ascii") as file:
        return json.load(file)
