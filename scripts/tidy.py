#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks the rules of this tree that no compiler checks; prints file:line for each breach.

A rule is a generator that takes one file and yields (line, complaint), or takes
the whole tree (tidy_tree.py). test_tidy.py checks that each rule finds breaches.
"""
import ast
import os
import re
import sys

import tidy_tree

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 100
CODE = (".c", ".h", ".rs", ".py", ".sh")
SKIPPED_DIRS = {"build", ".git", "target", "vendor", "__pycache__"}

# A static function with a body, up to its brace.
STATIC_FUNCTION = re.compile(r"^static [^;{}()=]*?\b(?<!#)(\w+)\([^;{}]*\{", re.M)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()\n]|\([^()\n]*\))*\)\)")


class Source:
    """One file of the tree: its path from the top, its text, its kind."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.kind = os.path.splitext(path)[1]
        first = self.lines[0] if self.lines else ""
        if first.startswith("#!"):
            self.kind = ".py" if "python" in first else ".sh"
        elif os.path.basename(path) == "Makefile":
            self.kind = ".mk"

    def columns(self, line):
        return len(line.expandtabs(8))


def licence_of(path):
    """What is linked with the Apache-licensed client crates cannot be GPL-2.0."""
    apache = path.startswith(("examples/", "python/", "tools/", "tests/drivers/clients/",
                              "tests/tools/client/", "tests/tools/command/", "tests/tools/ndk/"))
    return "Apache-2.0" if apache else "GPL-2.0"


def rule_spdx(src):
    """the licence line comes first (after #!)"""
    if src.kind not in CODE + (".mk",):
        return
    at = 1 if src.lines and src.lines[0].startswith("#!") else 0
    opening = {".c": "// ", ".rs": "// ", ".h": "/* "}.get(src.kind, "# ")
    closing = " */" if src.kind == ".h" else ""
    line = opening + "SPDX-License-Identifier: " + licence_of(src.path)
    wanted = re.escape(line) + r"( WITH [\w-]+)?" + re.escape(closing)
    if len(src.lines) <= at or not re.fullmatch(wanted, src.lines[at]):
        yield at + 1, f"want `{line}{closing}` here"


def rule_file_length(src):
    """a file stays within 600 lines"""
    if src.kind in CODE and len(src.lines) > MAX_FILE_LINES:
        yield MAX_FILE_LINES + 1, f"file of {len(src.lines)} lines, {MAX_FILE_LINES} allowed"


def c_functions(src):
    start = None
    for number, line in enumerate(src.lines, 1):
        if line == "{":
            start = number
        elif start and line.startswith("}"):
            yield start, number - start + 1
            start = None


def rust_functions(src):
    opened = []
    for number, line in enumerate(src.lines, 1):
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if re.match(r"(pub(\([^)]*\))? |const |async |unsafe |extern \"C\" )*fn \w", body):
            if not body.endswith(("}", ";")):
                opened.append((indent, number))
        elif opened and indent == opened[-1][0] and (body == "}" or body.endswith(";")):
            start = opened.pop()[1]
            yield start, number - start + 1


def python_functions(src):
    try:
        tree = ast.parse(src.text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def shell_functions(src):
    start = None
    for number, line in enumerate(src.lines, 1):
        if re.match(r"\w+ ?\(\) *\{$", line):
            start = number
        elif start and line == "}":
            yield start, number - start + 1
            start = None


FUNCTIONS = {".c": c_functions, ".h": c_functions, ".rs": rust_functions,
             ".py": python_functions, ".sh": shell_functions}


def rule_function_length(src):
    """a function stays within 70 lines"""
    for line, length in FUNCTIONS.get(src.kind, lambda _: ())(src):
        if length > MAX_FUNCTION_LINES:
            yield line, f"function of {length} lines, {MAX_FUNCTION_LINES} allowed"


def allowed_in_base(name):
    return name in ("<host_types.h>", '"base_types.h"') or re.fullmatch(r'"(base/)?\w+\.h"', name)


def allowed_in_core(name):
    return name in ("<host.h>", '"host.h"') or re.fullmatch(r'"(\.\./)?([\w]+/)?\w+\.h"', name)


def rule_includes(src):
    """includes go one way: base <- core <- host <- tests"""
    if src.kind not in (".c", ".h"):
        return
    top = src.path.split("/")[0]
    is_test = src.path.endswith(("_test.c", "_test.h")) or "/test" in src.path
    for number, line in enumerate(src.lines, 1):
        match = re.match(r'\s*#\s*include\s+(<[^>]*>|"[^"]*")', line)
        if not match:
            continue
        name = match.group(1)
        if "tests/" in name and top in ("core", "host"):
            yield number, f"{top}/ may not include tests/: {name}"
        elif top == "core" and not is_test:
            base = src.path.startswith("core/base/")
            if not (allowed_in_base if base else allowed_in_core)(name):
                yield number, f"core/ includes its own headers and host.h only: {name}"
            elif re.match(r'"(\.\./)?(host|tests|tools)/', name):
                yield number, f"core/ may not look outside: {name}"
            elif base and name == '"host.h"':
                yield number, f"core/base knows no host: {name}"


def rule_kernel_version(src):
    """kernel versions are tested in host/linux/compat/ only"""
    if src.kind not in (".c", ".h") or src.path.startswith("host/linux/compat/"):
        return
    for number, line in enumerate(src.lines, 1):
        if re.search(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION)\b", line):
            yield number, "kernel version test outside host/linux/compat/"


def rule_trailing_space(src):
    """no white space at line ends, one newline at the end"""
    for number, line in enumerate(src.lines, 1):
        if line != line.rstrip():
            yield number, "trailing white space"
    if src.text and (not src.text.endswith("\n") or src.text.endswith("\n\n")):
        yield len(src.lines), "want exactly one newline at the end of the file"


def rule_columns(src):
    """no line over 100 columns"""
    if src.kind not in CODE + (".go",):
        return
    for number, line in enumerate(src.lines, 1):
        if src.columns(line) > MAX_COLUMNS:
            yield number, f"{src.columns(line)} columns, {MAX_COLUMNS} allowed"


def rule_prose_columns(src):
    """no line of prose over 100 columns; tables, code and links may be longer"""
    if src.kind != ".md":
        return
    fenced = False
    for number, line in enumerate(src.lines, 1):
        fenced ^= line.lstrip().startswith("```")
        code = fenced or line.startswith(("    ", "\t", "|", "`", "<")) or " " not in line.strip()
        if not code and src.columns(line) > MAX_COLUMNS and line.strip().count("`") < 2:
            yield number, f"{src.columns(line)} columns of prose, {MAX_COLUMNS} allowed"


def rule_static_names(src):
    """a static function of the engine or a host has a name that a profile can be read by"""
    path = src.path
    if not path.startswith(("core/", "heap/", "host/")) or src.kind not in (".c", ".h") or \
            path.endswith(("_test.c", "_test.h")):
        return
    text = ATTRIBUTE.sub("", src.text)
    for match in STATIC_FUNCTION.finditer(text):
        if "_" not in match.group(1):
            line = text.count("\n", 0, match.start(1)) + 1
            yield line, f"{match.group(1)}() needs a second word: what it belongs to"


def rule_clock(src):
    """a limit of time goes by the monotonic clock, which nobody sets"""
    path = src.path
    is_test = path.endswith(("_test.c", "_test_lib.c"))
    if src.kind not in (".c", ".h", ".rs") or is_test or \
            not path.startswith(("core/", "host/", "tools/")):
        return
    for number, line in enumerate(src.lines, 1):
        if re.search(r"\b(CLOCK_REALTIME|SystemTime|gettimeofday|sem_timedwait)\b", line):
            yield number, "want the monotonic clock"


RULES = [rule_spdx, rule_file_length, rule_function_length, rule_includes, rule_kernel_version,
         rule_trailing_space, rule_columns, rule_prose_columns, rule_static_names, rule_clock]

TREE_RULES = tidy_tree.RULES


def tree_files():
    for top, dirs, names in os.walk("."):
        dirs[:] = sorted(d for d in dirs if d not in SKIPPED_DIRS)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(top, name), ".")
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as stream:
                data = stream.read()
            if b"\0" not in data:
                yield Source(path, data.decode("utf-8", errors="replace"))


def breaches(rule, tree):
    """(path, line, complaint) for each breach of one rule."""
    if rule in TREE_RULES:
        yield from rule(tree)
        return
    for src in tree.values():
        for line, complaint in rule(src):
            yield src.path, line, complaint


def whole_tree():
    """{path: Source} of all files; the working directory becomes the root of the tree."""
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    return {src.path: src for src in tree_files()}


def main():
    tree = whole_tree()
    found = [breach for rule in RULES + TREE_RULES for breach in breaches(rule, tree)]
    for path, line, complaint in found:
        print(f"{path}:{line}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
