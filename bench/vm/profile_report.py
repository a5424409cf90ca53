# SPDX-License-Identifier: GPL-2.0
"""The instructions of a round trip by function, from the file that bench/vm/profile.c wrote."""
import bisect
import collections

KERNEL_HALF = 1 << 63
# Bytes behind a variable's symbol that are taken for a part of it.
VARIABLE_MAX = 1 << 16


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
    """The guest's /proc/kallsyms: the function and module of an address, or the variable."""

    def __init__(self, path):
        found, variables = {}, {}
        with open(path, encoding="ascii") as file:
            for line in file:
                address, kind, name, *module = line.split()
                if kind in "tTwW" and not name.startswith("__pfx_"):
                    found[int(address, 16)] = (name, module[0].strip("[]") if module else "kernel")
                elif kind in "dDbBrR":
                    variables[int(address, 16)] = name
        self.variables = variables
        self.variable_addresses = sorted(variables)
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

    def find(self, address):
        if address < KERNEL_HALF:
            return "(all)", "user"
        at = bisect.bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 else ("(unknown)", "kernel")

    def find_variable(self, line):
        """The variables in a cache line of 64 bytes, or the one before it; None: it is far away."""
        first = bisect.bisect_left(self.variable_addresses, line)
        end = bisect.bisect_right(self.variable_addresses, line + 63)
        inside = self.variable_addresses[first:end]
        names = [self.variables[address] for address in inside]
        before = self.variable_addresses[first - 1] if first else 0
        if inside[:1] != [line] and line - before <= VARIABLE_MAX:
            names.insert(0, f"{self.variables[before]} + {line - before}")
        return ", ".join(names) or None


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
    print(f"\n{title}: {round(sum(modules.values()))} instructions per call: {parts}")
    for (name, module), count in functions.most_common(top):
        print(f"{count:>9.0f}  {module:<13} {name}")
