# SPDX-License-Identifier: GPL-2.0
"""A rule about what works without a lock: docs/LOCKING.md lists it, with a litmus test each.

A function of the engine or of a host that makes a marked or an atomic access, by itself or by a
macro of its file, is to be in a row of the list.
"""
import re

LOCKING = "docs/LOCKING.md"
HEADING = "## Lock-less places\n"
LITMUS = re.compile(r"tests/engine/litmus/\w+\.litmus")
DIRS = ("core/", "host/linux/", "host/fuse/")
# What runs while nothing else does.
ALONE = ("core/state/", "host/fuse/handover/")
TEST = re.compile(r"_test(?:_lib)?\.[ch]$")
# What the contract of hosts demands of each: its users are listed.
EXEMPT = re.compile(r"host_atomic_\w+|host_spin_(?:init|destroy)")

ACCESS = re.compile(r"\b(?:(?:BINDER_)?(?:READ|WRITE)_ONCE|smp_\w+|(?:host_)?(?:cmp)?xchg"
                    r"|__atomic_\w+|host_(?:read_once|write_once|load_acquire|store_release)"
                    r"|(?:host_)?atomic_(?!init\b|t\b)\w+)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
MACRO = re.compile(r"^#\s*define (\w+)\(((?:.*\\\n)*.*)", re.M)
FUNCTION = re.compile(r"^(?![ \t#}])[^;{}=]*?\b(\w+)\([^;{}]*\)[^;{}]*\{\n(.*?)^\}", re.M | re.S)


def accesses(src):
    """(line, function) of a file."""
    def blank(match):
        return "\n" * match[0].count("\n")

    if not ACCESS.search(src.text):
        return
    text = COMMENT.sub(blank, src.text)
    macros = [name for name, body in MACRO.findall(text) if ACCESS.search(body)]
    own = re.compile(rf"\b(?:{'|'.join(macros)})\(") if macros else ACCESS
    text = MACRO.sub(blank, text)
    for match in FUNCTION.finditer(text):
        name, body = match.groups()
        if (ACCESS.search(body) or own.search(body)) and not EXEMPT.fullmatch(name):
            yield text.count("\n", 0, match.start(1)) + 1, name


def listed(src):
    """(line, functions, litmus tests) for each row of the list."""
    before, _, section = src.text.partition(HEADING)
    first = before.count("\n") + 2
    for number, line in enumerate(section.split("\n## ")[0].split("\n"), first):
        cells = line.strip("| ").split(" | ")
        if line.startswith("| ") and len(cells) == 3:
            yield number, re.findall(r"`(\w+)`", cells[1]), re.findall(r"`([\w-]+)`", cells[2])


def rule_lockless(tree):
    """what works without a lock is listed, and has a litmus test"""
    if LOCKING not in tree:
        return
    rows = list(listed(tree[LOCKING]))
    functions = {name for _, names, _ in rows for name in names}
    tests = {name for _, _, names in rows for name in names}
    found, there = set(), set()
    for path, src in tree.items():
        for line, text in enumerate(src.lines if LITMUS.fullmatch(path) else (), 1):
            if text.startswith("C "):
                there.add(text[2:])
                if text[2:] not in tests:
                    yield path, line, f"{LOCKING} does not name {text[2:]}"
        if path.startswith(DIRS) and path.endswith((".c", ".h")) and not TEST.search(path) and \
           not path.startswith(ALONE):
            for line, name in accesses(src):
                found.add(name)
                if name not in functions:
                    yield path, line, (f"{name}() makes an atomic access: the list of {LOCKING} "
                                       "is to name it, with its litmus test or `none`")
    for number, names, litmus in rows:
        for name in set(names) - found:
            yield LOCKING, number, f"{name}() makes no atomic access"
        for name in litmus:
            if name not in there:
                yield LOCKING, number, f"there is no litmus test {name}"
