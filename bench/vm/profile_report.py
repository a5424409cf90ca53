# SPDX-License-Identifier: GPL-2.0
"""The instructions of a round trip by function, from the file that bench/vm/profile.c wrote."""
import bisect
import collections

KERNEL_HALF = 1 << 63


def read_windows(path):
    """Each window as {address of a block: instructions}, in order."""
    windows = []
    with open(path, encoding="ascii") as file:
        for line in file:
            left, right = line.split()
            if left == "window":
                windows.append(collections.Counter())
            else:
                windows[-1][int(left, 16)] += int(right)
    return windows


class Symbols:
    """The guest's /proc/kallsyms: the function and module of an address."""

    def __init__(self, path):
        found = {}
        with open(path, encoding="ascii") as file:
            for line in file:
                address, kind, name, *module = line.split()
                if kind in "tTwW" and not name.startswith("__pfx_"):
                    found[int(address, 16)] = (name, module[0].strip("[]") if module else "kernel")
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

    def find(self, address):
        if address < KERNEL_HALF:
            return "(all)", "user"
        at = bisect.bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 else ("(unknown)", "kernel")


def by_function(window, symbols, calls):
    """{(function, module): instructions per call}."""
    functions = collections.Counter()
    for address, count in window.items():
        functions[symbols.find(address)] += count / calls
    return functions


def by_module(functions):
    modules = collections.Counter()
    for (_, module), count in functions.items():
        modules[module] += count
    return modules


def show(title, functions, top):
    modules = by_module(functions)
    parts = ", ".join(f"{module} {round(count)}" for module, count in modules.most_common())
    print(f"\n{title}: {round(sum(modules.values()))} instructions per round trip: {parts}")
    for (name, module), count in functions.most_common(top):
        print(f"{count:>9.0f}  {module:<13} {name}")
