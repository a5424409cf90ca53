# SPDX-License-Identifier: GPL-2.0
"""Results of long measurements, kept in a file as long as what they depend on is the same."""
import datetime
import hashlib
import json
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(TOP, "build")
# The kernels and drivers of vm/rust-driver, below build/.
MACHINES = ("vm/rust/vmlinux", "vm/rust-none/vmlinux", "vm/ref/rust-none/binder_linux.ko",
            "module/rust-none/anybinder.ko")


def digest(names):
    """One hash of these files, which are below build/."""
    total = hashlib.sha256()
    for name in names:
        with open(os.path.join(BUILD, name), "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


def release():
    with open(os.path.join(BUILD, "vm/rust/release"), encoding="ascii") as file:
        return file.read().strip()


class Results:
    """A dictionary in a file, with the date and the load of the machine at each result."""

    def __init__(self, path, programs):
        """What was found with other machines or @programs (below build/) is dropped."""
        self.path = path
        depends = digest(MACHINES + tuple(programs))
        self.all = read(path)
        if self.all.get("depends") != depends:
            self.all = {"depends": depends, "release": release()}

    def __contains__(self, name):
        return name in self.all

    def __getitem__(self, name):
        return self.all[name]

    def put(self, name, result):
        """@result: a dictionary. Written at once, so that an interrupted run can continue."""
        self.all[name] = dict(result, load_average=round(os.getloadavg()[1], 1),
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
