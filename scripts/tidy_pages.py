# SPDX-License-Identifier: GPL-2.0
"""Rules about pages: what they link and name is there; docs/LOCKING.md lists what works without a
lock, with a litmus test each.

A function of the engine or of a host that makes a marked or an atomic access, by itself or by a
macro of its file, is to be in a row of that list.
"""
import os
import re

# A link to a file of the tree, or to a heading.
LINK = re.compile(r"\]\(([^()\s:#]*)(?:#([^()\s]*))?\)")
# A path of the tree in backquotes; one with a word in capitals or a `*` stands for several.
PATH = re.compile(r"`([\w.-]+/[\w./-]*)(?:`| [^`]*`)")
PLACEHOLDER = re.compile(r"(?:^|[/.-])[A-Z][A-Z_]+(?:[/.-]|$)")
FENCED = re.compile(r"^```.*?^```", re.S | re.M)
HISTORY = ("CHANGELOG.md", "docs/TRIED.md")

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


def anchors(text):
    """The anchors of a page's headings, as they are shown on the web, and those set by hand."""
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.M):
        found.add(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))
    return found


def is_there(path, tree):
    return path in tree or os.path.exists(path) or \
        any(there.startswith(path.rstrip("/") + "/") for there in tree)


def broken_link(src, target, anchor, tree):
    path = os.path.normpath(os.path.join(os.path.dirname(src.path), target)) if target else src.path
    if not is_there(path, tree):
        return f"links {target}, which does not exist"
    if anchor and path in tree and anchor not in anchors(tree[path].text):
        return f"links #{anchor}, which is no heading of {path}"
    return None


def rule_pages(tree):
    """a page links and names only what is there"""
    tops = {path.split("/")[0] for path in tree if "/" in path}
    for src in tree.values():
        if not src.path.endswith(".md"):
            continue
        for number, line in enumerate(src.lines, 1):
            for target, anchor in LINK.findall(line):
                complaint = (target or anchor) and broken_link(src, target, anchor, tree)
                if complaint:
                    yield src.path, number, complaint
            for path in PATH.findall(line):
                if path.split("/")[0] in tops and src.path not in HISTORY and \
                   not PLACEHOLDER.search(path) and not is_there(path, tree):
                    yield src.path, number, f"names {path}, which does not exist"


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
