# SPDX-License-Identifier: GPL-2.0
"""Rules about what the modules of a Rust crate use of each other.

The edges are those of `use` and of paths that begin with crate, super or self, outside of tests.
That a module declares its children is no edge.
"""
import re

SOURCE = re.compile(r"((?:tools|examples|tests)/(?:[\w-]+/)*?[\w-]+)/src/([\w/-]+)\.rs")
UNIT_TESTS = re.compile(r"#\[cfg\(test\)\]\s*\nmod tests? \{")
COMMENT = re.compile(r"//[^\n]*")
USE = re.compile(r"\buse ((?:crate|super|self)\b[^;]*);")
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
# The layers of a crate, lowest first: a module uses those of lower rows, and of its own folder.
# None uses what its own parent defines.
LAYERS = {"tools/servicemanager": [["wire"], ["registry", "policy"], ["serve"], ["lib"]]}


def modules(tree):
    """{crate: {module: Source}}, a module being its path below src, as in `wire/level`."""
    found = {}
    for path, src in tree.items():
        match = SOURCE.fullmatch(path)
        if match and "_test" not in path and "/test_" not in path:
            name = re.sub(r"/mod$", "", match.group(2))
            found.setdefault(match.group(1), {})[name] = src
    return found


def expanded(path):
    """The paths of a `use`: a::{b, c::{d, e}} is a::b, a::c::d and a::c::e."""
    head, brace, rest = path.partition("{")
    if not brace:
        yield path.split(" as ")[0].strip()
        return
    depth, start = 1, 0
    for at, letter in enumerate(rest):
        depth += (letter == "{") - (letter == "}")
        if depth == 0 or (depth == 1 and letter == ","):
            if rest[start:at].strip():
                yield from expanded(head.strip() + rest[start:at].strip())
            start = at + 1
        if depth == 0:
            return


def uses(module, src, known):
    """(line, module that is used) of a file."""
    code = COMMENT.sub("", UNIT_TESTS.split(src.text)[0])
    for pattern in (USE, PATH):
        for match in pattern.finditer(code):
            text = " ".join((match.group(1) if pattern is USE else match.group(0)).split())
            for path in expanded(text):
                target = resolved(module, path.split("::"), known)
                if target and target != module:
                    yield code.count("\n", 0, match.start()) + 1, target


def resolved(module, parts, known):
    at = [] if parts[0] == "crate" or module in ("lib", "main") else module.split("/")
    while parts and parts[0] in ("crate", "super", "self"):
        at = at[:-1] if parts.pop(0) == "super" else at
    for end in range(len(parts), -1, -1):
        if "/".join(at + parts[:end]) in known:
            return "/".join(at + parts[:end])
    return None


def is_family(a, b):
    return a.startswith(b + "/") or b.startswith(a + "/")


def circle_of(start, edges):
    """The modules on a way from @start back to it, or None."""
    before, todo = {}, [start]
    while todo:
        at = todo.pop()
        for target in edges.get(at, ()):
            if target == start:
                way = [at]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if target not in before:
                before[target] = at
                todo.append(target)
    return None


def rule_rust_circles(tree):
    """modules of a Rust crate do not use each other in a circle"""
    for known in modules(tree).values():
        edges = {name: {target for _, target in uses(name, src, known)
                        if not is_family(name, target)} for name, src in known.items()}
        told = set()
        for name in sorted(known):
            circle = None if name in told else circle_of(name, edges)
            if circle:
                told.update(circle)
                yield known[name].path, 1, "modules use each other: " + ", ".join(circle)


def rule_rust_layers(tree):
    """a crate with layers uses lower ones only, and no module what its parent defines"""
    for crate, known in modules(tree).items():
        rank = {layer: at for at, row in enumerate(LAYERS.get(crate, ())) for layer in row}
        for name, src in known.items() if rank else ():
            own = name.split("/")[0]
            if own not in rank:
                yield src.path, 1, f"{own} is no layer; scripts/tidy_rust.py lists them"
                continue
            for line, target in uses(name, src, known):
                other = target.split("/")[0]
                if other != own and rank.get(other, 0) >= rank[own]:
                    yield src.path, line, f"{other} is not below {own}"
                elif name.startswith(target + "/"):
                    yield src.path, line, f"{name} uses its parent"


RULES = [rule_rust_circles, rule_rust_layers]
