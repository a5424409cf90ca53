# SPDX-License-Identifier: GPL-2.0
"""What is checked of the kernel module when it is built: its symbols, sparse, newer kernels."""
import os
import re
import subprocess

import pytest
from building import BUILD, TOP

LISTS = {"anybinder.ko": ("host/linux/symbols",),
         "anybinder_heap.ko": ("heap/symbols", "host/linux/symbols")}


def read_rules(module):
    """Returns {"optional": {name: effect}, "never": {name: what is used instead}}.

    The optional names are those of the module's own list, the first one.
    """
    rules = {"optional": {}, "never": {}}
    own, *others = LISTS[os.path.basename(module)]
    for path in others + [own]:
        rules["optional"] = {}
        read_list(os.path.join(TOP, path), rules)
    return rules


def read_list(path, rules):
    with open(path) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                kind, name, why = line.split(maxsplit=2)
                rules[kind][name] = why.strip()


def undefined(module):
    """Yields (name, weak) for each undefined symbol of the module."""
    listing = subprocess.run(["nm", "--undefined-only", module], check=True, capture_output=True,
                             text=True).stdout
    for line in listing.splitlines():
        kind, name = line.split()
        yield name, kind in "wv"


def breaches(module, rules):
    """Yields a line for each breach of the rules."""
    for name, weak in undefined(module):
        if name in rules["never"]:
            yield f"{name} is not exported by mainline: {rules['never'][name]}"
        elif weak != (name in rules["optional"]):
            yield f"{name} is {'weak' if weak else 'required'} here, the list says otherwise"


@pytest.mark.vm
@pytest.mark.parametrize("name", ["anybinder", "anybinder_heap"])
@pytest.mark.parametrize("kernel", ["6.1", "6.12", "6.12-rt", "newest"])
def test_symbols(module, kernel, name):
    """No symbols that mainline does not export (host/linux/symbols, heap/symbols)."""
    path = module(kernel, name=name)
    assert not list(breaches(path, read_rules(path)))


@pytest.mark.vm
@pytest.mark.takes(60)
def test_sparse(module):
    """sparse finds nothing. What is compiled already is checked only (C=2 of Kbuild)."""
    directory = os.path.dirname(module("6.12"))
    done = subprocess.run(["flock", directory, "vm/kbuild.sh", "6.12", directory, "C=2", "W=1"],
                          cwd=TOP, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    assert not done.returncode, done.stdout[-3000:]
    assert "  CHECK   " in done.stdout, done.stdout[-3000:]
    found = re.findall(rf"^.*{re.escape(directory)}.*(?:warning|error):.*", done.stdout, re.M)
    assert not found, "\n".join(found)


@pytest.mark.vm
@pytest.mark.takes(200)
def test_newer_kernels(suite):
    """Builds against headers changed as mainline and distributions changed them after 6.12."""
    suite(["host/linux/compat/newer.sh", f"{BUILD}/vm/6.12/headers/build",
           f"{BUILD}/module/newer"], timeout=600)
